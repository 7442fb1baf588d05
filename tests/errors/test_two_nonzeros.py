import numpy as np
import pytest
from error_support import VECTOR, refusal

from finch_core import FormatError, Tensor, _, kernel
from finch_core.validation import validate
from finch_levels import Element, SparsePinpoint


@kernel
def copied(y, x):
    y[...] = 0
    for i in _:
        y[i] = x[i]


def test_two_nonzeros():
    expected = """\
index 3 of y is written where its SparsePinpoint holds the one nonzero of a fiber already
  line 4
    y[i] = x[i]
    ^^^^
  hint: use SparseList, which takes any number"""
    assert (
        refusal(FormatError, copied, Tensor(SparsePinpoint(Element(0.0)), (4,)), VECTOR) == expected
    )


def test_what_was_declared_is_left_empty():
    y = Tensor(SparsePinpoint(Element(0.0)), (4,))
    copied(y, np.array([0.0, 2.5, 0.0, 0.0]))
    assert y.to_numpy().any()
    with pytest.raises(FormatError, match="holds the one nonzero"):
        copied(y, VECTOR)
    assert not y.to_numpy().any()
    validate(y)
