import pytest
from error_support import VECTOR, dense

from finch_core import DimensionMismatch
from finch_wrappers import window


def test_window_outside():
    y = dense(VECTOR)
    expected = """\
the window from 3 up to 6 is not within dimension 0, of size 4
  hint: windows are half-open, 0 <= a <= b <= n"""
    with pytest.raises(DimensionMismatch) as error:
        window(y, (3, 6))
    assert str(error.value) == expected
