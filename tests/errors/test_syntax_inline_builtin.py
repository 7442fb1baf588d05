import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_inline_builtin():
    def kernel(y, A):
        for i in _:
            y[i] = hash(A[i])

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'hash' cannot be inlined: it is a builtin_function_or_method, not a function written in Python
  File "FILE", line 10
    y[i] = hash(A[i])
           ^^^^^^^^^^
  hint: use the operators, 'math', NumPy's ufuncs or a Python function, or register an operator"""
    assert message == expected
