from error_support import MATRIX, VECTOR, refusal, sparse

from finch_core import FormatError, _, kernel


@kernel
def add(y, x):
    for i in _:
        y[i] += x[i]


def test_append_behind():
    expected = """\
index 0 of y is not after all that its SparseList stores
  line 3
    y[i] += x[i]
    ^^^^
  hint: what is not declared is appended to: write to another tensor, which is declared, B[...] = fill, or use SparseHash, which takes writes in any order"""
    assert refusal(FormatError, add, sparse(VECTOR), MATRIX[0]) == expected
