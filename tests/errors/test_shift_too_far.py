import numpy as np
import pytest
from error_support import MATRIX, sparse, text

from finch_core import DimensionMismatch, coalesce, kernel


@kernel
def shifted(y, A, n):
    for i in range(0, 2):
        for j in range(0, 2):
            y[i] += coalesce(A[i, ~(j + n)], 0)


@pytest.mark.parametrize("n", [2**62 + 1, -(2**62) - 1, -(2**63), 2**63 - 1])
@pytest.mark.parametrize("A", [MATRIX, sparse(MATRIX)], ids=["dense", "sparse"])
def test_shift_too_far(A, n):
    expected = f"""\
an index that may be out of bounds is shifted by {n}
  line 4
    y[i] += coalesce(A[i, ~(j + n)], 0)
                     ^^^^^^^^^^^^^^
  hint: shift it by at most 2**62"""
    y = np.ones(2)
    with pytest.raises(DimensionMismatch) as error:
        shifted(y, A, n)
    assert text(error.value, shifted) == expected
    assert (y == 1).all()


@pytest.mark.parametrize("n", [2**62, -(2**62)])
@pytest.mark.parametrize("A", [MATRIX, sparse(MATRIX)], ids=["dense", "sparse"])
def test_far_is_out_of_bounds(A, n):
    y = np.ones(2)
    shifted(y, A, n)
    assert (y == 1).all()
