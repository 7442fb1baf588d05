import pytest
from error_support import VECTOR, dense

from finch_core import FormatError
from finch_wrappers import offset


def test_offset_as_array():
    x = offset(dense(VECTOR), 1)
    expected = """\
the result of offset has no dense array: it does not begin at index 0
  hint: read it in a kernel, into a tensor of its own"""
    with pytest.raises(FormatError) as error:
        x.to_numpy()
    assert str(error.value) == expected
