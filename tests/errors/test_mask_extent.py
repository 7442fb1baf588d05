from error_support import refusal

from finch_core import DimensionMismatch, _, kernel
from finch_levels import Scalar
from finch_wrappers import UpTriMask


@kernel
def count(s, M):
    for i in range(0, 3):
        for j in _:
            if M[i, j]:
                s[()] += 1


def test_mask_extent():
    expected = """\
nothing fixes the extent of j
  line 3
    for j in _:
        ^
  hint: write it out, as in: for j in range(0, n)"""
    assert refusal(DimensionMismatch, count, Scalar(0), UpTriMask()) == expected
