import pytest
from error_support import MATRIX, VECTOR, text

from finch_core import FormatError, _, kernel


@kernel
def add(y, x):
    for i in _:
        y[i] += x[i]


def test_bound_copy():
    expected = """\
x is copied at each call, so that no call can be bound to it
  line 1
    def add(y, x):
               ^
  hint: bind np.ascontiguousarray(x)"""
    with pytest.raises(FormatError) as error:
        add.bind(VECTOR[:3].copy(), MATRIX[:, 0])
    assert text(error.value, add) == expected
