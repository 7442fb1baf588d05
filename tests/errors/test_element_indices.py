import pytest
from error_support import MATRIX, sparse

from finch_core import DimensionMismatch


def test_element_indices():
    A = sparse(MATRIX)
    expected = """\
1 index for a tensor of 2 dimensions
  hint: element access takes one integer a dimension"""
    with pytest.raises(DimensionMismatch) as error:
        A[1]
    assert str(error.value) == expected
