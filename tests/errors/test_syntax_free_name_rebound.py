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
'alpha' may have no value here: line 14 assigns it, but not on every way to this place
  File "FILE", line 12
    y[i] = alpha
           ^^^^^
  hint: give it a value first, 'alpha = 0'; a number from outside needs another name"""
    assert message == expected
