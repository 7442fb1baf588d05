"""Rows that are out of bounds in the first part of a merge: whichever of two rows is chosen, its
dimensions and levels are those of the one that exists. An element beyond its end was looked up."""

from __future__ import annotations

import numpy as np
import pytest

from finch_core import Tensor, kernel
from finch_levels import (
    Dense,
    Element,
    RunList,
    SparseBand,
    SparseBlockList,
    SparseByteMap,
    SparseHash,
    SparseList,
    SparseRunList,
)


def total(y, B, Y, n, m, c):
    for i in range(-c, n + m):
        w = 0
        while w < m:
            w += 1
            if (Y[0] if 0 <= i < n else 1.0) < 2:
                y[0] += B[2 * i + 1, w] if 0 <= 2 * i + 1 < n and w < m else 0


@pytest.mark.parametrize(
    "inner", [Dense, SparseList, SparseByteMap, SparseHash, RunList, SparseBlockList]
)
@pytest.mark.parametrize("outer", [SparseBand, RunList, SparseRunList, SparseBlockList, SparseList])
def test_elements_beyond_a_row_are_not_looked_up(outer, inner) -> None:
    data = np.array([[0.0, -3, -2, 3], [0, 4, -3, -3], [-1, 4, 0, -3], [-1, -1, -1, -3]])
    rows = Tensor(outer(inner(Element(0.0))), data)
    expected, found = np.zeros(1), np.zeros(1)
    total(expected, data, np.zeros(1), 4, 4, 0)
    kernel(backend="interpreter")(total)(found, rows, np.zeros(1), 4, 4, 0)
    assert found == expected
