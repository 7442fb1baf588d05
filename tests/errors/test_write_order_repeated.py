from error_support import ANY_ORDER, MATRIX, VECTOR, refusal, sparse

from finch_core import FormatError, _, kernel


@kernel
def rows(y, A):
    y[...] = 0
    for j, i in _:
        y[i] += A[i, j]


def test_write_order_repeated():
    expected = f"""\
y cannot be written here: its SparseList level takes each fiber once, in order
  line 4
    y[i] += A[i, j]
    ^^^^
  hint: the loops around this write must begin with i, in that order; {ANY_ORDER} can be written in any order"""
    assert refusal(FormatError, rows, sparse(VECTOR), MATRIX) == expected
