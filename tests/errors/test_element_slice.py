import pytest
from error_support import MATRIX, sparse

from finch_core import FormatError


def test_element_slice():
    A = sparse(MATRIX)
    expected = """\
element access takes integers, not slice
  hint: to_numpy() gives an array that can be sliced"""
    with pytest.raises(FormatError) as error:
        A[1, :]
    assert str(error.value) == expected
