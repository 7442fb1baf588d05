import numpy as np
from error_support import refusal

from finch_core import _, kernel
from finch_core.errors import OutOfBounds


@kernel
def scatter(y, at):
    for i in _:
        y[at[i]] += 1


def test_scatter_out_of_bounds():
    expected = """\
index 2 is out of bounds for dimension 0 of y of size 2
  line 3
    y[at[i]] += 1
    ^^^^^^^^
  hint: write under a condition, as in: if 0 <= i and i < n"""
    assert refusal(OutOfBounds, scatter, np.zeros(2), np.array([2], np.uint8)) == expected
