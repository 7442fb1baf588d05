import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def size(y, A):
    for i in _:
        y[i] = A.size


def shape(y, A):
    for i in _:
        y[i] = A.shpae[0]


def method(y, A):
    for i in _:
        y[i] = A[i].astype(float)


def other(y, A):
    for i in _:
        y[i] = A.buffers


@pytest.mark.parametrize(
    ("kernel", "line", "code", "caret", "name", "hint"),
    [
        (size, 9, "A.size", "^^^^^^", "size", "'len(x)' is the size of a vector, 'A.shape[0] * A.shape[1]' that of a matrix"),
        (shape, 14, "A.shpae[0]", "^^^^^^^", "shpae", "did you mean 'shape'?"),
        (
            method, 19, "A[i].astype(float)", "^^^^^^^^^^^", "astype",
            "cast a number by its dtype: 'np.float32(x)', 'int(x)'",
        ),
        (
            other, 24, "A.buffers", "^^^^^^^^^", "buffers",
            "only a module's functions and constants, 'A.shape[0]' of a tensor, and '.real', "
            "'.imag' and '.conjugate()' of a number",
        ),
    ],
)  # fmt: skip
def test_attribute(kernel, line, code, caret, name, hint):
    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = f"""\
the attribute '{name}' is not part of the language
  File "FILE", line {line}
    y[i] = {code}
           {caret}
  hint: {hint}"""
    assert message == expected
