import numpy as np
from error_support import VECTOR, refusal

from finch_core import kernel
from finch_core.errors import OutOfBounds


@kernel
def row_sums(y, ptr, val):
    for i in range(0, 1):
        for p in range(ptr[i], ptr[i + 1]):
            y[i] += val[p]


def test_range_out_of_bounds():
    expected = """\
range(0, 5) is not within dimension 0 of val of size 4
  line 4
    y[i] += val[p]
            ^^^^^^
  hint: where a condition keeps the index inside, give it a name, k = j - 1: x[k] is checked where it is read; A[~i] takes an index that may be out of bounds, and is missing there"""
    assert (
        refusal(OutOfBounds, row_sums, np.zeros(1), np.array([0, 5], np.int32), VECTOR) == expected
    )
