"""Small arrays count as larger than the cache: tests run what asks for memory ahead of use, too."""

from __future__ import annotations

import sys

import pytest

import finch_core.optimize  # noqa: F401  (it loads the module)

MODULE = sys.modules["finch_core.optimize.prefetch"]
"""The module: the package has the pass of this name."""


def uncache() -> None:
    """For the rest of this process."""
    vars(MODULE)["CACHED"] = 0


@pytest.fixture(autouse=True)
def uncached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "CACHED", 0)
