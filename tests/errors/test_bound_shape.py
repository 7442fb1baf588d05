import numpy as np
import pytest
from error_support import VECTOR, dense, text

from finch_core import DimensionMismatch, FormatError, _, kernel


@kernel
def add(y, x):
    for i in _:
        y[i] += x[i]


def test_bound_shape():
    expected = """\
x has another shape than when this call was bound
  line 1
    def add(y, x):
               ^
  hint: bind the call again, call = add.bind(...)"""
    y, x = dense(VECTOR), dense(VECTOR)
    call = add.bind(y, x)
    x.fill((5,))
    with pytest.raises(DimensionMismatch) as error:
        call()
    assert text(error.value, add) == expected
    assert y.to_numpy().tolist() == VECTOR.tolist()


def test_bound_to_an_array_that_is_read_only_now():
    expected = """\
y is written, and the array is read-only
  line 1
    def add(y, x):
            ^
  hint: pass a copy"""
    y, x = np.zeros(3), np.ones(3)
    call = add.bind(y, x)
    call()
    x.flags.writeable = y.flags.writeable = False
    with pytest.raises(FormatError) as error:
        call()
    assert text(error.value, add) == expected
    assert y.tolist() == [1.0, 1.0, 1.0]
    y.flags.writeable = True
    call()
    assert y.tolist() == [2.0, 2.0, 2.0]
