import pytest
from error_support import VECTOR, dense

from finch_core import DimensionMismatch
from finch_wrappers import toeplitz


def test_toeplitz_dimension():
    x = dense(VECTOR)
    expected = """\
there is no dimension 1 in a tensor of 1 dimension
  hint: dimensions count from 0"""
    with pytest.raises(DimensionMismatch) as error:
        toeplitz(x, 1)
    assert str(error.value) == expected
