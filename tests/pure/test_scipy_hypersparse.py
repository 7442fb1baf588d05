"""Matrices of which almost no row stores anything go to and from SciPy at the cost of what they
store."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from finch_core import Tensor, _, asarray, kernel
from finch_core.errors import OutOfMemory
from finch_levels import Dense, Element, Scalar, SparseHash, SparseList

N = 10**12
AT = np.array([1, 2, 10**11])
SPARSE = SparseList(SparseList(Element(0.0)))


def matrix():
    return sp.coo_array((np.array([1.0, 2.0, 3.0]), (AT, AT[::-1])), shape=(N, N))


def test_to_and_from_scipy():
    tracemalloc.start()
    for format in (SPARSE, SparseList(SparseHash(Element(0.0)))):
        back = Tensor(format, matrix()).to_scipy()
        assert back.format == "coo"
        assert back.shape == (N, N)
        assert back.coords[0].tolist() == AT.tolist()
        assert back.coords[1].tolist() == AT[::-1].tolist()
        assert back.data.tolist() == [1, 2, 3]
    assert tracemalloc.get_traced_memory()[1] < 1 << 24
    tracemalloc.stop()
    assert asarray(matrix()).nstored == 3


@kernel
def total(s, A):
    s[...] = 0
    for i, j in _:
        s[()] += A[i, j]
    return s


def test_as_an_argument():
    assert total(Scalar(0.0), matrix()).value == 6


def test_rows_beyond_all_memory_where_they_are_asked_for():
    with pytest.raises(OutOfMemory):
        Tensor(Dense(SparseList(Element(0.0))), matrix())


def test_matrices_with_a_value_in_most_rows_are_rows():
    assert Tensor(SPARSE, np.eye(3)).to_scipy().format == "csr"
    assert asarray(sp.dok_array(np.eye(3))).format.name == "Dense"
