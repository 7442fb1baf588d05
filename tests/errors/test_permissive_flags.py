import pytest
from error_support import MATRIX, sparse

from finch_core import DimensionMismatch
from finch_wrappers import permissive


def test_permissive_flags():
    A = sparse(MATRIX)
    expected = """\
1 bool for 2 dimensions
  hint: True where an index may be out of bounds"""
    with pytest.raises(DimensionMismatch) as error:
        permissive(A, True)
    assert str(error.value) == expected
