import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_string():
    def kernel(y, A):
        for i in _:
            y[i] = "zero"

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
a string is not a value of the language
  File "FILE", line 10
    y[i] = "zero"
           ^^^^^^
  hint: let a number stand for it, and write text after the call"""
    assert message == expected


def test_formatted_string():
    def kernel(y, A):
        for i in _:
            y[i] = f"{i}"

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
a string is not a value of the language
  File "FILE", line 27
    y[i] = f"{i}"
           ^^^^^^
  hint: let a number stand for it, and write text after the call"""
    assert message == expected


NAMES = {"a": 1}


def test_string_as_index():
    def given(y, d):
        y[0] = d["a"]

    def outside(y):
        y[0] = NAMES["a"]

    for kernel, refused in (
        (given, "an index is an integer, not a string"),
        (outside, "'NAMES' is a dict, not a tensor"),
    ):
        with pytest.raises(KernelSyntaxError) as error:
            parse(kernel)
        assert error.value.message == refused
        assert error.value.hint == "look it up before the call, and pass the number"
