import pytest
from error_support import MATRIX, sparse

from finch_core import FormatError, Tensor


def test_buffer_decreasing():
    A = sparse(MATRIX)
    held = {name: array.copy() for name, array in A.buffers.items()}
    held["1_ptr"][1] = 4
    expected = """\
level 1 (SparseList): ptr[2] is 3, less than ptr[1], 4
  hint: Tensor(fmt, array) makes buffers as the format wants them"""
    with pytest.raises(FormatError) as error:
        Tensor.from_buffers(A.format, A.shape, held)
    assert str(error.value) == expected
