import numpy as np
import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse

B = np.zeros(3)


def first(x):
    return B[0] + x


def test_inline_tensor():
    def kernel(y, A):
        for i in _:
            y[i] = first(A[i])

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'first' cannot be inlined: it reads a tensor (line 11 of "FILE")
  File "FILE", line 17
    y[i] = first(A[i])
           ^^^^^^^^^^^
  hint: pass the element as an argument, 'f(A[i])', or make it a kernel"""
    assert message == expected
