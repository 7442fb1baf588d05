import numpy as np
from error_support import refusal

from finch_core import FormatError, Tensor, _, kernel
from finch_levels import Dense, Element, SparseInterval


@kernel
def rows(y, x):
    y[...] = 0
    for i, j in _:
        y[i, j] = x[i, j]


def test_two_runs():
    """Of subfibers, which are compared when all is written."""
    expected = """\
index 3 of y is written where its SparseInterval holds the one run of a fiber already
  line 4
    y[i, j] = x[i, j]
    ^^^^^^^
  hint: use SparseRunList, which takes any number"""
    data = np.array([[0.0, 0.0], [1.0, 2.0], [1.0, 2.0], [1.0, 3.0]])
    y = Tensor(SparseInterval(Dense(Element(0.0))), (4, 2))
    assert refusal(FormatError, rows, y, data) == expected
