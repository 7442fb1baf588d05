"""Cumulative sums of arrays whose outer dimensions hold one element, block or run."""

from __future__ import annotations

import numpy as np
import pytest
from array_support import fa, same

from finch_core import Tensor
from finch_core.interface.plugins import hub
from finch_levels import Dense, Element, SparseBand, SparseList

OUTER = [
    name for name, level in hub().levels.items()
    if getattr(getattr(level, "structure", None), "single", False)
]  # fmt: skip
ROW = np.array([[0.0, 0, 0], [-3, 0, 2], [0, 0, 0]])


def test_some_levels_hold_one():
    assert {"SparsePinpoint", "SparseBand"} <= set(OUTER)


@pytest.mark.parametrize("inner", [Dense, SparseList, SparseBand])
@pytest.mark.parametrize("outer", OUTER)
def test_a_cumulative_sum_along_the_last_axis(outer, inner):
    A = Tensor(hub().levels[outer](inner(Element(0.0))), ROW)
    for axis in (0, 1):
        same(fa.cumulative_sum(A, axis=axis), ROW.cumsum(axis))
        same(fa.cumulative_sum(A.T, axis=axis), ROW.T.cumsum(axis))
