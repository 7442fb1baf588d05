import pytest
from error_support import MATRIX, sparse

from finch_core import FormatError, Tensor


def test_buffer_unsorted():
    A = sparse(MATRIX)
    held = {name: array.copy() for name, array in A.buffers.items()}
    held["1_idx"][:2] = [3, 1]
    expected = """\
level 1 (SparseList): idx[1] is 1, not more than idx[0], 3
  hint: Tensor(fmt, array) makes buffers as the format wants them"""
    with pytest.raises(FormatError) as error:
        Tensor.from_buffers(A.format, A.shape, held)
    assert str(error.value) == expected
