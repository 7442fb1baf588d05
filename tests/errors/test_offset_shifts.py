import pytest
from error_support import MATRIX, sparse

from finch_core import DimensionMismatch
from finch_wrappers import offset


def test_offset_shifts():
    A = sparse(MATRIX)
    expected = """\
1 shift for 2 dimensions
  hint: pass one integer for each dimension, 0 for those that are not shifted"""
    with pytest.raises(DimensionMismatch) as error:
        offset(A, 1)
    assert str(error.value) == expected
