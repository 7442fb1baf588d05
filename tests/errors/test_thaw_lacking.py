from error_support import CONTINUING, VECTOR, refusal

from finch_core import FormatError, Tensor, _, kernel
from finch_levels import Element, SparseInterval


@kernel
def more(y, x):
    for i in _:
        y[i] += x[i]


def test_thaw_lacking():
    expected = f"""\
y cannot be updated again once it is frozen: a SparseInterval cannot continue
  line 3
    y[i] += x[i]
    ^^^^
  hint: declare it, y[...] = fill, and write all of it at once; {CONTINUING} can continue"""
    assert (
        refusal(FormatError, more, Tensor(SparseInterval(Element(0.0)), (4,)), VECTOR) == expected
    )
