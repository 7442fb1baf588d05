import pytest
from error_support import VECTOR, dense

from finch_core import FormatError
from finch_wrappers import stride


def test_stride_zero():
    expected = """\
a step cannot be 0
  hint: pass 2 for every other index, -1 to reverse"""
    with pytest.raises(FormatError) as error:
        stride(dense(VECTOR), 0)
    assert str(error.value) == expected
