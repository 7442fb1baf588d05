import pytest
from error_support import ANY_ORDER, VECTOR, refusal, sparse

from finch_core import FormatError, _, kernel


@kernel
def spread(y, x, s):
    y[...] = 0
    for i in _:
        y[s * i + 1] = x[i]


@kernel
def doubled(y, x, s):
    y[...] = 0
    for i in _:
        y[2 * i + 1] = x[i]


_STEP = "let the range have the step, as in for i in range(0, n, 2): y[i] = ..."


@pytest.mark.parametrize(
    ("call", "code", "hint"),
    [
        (spread, "s * i", f"s is known only at run time: write a number, and {_STEP}"),
        (doubled, "2 * i", _STEP),
    ],
)
def test_write_order_multiple(call, code, hint):
    expected = f"""\
y cannot be written here: its SparseList level takes each fiber once, in order
  line 4
    y[{code} + 1] = x[i]
    ^^^^^^^^^^^^
  hint: {hint}; {ANY_ORDER} can be written in any order"""
    assert refusal(FormatError, call, sparse(VECTOR), VECTOR, 2) == expected
