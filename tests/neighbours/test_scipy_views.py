"""Tensors over the memory of SciPy arrays: values that are written in place are shared, all else of
a tensor is its own, and calls on the array see the array."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import finch_array as fa
import finch_core
from finch_core import Tensor, _, kernel, stored
from finch_core.errors import FormatError, IndexOverflow
from finch_levels import Element, SparseCOO

MAKERS = ["csr_array", "csc_array", "coo_array", "dia_array", "bsr_array", "lil_array"]
CONVERSIONS = {
    "fa.asarray": fa.asarray,
    "finch_core.asarray": finch_core.asarray,
    "from_scipy_sparse": Tensor.from_scipy_sparse,
    "dtype": lambda S: fa.asarray(S, dtype=np.float64),
    "copy": lambda S: fa.asarray(S, copy=True),
    "permuted": lambda S: fa.permute_dims(S, (1, 0)),
}


@kernel
def row_sums(y, A):
    y[...] = 0
    for j, i in _:
        y[i] += A[i, j]


@kernel
def doubled(A):
    for i, j in _:
        if stored(A[i, j]):
            A[i, j] *= 2


def check_unchanged(S):
    """All ways to read the array see what SciPy sees."""
    wanted, y = S.toarray(), np.zeros(3)
    row_sums(y, S)
    np.testing.assert_array_equal(y, wanted.sum(1))
    assert float(fa.sum(S)) == wanted.sum()
    np.testing.assert_array_equal(fa.asarray(S).to_numpy(), wanted)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("conversion", CONVERSIONS)
@pytest.mark.filterwarnings("ignore::finch_core.PerformanceWarning")
def test_what_becomes_of_a_tensor_is_not_seen_in_the_array(make, conversion):
    S = getattr(sp, make)(np.eye(3))
    check_unchanged(S)
    found = CONVERSIONS[conversion](S)
    found[0, 0] = 9
    found[1, 2] = 4
    assert found[1, 2] == 4
    check_unchanged(S)
    other = CONVERSIONS[conversion](S)
    assert other is not found
    np.testing.assert_array_equal(other.to_numpy(), np.eye(3))
    other *= 3
    check_unchanged(S)


@pytest.mark.parametrize("make", ["csr_array", "csc_array", "coo_array"])
def test_values_are_shared_unless_copied(make):
    S = getattr(sp, make)(np.eye(3))
    doubled(fa.asarray(S, copy=True))
    assert S.sum() == 3
    own = fa.asarray(S, copy=False)
    if make != "csc_array":
        doubled(own)
        assert S.sum() == 6
        check_unchanged(S)


def test_what_must_be_copied_is_refused_without_a_copy():
    with pytest.raises(ValueError, match="without a copy"):
        fa.asarray(sp.lil_array(np.eye(3)), copy=False)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_index_arrays_of_a_dtype_over_the_same_values(dtype):
    A = fa.from_coo(([0, 2, 1], [1, 0, 2]), [1.0, 2.0, 3.0], (3, 4))
    lists = fa.from_coo(([5], [7]), [1.0], (10**6, 10**6))
    T = A.to(SparseCOO(SparseCOO(Element(0.0))))
    for x in (A, A.T, T, lists):
        S = x.to_scipy(index_dtype=dtype)
        parts = S.coords if S.format == "coo" else (S.indices, S.indptr)
        assert [part.dtype for part in parts] == [dtype] * 2
        assert (x.to_scipy() != S).nnz == 0
    assert np.shares_memory(A.to_scipy(index_dtype=np.int32).data, A.buffers["2_val"])
    assert A.to_scipy().indices.dtype == np.int64
    filled = fa.astype(A, np.float64) + 1
    S = filled.to_scipy_sparse(accept_fv=1, index_dtype=dtype)
    assert S.indices.dtype == dtype


def test_index_dtypes_that_do_not_do():
    A = fa.from_coo(([5], [3]), [1.0], (2**31, 4))
    with pytest.raises(IndexOverflow, match="index arrays of int32 do not hold 2147483648"):
        A.to_scipy(index_dtype=np.int32)
    with pytest.raises(FormatError, match="are of int32 or int64, not of int16"):
        A.to_scipy(index_dtype=np.int16)


@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
def test_indices_narrower_than_the_dimension(layout):
    dense = np.zeros((300, 300))
    dense[[3, 7, 100], [5, 2, 9]] = [1.0, 2.0, 3.0]
    array = sp.coo_array(dense).asformat(layout)
    if layout == "coo":
        array.coords = tuple(c.astype(np.int8) for c in array.coords)
    else:
        array.indices = array.indices.astype(np.int8)
    np.testing.assert_array_equal(finch_core.asarray(array).to_numpy(), dense)
