"""``searchsorted`` among and of arrays of any format, without making them dense."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from array_support import MATRICES, fa, same, tensor

from finch_core import DimensionMismatch, Tensor
from finch_levels import Dense, Element, RunList, SparseBand, SparseCOO, SparseHash, SparseList

LEVELS = (Dense, SparseList, RunList, SparseBand, SparseHash)
KEYS = np.array([-2.0, 0, 0, 0, 0, 0, 1, 3, np.nan])


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", MATRICES)
def test_the_places_of_elements_are_numpys(name, side):
    values = np.array([[0, 1, 1, 0], [np.nan, 0, 0, -3], [0, 0, 0, 0]])
    sought = tensor(values, MATRICES[name])
    for x in (sought, sought.T, sought[:, ::2], fa.lazy(sought)):
        plain = fa.compute(x).to_numpy()
        wanted = np.searchsorted(KEYS, plain, side)
        found = fa.searchsorted(fa.asarray(KEYS), x, side=side)
        assert found.dtype == wanted.dtype
        same(found, wanted)
        for level in LEVELS:
            keys = Tensor(level(Element(0.0)), KEYS)
            same(fa.searchsorted(keys, x, side=side), wanted)
    same(np.searchsorted(Tensor(SparseList(Element(0.0)), KEYS), 1.0, side),
         np.searchsorted(KEYS, 1.0, side))  # fmt: skip


def test_bools_without_values_have_places():
    plain = np.array([[True, False], [False, False]])
    for leaf in (Dense(SparseList(Element(False))), fa.asarray(plain != 0).format):
        same(fa.searchsorted(np.array([0.0, 1]), Tensor(leaf, plain)),
             np.searchsorted([0.0, 1], plain))  # fmt: skip


def test_large_sparse_arrays_keep_their_levels():
    n = 1 << 40
    sought = fa.from_coo(([3, 5], [1, n - 1]), np.array([1.0, 9]), (n, n),
                         format=SparseCOO(SparseCOO(Element(0.0))))  # fmt: skip
    found = fa.searchsorted(np.array([-1.0, 0, 5]), sought)
    assert found.nnz == 2
    assert (found.fill_value, found[3, 1], found[5, n - 1]) == (1, 2, 3)
    keys = fa.from_coo(([n - 2, n - 1],), np.array([1.0, 9]), (n,))
    np.testing.assert_array_equal(
        fa.searchsorted(keys, np.array([-1.0, 0, 5, 9])).to_numpy(), [0, 0, n - 1, n - 1]
    )


def test_numbers_in_the_place_of_nan():
    a = np.array([[0, np.nan, 2], [np.inf, 0, 0]])
    for A in (fa.asarray(sp.csr_array(a)), fa.asarray(a.copy()), fa.asarray(sp.csr_array(a.T)).T):
        same(np.nan_to_num(A, nan=7.0), np.nan_to_num(a, nan=7.0))
        same(A, a)
        assert np.nan_to_num(A, copy=False) is A
        same(A, np.nan_to_num(a))
    with pytest.raises(DimensionMismatch, match="bins of digitize are a vector"):
        np.digitize(fa.asarray(a), np.ones((2, 2)))
    with pytest.raises(TypeError, match="integer"):
        round(fa.asarray(a), "x")
