import pytest
from error_support import MATRIX, sparse

from finch_core.errors import OutOfBounds


def test_element_out_of_bounds():
    A = sparse(MATRIX)
    expected = """\
index 3 is out of bounds for dimension 0 of size 3
  hint: from 0 up to the size, or from -1 down to minus the size"""
    with pytest.raises(OutOfBounds) as error:
        A[3, 0]
    assert str(error.value) == expected
