import numpy as np
import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_unknown_ufunc():
    def kernel(y, A):
        for i in _:
            y[i] = np.gcd(A[i], 2)

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'np.gcd' cannot be inlined: it is a ufunc that no operator stands for
  File "FILE", line 11
    y[i] = np.gcd(A[i], 2)
           ^^^^^^^^^^^^^^^
  hint: write it as a Python function of numbers, which is inlined, or register an operator"""
    assert message == expected
