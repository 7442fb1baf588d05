import pytest
from error_support import VECTOR, dense

from finch_core import DimensionMismatch
from finch_wrappers import window


def test_window_step():
    y = dense(VECTOR)
    expected = """\
a window cannot have a step, and this slice has the step 2
  hint: use stride(A, slice(a, b, step)), or pass slice(a, b)"""
    with pytest.raises(DimensionMismatch) as error:
        window(y, slice(0, 4, 2))
    assert str(error.value) == expected
