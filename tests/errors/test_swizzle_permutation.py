import pytest
from error_support import MATRIX, sparse

from finch_core import DimensionMismatch
from finch_wrappers import swizzle


def test_swizzle_permutation():
    A = sparse(MATRIX)
    expected = """\
(0, 0) is no permutation of 2 dimensions
  hint: as in swizzle(A, (1, 0))"""
    with pytest.raises(DimensionMismatch) as error:
        swizzle(A, (0, 0))
    assert str(error.value) == expected
