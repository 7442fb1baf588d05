from error_support import VECTOR, refusal

from finch_core import FormatError, Tensor, _, kernel
from finch_levels import Pattern, SparseList


@kernel
def both(y, x):
    y[...] = False
    for i in _:
        y[i] &= x[i] > 0


def test_pattern_operator():
    expected = """\
a Pattern cannot be updated by '&': it can only become True
  line 4
    y[i] &= x[i] > 0
    ^^^^^^^^^^^^^^^^
  hint: use =, |= or max, or an Element(False) leaf"""
    assert (
        refusal(FormatError, both, Tensor(SparseList(Pattern()), VECTOR != 0), VECTOR) == expected
    )
