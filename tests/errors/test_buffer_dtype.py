import numpy as np
import pytest
from error_support import MATRIX, sparse

from finch_core import FormatError, Tensor


def test_buffer_dtype():
    A = sparse(MATRIX)
    held = {name: array.copy() for name, array in A.buffers.items()}
    held["2_val"] = held["2_val"].astype(np.float32)
    expected = """\
the buffer 2_val has dtype float32, and the format wants float64
  hint: give the format the array's dtype, or the array the format's"""
    with pytest.raises(FormatError) as error:
        Tensor.from_buffers(A.format, A.shape, held)
    assert str(error.value) == expected
