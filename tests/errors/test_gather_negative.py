import numpy as np
from error_support import VECTOR, refusal, sparse

from finch_core import _, kernel
from finch_core.errors import OutOfBounds


@kernel
def gather(y, x, at):
    for i in _:
        y[i] = x[at[i]]


def test_gather_negative():
    expected = """\
index -1 is out of bounds for dimension 0 of x of size 4
  line 3
    y[i] = x[at[i]]
           ^^^^^^^^
  hint: A[~i] takes an index that may be out of bounds, and is missing there"""
    assert refusal(OutOfBounds, gather, np.zeros(1), sparse(VECTOR), np.array([-1])) == expected
