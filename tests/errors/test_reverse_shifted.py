import pytest
from error_support import VECTOR, dense

from finch_core import FormatError
from finch_wrappers import offset, reverse


def test_reverse_shifted():
    expected = """\
the result of offset has no last index to step back from
  hint: step first, as in offset(stride(A, -1))"""
    with pytest.raises(FormatError) as error:
        reverse(offset(dense(VECTOR), 1))
    assert str(error.value) == expected
