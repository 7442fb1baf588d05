from error_support import VECTOR, dense, refusal

from finch_core import FormatError, _, kernel
from finch_wrappers import stride


@kernel
def declare(y, x):
    y[...] = 0
    for i in _:
        y[i] = x[i]


def test_stride_declared():
    expected = """\
y is a part of a tensor, and cannot be declared
  line 2
    y[...] = 0
    ^^^^^^^^^^
  hint: declare the whole tensor, or write zeros in a loop"""
    assert refusal(FormatError, declare, stride(dense(VECTOR), 2), VECTOR[:2]) == expected
