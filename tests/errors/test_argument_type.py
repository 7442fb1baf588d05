import numpy as np
from error_support import refusal

from finch_core import FormatError, _, kernel


@kernel
def add(y, x):
    for i in _:
        y[i] += x[i]


def test_argument_type():
    expected = """\
x is a str, which a kernel does not take
  line 1
    def add(y, x):
               ^
  hint: pass a Tensor, a NumPy array, a SciPy sparse array or a number"""
    assert refusal(FormatError, add, np.zeros(4), "text") == expected
