import numpy as np
import pytest
from error_support import VECTOR, refusal

from finch_core import FormatError, Tensor, _, kernel
from finch_core.validation import validate
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


def test_what_was_declared_is_left_empty():
    y = Tensor(SparseInterval(Element(0.0)), (4,))
    copied(y, np.array([0.0, 2.5, 2.5, 0.0]))
    assert y.to_numpy().any()
    with pytest.raises(FormatError, match="holds the one run"):
        copied(y, VECTOR)
    assert not y.to_numpy().any()
    validate(y)
