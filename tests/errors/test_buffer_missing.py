import pytest
from error_support import MATRIX, sparse

from finch_core import FormatError, Tensor


def test_buffer_missing():
    A = sparse(MATRIX)
    held = {name: array.copy() for name, array in A.buffers.items()}
    del held["1_idx"]
    expected = """\
the buffer 1_idx (the index of each stored subfiber) is missing
  hint: the format has '1_ptr', '1_idx' and '2_val'"""
    with pytest.raises(FormatError) as error:
        Tensor.from_buffers(A.format, A.shape, held)
    assert str(error.value) == expected
