import numpy as np
import scipy.sparse as sp
from error_support import refusal

from finch_array import asarray
from finch_core import LifecycleError, Tensor, _, kernel
from finch_levels import Dense, Element, SparseCOO, SparseList

COLUMNS = np.arange(3)
BUFFERS = {"1_ptr": np.arange(4), "1_idx": COLUMNS, "2_val": COLUMNS}
A = Tensor.from_buffers(Dense(SparseList(Element(0))), (3, 3), BUFFERS)


@kernel
def scale(A):
    for i, j in _:
        A[i, j] *= 1000000


def test_buffers_share_memory():
    expected = """\
A is written, and two of its buffers share memory
  line 1
    def scale(A):
              ^
  hint: pass a copy of it, A.copy()"""
    assert refusal(LifecycleError, scale, A) == expected
    assert COLUMNS.tolist() == [0, 1, 2]
    copied = A.copy()
    scale(copied)
    assert copied.to_numpy().diagonal().tolist() == [0, 1000000, 2000000]


def test_buffers_of_a_structure_that_stays_may_be_one():
    format = SparseCOO(SparseCOO(Element(0)))
    array = sp.coo_array((np.arange(1, 4), (COLUMNS, COLUMNS)), shape=(3, 3))
    assert np.shares_memory(*array.coords)
    diagonal = Tensor(format, array)
    scale(diagonal)
    assert diagonal.to_numpy().diagonal().tolist() == [1000000, 2000000, 3000000]
    of_one = asarray(array)
    scale(of_one)
    assert of_one.to_numpy().diagonal().tolist() == [1000000, 2000000, 3000000]
