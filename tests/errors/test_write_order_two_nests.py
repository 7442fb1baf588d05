from error_support import ANY_ORDER, MATRIX, VECTOR, refusal, sparse

from finch_core import FormatError, _, kernel


@kernel
def twice(y, x):
    y[...] = 0
    for i in _:
        y[i] += x[i]
    for i in _:
        y[i] += x[i]


def test_write_order_two_nests():
    expected = f"""\
y cannot be written here: its SparseList level takes each fiber once, in order
  line 6
    y[i] += x[i]
    ^^^^
  hint: one nest of loops must write all of it, in the order of its indices; {ANY_ORDER} can be written in any order"""
    assert refusal(FormatError, twice, sparse(VECTOR), MATRIX[0]) == expected
