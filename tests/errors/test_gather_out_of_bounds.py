import numpy as np
from error_support import VECTOR, refusal

from finch_core import _, kernel
from finch_core.errors import OutOfBounds
from finch_levels import Scalar


@kernel
def gather(s, x, at):
    for i in _:
        s[()] += x[at[i]]


def test_gather_out_of_bounds():
    expected = """\
index 4 is out of bounds for dimension 0 of x of size 4
  line 3
    s[()] += x[at[i]]
             ^^^^^^^^
  hint: A[~i] takes an index that may be out of bounds, and is missing there"""
    assert refusal(OutOfBounds, gather, Scalar(0.0), VECTOR, np.array([4, 1])) == expected
