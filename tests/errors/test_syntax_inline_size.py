import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def doubled(x):
    return x * x + x


def nested(x):
    x = doubled(doubled(doubled(doubled(x))))
    return doubled(doubled(doubled(doubled(doubled(x)))))


def repeated(x):
    y = x * x
    y = y * y * y
    y = y * y * y
    y = y * y * y
    y = y * y * y
    y = y * y * y
    y = y * y * y
    y = y * y * y
    y = y * y * y
    return y * y * y


@pytest.mark.parametrize(
    ("function", "where", "line"), [(nested, doubled, 7), (repeated, repeated, 16)]
)
def test_inline_size(function, where, line):
    def kernel(y, A):
        for i in _:
            y[i] = function(A[i])

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = f"""\
{where.__name__!r} cannot be inlined: it becomes an expression of more than 20,000 operations \
(line {line} of "FILE")
  File "FILE", line 35
    y[i] = function(A[i])
           ^^^^^^^^^^^^^^
  hint: what it uses more than once is repeated: assign it to a variable of the kernel"""
    assert message == expected
