"""This room compiles quickly, kernels compute few elements, and few elements are copied, too."""

from __future__ import annotations

import pytest
from quick_compiles import quick_compiles

from finch_array import orders
from finch_core.runtime import worth


@pytest.fixture(autouse=True)
def kernels_for_few_elements(monkeypatch):
    """Kernels are compiled at the first call, as for many elements (see ``test_few_elements``)."""
    monkeypatch.setattr(worth, "WORTH_OF_VALUES", -1)
    monkeypatch.setattr(worth, "ONE_FUNCTION", -1)


@pytest.fixture(autouse=True)
def few_elements_are_copied(monkeypatch):
    """Operands are copied into another order where many elements would be."""
    monkeypatch.setattr(orders, "CALL_TO_COPY", 0)


__all__ = ["few_elements_are_copied", "kernels_for_few_elements", "quick_compiles"]
