from error_support import ANY_ORDER, VECTOR, refusal, sparse

from finch_core import FormatError, kernel


@kernel
def places(y):
    y[...] = 0
    y[2] = 1
    y[1] = 1


def test_write_order_places():
    expected = f"""\
y cannot be written here: its SparseList level takes each fiber once, in order
  line 4
    y[1] = 1
    ^^^^
  hint: one nest of loops must write all of it, in the order of its indices; {ANY_ORDER} can be written in any order"""
    assert refusal(FormatError, places, sparse(VECTOR)) == expected
