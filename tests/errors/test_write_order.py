from error_support import ANY_ORDER, MATRIX, refusal, sparse

from finch_core import FormatError, _, kernel


@kernel
def columns(C, A):
    C[...] = 0
    for j, i in _:
        C[i, j] = A[i, j]


def test_write_order():
    expected = f"""\
C cannot be written here: its SparseList level takes each fiber once, in order
  line 4
    C[i, j] = A[i, j]
    ^^^^^^^
  hint: the loops around this write must begin with i, j, in that order; {ANY_ORDER} can be written in any order"""
    assert refusal(FormatError, columns, sparse(MATRIX), MATRIX) == expected
