from error_support import VECTOR, refusal

from finch_core import FormatError, kernel
from finch_levels import Scalar


@kernel
def positive(s, x):
    for i in range(-1, 5):
        if x[~i] > 0:
            s[()] += 1


def test_missing_tested():
    expected = """\
missing cannot be stored or tested: a permissive read may be out of bounds here
  line 3
    if x[~i] > 0:
       ^^^^^^^^^
  hint: give it a value there, as in coalesce(A[~i], 0)"""
    assert refusal(FormatError, positive, Scalar(0), VECTOR) == expected
