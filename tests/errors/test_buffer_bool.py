import numpy as np
import pytest

from finch_core import FormatError, Tensor
from finch_levels import Element, SparseByteMap


def test_buffer_bool():
    A = Tensor(SparseByteMap(Element(0.0)), [0.0, 1.0, 2.0])
    held = {name: array.copy() for name, array in A.buffers.items()}
    held["0_tbl"].view(np.uint8)[1] = 5
    expected = """\
the buffer 0_tbl has a bool at 1 whose byte is 5
  hint: array.view(np.uint8) != 0 has bytes of 0 and 1"""
    with pytest.raises(FormatError) as error:
        Tensor.from_buffers(A.format, A.shape, held)
    assert str(error.value) == expected
