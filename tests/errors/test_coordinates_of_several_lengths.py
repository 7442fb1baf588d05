import numpy as np
import scipy.sparse as sp
from error_support import MATRIX, refusal

from finch_core import FormatError, _, kernel


@kernel
def add(C, A):
    for i, j in _:
        C[i, j] += A[i, j]


def test_coordinates_of_several_lengths():
    given = sp.coo_array(MATRIX)
    count = given.nnz
    given.coords = (given.coords[0][:2], given.coords[1])
    expected = f"""\
the values of this coo_array are {count}, and its coordinates 2 and {count}
  hint: its coords and data were replaced: make another array of them"""
    assert refusal(FormatError, add, np.zeros(MATRIX.shape), given) == expected
