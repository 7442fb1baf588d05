from error_support import MATRIX, refusal

from finch_core import FormatError, _, kernel
from finch_wrappers import UpTriMask


@kernel
def declare(M, A):
    M[...] = False
    for i, j in _:
        M[i, j] = A[i, j] > 0


def test_mask_declared():
    expected = """\
M is a mask, which cannot be written: it has no memory
  line 2
    M[...] = False
    ^^^^^^^^^^^^^^
  hint: write a tensor of bools, such as Tensor(Dense(Dense(Element(False))))"""
    assert refusal(FormatError, declare, UpTriMask(), MATRIX) == expected
