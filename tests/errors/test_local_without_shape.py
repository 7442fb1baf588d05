import numpy as np
from error_support import refusal

from finch_core import DimensionMismatch, Tensor, _, kernel
from finch_levels import Element, SparseByteMap


@kernel
def counted(new, lab):
    for i in _:
        w = Tensor(SparseByteMap(Element(0)))
        w[lab[i]] += 1
        for c in _:
            new[i] += w[c]


def test_local_without_shape():
    expected = """\
nothing fixes the extent of c: w has no shape
  line 5
    for c in _:
        ^
  hint: make w with a shape, as in Tensor(format, (n,)), or write the range, for c in range(0, n)"""
    assert refusal(DimensionMismatch, counted, np.zeros(3, int), np.array([1, 0, 2])) == expected
