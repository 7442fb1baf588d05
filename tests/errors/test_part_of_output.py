import numpy as np
from error_support import refusal

from finch_core import DimensionMismatch, Tensor, _, kernel
from finch_levels import Dense, Element


@kernel
def behind(y, a, b):
    y[...] = 0
    for i in _:
        y[i] = a[i]
    for i in _:
        y[i + 3] = b[i]
    return y


@kernel
def behind_a_range(y, a, b):
    y[...] = 0
    for i in range(3):
        y[i] = a[i]
    for i in _:
        y[i + 3] = b[i]
    return y


def test_part_of_output():
    expected = """\
the loop over i ends at 5, and index i of y[i + 3] at 3
  line 6
    y[i + 3] = b[i]
    ^^^^^^^^
  hint: an index without a range, as in y[i], goes through a whole dimension: where loops write \
parts of one, write their ranges, as in for i in range(a, b)"""
    fresh = Tensor(Dense(Element(0.0)))
    assert refusal(DimensionMismatch, behind, fresh, np.ones(3), np.ones(2)) == expected


def test_what_the_hint_says_of_parts_works():
    for run in (behind_a_range, behind_a_range.reference):
        found = run(Tensor(Dense(Element(0.0))), np.ones(3), np.full(2, 2.0))
        assert np.asarray(found).tolist() == [1.0, 1.0, 1.0, 2.0, 2.0]
