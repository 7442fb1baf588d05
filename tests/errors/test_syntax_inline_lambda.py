import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse

named = lambda x: ("a", x)
nested = lambda x: (lambda y: y)(x)


def test_inline_lambda():
    def kernel(y, A):
        for i in _:
            y[i] = named(A[i])

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'<lambda>' cannot be inlined: a string is not a value of the language (line 6 of "FILE")
  File "FILE", line 13
    y[i] = named(A[i])
           ^^^^^^^^^^^
  hint: let a number stand for it, and write text after the call"""
    assert message == expected


def test_lambda_in_a_lambda():
    def kernel(y, A):
        for i in _:
            y[i] = nested(A[i])

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    assert str(error.value).startswith("'<lambda>' cannot be inlined: a lambda cannot be written")
