import numpy as np
from error_support import MATRIX, refusal, sparse

from finch_core import _, kernel
from finch_core.errors import OutOfBounds
from finch_levels import Scalar


@kernel
def gather(s, A, at):
    for i in _:
        for j in _:
            s[()] += A[at[i], j]


def test_gather_row_out_of_bounds():
    expected = """\
index 3 is out of bounds for dimension 0 of A of size 3
  line 4
    s[()] += A[at[i], j]
             ^^^^^^^^^^^
  hint: A[~i] takes an index that may be out of bounds, and is missing there"""
    assert refusal(OutOfBounds, gather, Scalar(0.0), sparse(MATRIX), np.array([3, 1])) == expected
