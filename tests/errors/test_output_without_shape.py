import numpy as np
from error_support import refusal

from finch_core import DimensionMismatch, Tensor, _, coalesce, kernel
from finch_levels import Dense, Element


@kernel
def concatenated(c, a, b, n):
    c[...] = 0
    for i in _:
        c[i] = coalesce(a[~i], b[~(i - n)], 0)


def test_output_without_shape():
    expected = """\
nothing fixes the extent of i: c has no shape
  line 3
    for i in _:
        ^
  hint: make c with a shape, as in Tensor(format, (n,)), or write the range, for i in range(0, n)"""
    c = Tensor(Dense(Element(0.0)))
    assert refusal(DimensionMismatch, concatenated, c, np.ones(3), np.ones(2), 3) == expected
