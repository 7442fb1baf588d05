from error_support import VECTOR, refusal

from finch_core import LifecycleError, _, kernel
from finch_levels import Scalar


@kernel
def extremes(s, x):
    for i in _:
        s[()] = min(s[()], x[i])
        s[()] = max(s[()], x[i])


def test_two_operators_named():
    expected = """\
s is updated by 'min' and by 'max' within one statement
  line 4
    s[()] = max(s[()], x[i])
    ^^^^^
  hint: split the loop in two, or update another tensor"""
    assert refusal(LifecycleError, extremes, Scalar(1.0), VECTOR) == expected
