from error_support import VECTOR, refusal

from finch_core import FormatError, Tensor, _, kernel
from finch_levels import Pattern, SparseList


@kernel
def nonzeros(y, x):
    y[...] = True
    for i in _:
        y[i] = x[i] != 0


def test_pattern_declared_true():
    expected = """\
y is declared to True, but its fill value is False
  line 2
    y[...] = True
    ^^^^^^^^^^^^^
  hint: write y[...] = False, or use another leaf, as a Pattern has no other fill"""
    assert refusal(FormatError, nonzeros, Tensor(SparseList(Pattern()), (4,)), VECTOR) == expected
