from error_support import VECTOR, refusal

from finch_core import FormatError, Tensor, _, kernel
from finch_levels import Pattern, SparseByteMap


@kernel
def overwritten(y, x):
    for i in _:
        y[i] = x[i] > 0


def test_pattern_taken_back():
    expected = """\
y cannot be overwritten here: a Pattern keeps what it has stored
  line 3
    y[i] = x[i] > 0
    ^^^^
  hint: accumulate with |=, declare the tensor first and write each index once, or use an \
Element(False) leaf"""
    y = Tensor(SparseByteMap(Pattern()), VECTOR != 0)
    assert refusal(FormatError, overwritten, y, VECTOR) == expected
