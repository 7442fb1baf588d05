from error_support import VECTOR, refusal

from finch_core import FormatError, Tensor, _, kernel
from finch_levels import Pattern, SparseBand


@kernel
def nonzeros(y, x):
    y[...] = False
    for i in _:
        y[i] = x[i] != 0


def test_band_with_fill():
    expected = """\
index 3 of y is not adjacent to its band, which cannot store the fill between
  line 4
    y[i] = x[i] != 0
    ^^^^
  hint: use an Element(False) leaf, or SparseBlockList, which takes any number of blocks"""
    assert refusal(FormatError, nonzeros, Tensor(SparseBand(Pattern()), (4,)), VECTOR) == expected
