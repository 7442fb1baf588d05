"""This room compiles quickly, and kernels compute few elements, too."""

from __future__ import annotations

import pytest
from quick_compiles import quick_compiles

from finch_core.runtime import worth


@pytest.fixture(autouse=True)
def kernels_for_few_elements(monkeypatch):
    """Kernels are compiled at the first call, as for many elements (see ``test_few_elements``)."""
    monkeypatch.setattr(worth, "WORTH_OF_VALUES", -1)
    monkeypatch.setattr(worth, "ONE_FUNCTION", -1)


__all__ = ["kernels_for_few_elements", "quick_compiles"]
