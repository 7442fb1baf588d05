import pytest
from error_support import MATRIX, sparse

from finch_core import FormatError, Tensor


def test_buffer_short():
    A = sparse(MATRIX)
    held = {name: array.copy() for name, array in A.buffers.items()}
    held["2_val"] = held["2_val"][:2]
    expected = """\
level 2 (Element): val has 2 elements, and needs 4
  hint: Tensor(fmt, array) makes buffers as the format wants them"""
    with pytest.raises(FormatError) as error:
        Tensor.from_buffers(A.format, A.shape, held)
    assert str(error.value) == expected
