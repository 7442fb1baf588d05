"""NumPy's questions of memory and dtypes, asked of tensors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from array_support import data, fa, same, tensor

VECTORS = ["SparseList", "RunList", "SparseHash", "Dense"]


def test_who_shares_memory():
    plain = np.zeros(5)
    A, D = fa.asarray(scipy.sparse.eye_array(4, format="csr")), fa.asarray(plain)
    for asked in (np.shares_memory, np.may_share_memory):
        assert asked(A, A)
        assert asked(A.T, A)
        assert not asked(A, A.copy())
        assert asked(D, plain)
        assert asked(plain, D)
        assert not asked(D, np.zeros(5))


def test_the_common_type():
    A = fa.asarray(np.ones(2, np.float32))
    assert np.common_type(A, A) == np.float32
    assert np.common_type(A, np.ones(2, complex)) == np.complex128
    found = scipy.sparse.diags_array(fa.asarray(np.arange(3.0)))
    assert np.array_equal(found.toarray(), np.diag(np.arange(3.0)))


@pytest.mark.parametrize("level", VECTORS)
def test_copies_are_copies(level):
    A = tensor(data((6,)), (level,))
    copies = [A.flatten(), np.array(A, like=A), np.block(A), *np.meshgrid(A)]
    copies += [np.meshgrid(A, [1])[0], *np.meshgrid(A, A, sparse=True)]
    for one in copies:
        assert not np.shares_memory(one, A)
        same(np.ravel(one), data((6,)))
    assert not np.shares_memory(*np.meshgrid(A, A, sparse=True))
    assert np.asarray(A, like=A) is A
    assert np.shares_memory(np.meshgrid(A, copy=False)[0], A)


def test_grids():
    a, b = data((5,)), np.arange(3.0)
    A = tensor(a, ("SparseList",))
    for options in ({}, {"sparse": True}, {"copy": False}, {"indexing": "ij", "sparse": True}):
        for found, wanted in zip(
            np.meshgrid(A, b, A, **options), np.meshgrid(a, b, a, **options), strict=True
        ):
            same(found, wanted)
