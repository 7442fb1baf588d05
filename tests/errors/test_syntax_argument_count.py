import numpy as np
import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_argument_count():
    def kernel(y, A):
        for i in _:
            y[i] = np.sqrt(A[i], 2)

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'np.sqrt' takes 1 argument, not 2
  File "FILE", line 11
    y[i] = np.sqrt(A[i], 2)
           ^^^^^^^^^^^^^^^^"""
    assert message == expected
