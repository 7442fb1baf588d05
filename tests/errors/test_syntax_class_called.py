import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_class_called():
    def kernel(y, A):
        for i in _:
            y[i] = str(A[i])

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'str' cannot be inlined: it is a class that no operator stands for
  File "FILE", line 10
    y[i] = str(A[i])
           ^^^^^^^^^
  hint: use the operators, 'math', NumPy's ufuncs or a Python function, or register an operator"""
    assert message == expected
