import pytest
from error_support import VECTOR, copied, refusal

from finch_core import FormatError, Tensor
from finch_levels import Element, SparseInterval, SparsePinpoint


@pytest.mark.parametrize(
    ("level", "what", "instead"),
    [(SparsePinpoint, "nonzero", "SparseList"), (SparseInterval, "run", "SparseRunList")],
)
def test_two_nonzeros(level, what, instead):
    expected = f"""\
index 3 of y is written where its {level.name} holds the one {what} of a fiber already
  line 4
    y[i] = x[i]
    ^^^^
  hint: use {instead}, which takes any number"""
    assert refusal(FormatError, copied, Tensor(level(Element(0.0)), (4,)), VECTOR) == expected
