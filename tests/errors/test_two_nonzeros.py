import numpy as np
import pytest
from error_support import VECTOR, copied, refusal

from finch_core import FormatError, Tensor
from finch_core.runtime.validation import validate
from finch_levels import Element, SparseInterval, SparsePinpoint

ONE = pytest.mark.parametrize(
    ("level", "what", "instead"),
    [(SparsePinpoint, "nonzero", "SparseList"), (SparseInterval, "run", "SparseRunList")],
)


@ONE
def test_two_nonzeros(level, what, instead):
    expected = f"""\
index 3 of y is written where its {level.name} holds the one {what} of a fiber already
  line 4
    y[i] = x[i]
    ^^^^
  hint: use {instead}, which takes any number"""
    assert refusal(FormatError, copied, Tensor(level(Element(0.0)), (4,)), VECTOR) == expected


@ONE
def test_what_was_declared_is_left_empty(level, what, instead):
    y = Tensor(level(Element(0.0)), (4,))
    copied(y, np.array([0.0, 2.5, 0.0, 0.0]))
    assert y.to_numpy().any()
    with pytest.raises(FormatError, match=f"holds the one {what}"):
        copied(y, VECTOR)
    assert not y.to_numpy().any()
    validate(y)
