import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse

alpha = 2.0


def test_free_name_rebound():
    def kernel(y, A):
        for i in _:
            y[i] = alpha
            if A[i] > 0:
                alpha = 1

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'alpha' is already used as a name from outside the kernel
  File "FILE", line 14
    alpha = 1
    ^^^^^
  hint: a name keeps its meaning: use another name"""
    assert message == expected
