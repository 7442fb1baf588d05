import numpy as np
import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse

B = np.zeros(3)


def test_bare_free_tensor():
    def kernel(y, A):
        for i in _:
            y[i] = B

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'B' is a tensor, not a number
  File "FILE", line 13
    y[i] = B
           ^
  hint: read an element, 'B[i]', or 'B[()]' of a scalar"""
    assert message == expected
