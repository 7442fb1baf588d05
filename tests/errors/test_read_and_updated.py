import numpy as np
from error_support import VECTOR, refusal

from finch_core import LifecycleError, Tensor, _, kernel
from finch_levels import Element, Pattern, SparseByteMap, SparseList


@kernel
def prefix(y, x):
    for i in _:
        y[i] = x[i] + y[i]


def test_read_and_updated():
    expected = """\
y is read and updated within one loop, and a SparseList cannot be read while it is updated
  line 3
    y[i] = x[i] + y[i]
                  ^^^^
  hint: update only what it stores, under 'if stored(y[i]):'; or read a copy, or write to another tensor; 'Dense', 'SparseByteMap' and 'SparseHash' can"""
    y = Tensor(SparseList(Element(0.0)), np.ones(4))
    assert refusal(LifecycleError, prefix, y, VECTOR) == expected


@kernel
def marked(row, up):
    for i in _:
        if not row[up[i]]:
            row[up[i]] = True


def test_a_leaf_that_cannot_is_told_of_those_that_can():
    row = Tensor(SparseByteMap(Pattern()), (4,))
    told = refusal(LifecycleError, marked, row, np.zeros(4, int))
    assert "and a Pattern cannot be read while it is updated" in told
    assert told.endswith("or write to another tensor; 'Element' can")
