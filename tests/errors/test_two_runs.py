from error_support import VECTOR, refusal

from finch_core import FormatError, Tensor, _, kernel
from finch_levels import Element, SparseInterval


@kernel
def copied(y, x):
    y[...] = 0
    for i in _:
        y[i] = x[i]


def test_two_runs():
    expected = """\
index 3 of y is written where its SparseInterval holds the one run of a fiber already
  line 4
    y[i] = x[i]
    ^^^^
  hint: use SparseRunList, which takes any number"""
    assert (
        refusal(FormatError, copied, Tensor(SparseInterval(Element(0.0)), (4,)), VECTOR) == expected
    )
