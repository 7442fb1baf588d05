import pytest
from error_support import VECTOR, dense, text

from finch_core import DimensionMismatch, _, kernel


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
