"""Every level format that is installed passes the suite that their authors subclass."""

from __future__ import annotations

import pytest

from finch_core.plugins import hub
from finch_core.testing import LevelSuite, level_names

pytestmark = pytest.mark.sampled(0.22)


def suite(name: str) -> type[LevelSuite]:
    """The suite of one format; a failure names the format by the class."""
    members = {"format": staticmethod(hub().level(name)), "shares": (0.3, 0.09)}
    return type(f"Test{name}", (LevelSuite,), {**members, "__module__": __name__})


globals().update({f"Test{name}": suite(name) for name in level_names()})


def test_there_are_formats_to_test() -> None:
    assert {"Dense", "SparseList"} <= set(level_names())
