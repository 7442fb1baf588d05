from error_support import ANY_ORDER, VECTOR, refusal, sparse

from finch_core import FormatError, kernel


@kernel
def backwards(y, x, n):
    y[...] = 0
    for i in reversed(range(n)):
        y[i] = x[i]


def test_write_order_down():
    expected = f"""\
y cannot be written here: its SparseList level takes each fiber once, in order
  line 4
    y[i] = x[i]
    ^^^^
  hint: loop over i upwards, by a constant step; {ANY_ORDER} can be written in any order"""
    assert refusal(FormatError, backwards, sparse(VECTOR), VECTOR, 4) == expected
