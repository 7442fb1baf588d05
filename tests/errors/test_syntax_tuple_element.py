import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_tuple_element():
    def kernel(y, A):
        for i in _:
            y[i] = (A[i], 1)[i]

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
an element of a tuple is selected by a number, as in 't[0]'
  File "FILE", line 10
    y[i] = (A[i], 1)[i]
           ^^^^^^^^^^^^
  hint: only a tensor takes indices: bind it to a name outside the kernel"""
    assert message == expected
