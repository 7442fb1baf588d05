import pytest
from error_support import VECTOR, dense

from finch_core import FormatError
from finch_wrappers import toeplitz, window


def test_window_of_sums():
    y = toeplitz(dense(VECTOR), 0)
    expected = """\
the result of toeplitz has no dimensions, so there is no window of it
  hint: make the window first, as in toeplitz(window(A, (a, b)))"""
    with pytest.raises(FormatError) as error:
        window(y, (0, 1), (0, 1))
    assert str(error.value) == expected
