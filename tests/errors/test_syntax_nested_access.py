import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def read(y, A):
    for i in _:
        y[i] = A[i][i]


def written(y, A):
    for i in _:
        y[i][i + 1] = A[i]


@pytest.mark.parametrize(
    ("kernel", "line", "code", "caret", "wanted"),
    [
        (read, 9, "y[i] = A[i][i]", "       ^^^^^^^", "A[i, i]"),
        (written, 14, "y[i][i + 1] = A[i]", "^^^^^^^^^^^", "y[i, i + 1]"),
    ],
)
def test_nested_access(kernel, line, code, caret, wanted):
    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = f"""\
the indices of a tensor stand in one pair of brackets
  File "FILE", line {line}
    {code}
    {caret}
  hint: write '{wanted}'"""
    assert message == expected
