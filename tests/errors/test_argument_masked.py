import numpy as np
import pytest
from error_support import VECTOR, refusal

from finch_core import FormatError, Tensor, _, asarray, kernel
from finch_levels import Dense, Element
from finch_wrappers import window

MASKED = np.ma.masked_array(VECTOR, [0, 1, 0, 0])


@kernel
def add(y, x):
    for i in _:
        y[i] += x[i]


def test_argument_masked():
    expected = """\
x is a masked array, and its mask would be lost
  line 1
    def add(y, x):
               ^
  hint: pass a.filled(value), and the mask, np.ma.getmaskarray(a), as an array of its own"""
    for _turn in range(2):
        assert refusal(FormatError, add, VECTOR.copy(), MASKED) == expected
        add(VECTOR.copy(), VECTOR)


@pytest.mark.parametrize(
    "take", [asarray, lambda a: Tensor(Dense(Element(0.0)), a), lambda a: window(a, (0, 2))]
)
def test_data_masked(take):
    with pytest.raises(FormatError, match="this array is masked, and its mask would be lost"):
        take(MASKED)
