import pytest
from error_support import VECTOR, dense

from finch_core import DimensionMismatch
from finch_wrappers import window


def test_window_bounds():
    y = dense(VECTOR)
    expected = """\
2 bounds for 1 dimension
  hint: pass a pair for each dimension, or None for all of it"""
    with pytest.raises(DimensionMismatch) as error:
        window(y, (1, 2), (3, 4))
    assert str(error.value) == expected
