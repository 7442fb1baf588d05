import scipy.sparse as sp
from error_support import MATRIX, refusal

from finch_core import FormatError, _, kernel


@kernel
def add(C, A):
    for i, j in _:
        C[i, j] += A[i, j]


def test_written_scipy():
    expected = """\
C is written, and SciPy arrays are read only
  line 1
    def add(C, A):
            ^
  hint: pass a copy, Tensor(fmt, C), and convert it afterwards with .to_scipy()"""
    assert refusal(FormatError, add, sp.csr_array(MATRIX), MATRIX) == expected
