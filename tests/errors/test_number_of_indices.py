from error_support import MATRIX, refusal, sparse

from finch_core import DimensionMismatch, _, kernel
from finch_levels import Scalar


@kernel
def total(s, A):
    for i in _:
        s[()] += A[i]


def test_number_of_indices():
    expected = """\
A has 2 dimensions and is accessed with 1 index
  line 3
    s[()] += A[i]
             ^^^^
  hint: write A[i, j]"""
    assert refusal(DimensionMismatch, total, Scalar(1.0), sparse(MATRIX)) == expected
