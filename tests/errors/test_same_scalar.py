from error_support import refusal

from finch_core import LifecycleError, kernel
from finch_levels import Scalar

same = Scalar(1.0)


@kernel
def add(s, t):
    s[()] += t[()]


def test_same_scalar():
    expected = """\
s is written, and shares memory with t
  line 1
    def add(s, t):
            ^
  hint: pass a copy of it, t.copy()"""
    assert refusal(LifecycleError, add, same, same) == expected
