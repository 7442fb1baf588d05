import pytest
from error_support import MATRIX, sparse

from finch_core import DimensionMismatch
from finch_wrappers import stride


def test_stride_steps():
    expected = """\
1 step for 2 dimensions
  hint: pass a step or a slice for each dimension, or None for all of it"""
    with pytest.raises(DimensionMismatch) as error:
        stride(sparse(MATRIX), 2)
    assert str(error.value) == expected
