"""Where one operand stores few indices along a loop and another many, the indices of the first are
searched for in the second (``orders.leading``)."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import finch_array as fa
from finch_array import run
from finch_array.orders import Term, leading
from finch_core import Tensor, _, gallop, kernel
from finch_levels import (
    Dense,
    Element,
    RunList,
    SparseByteMap,
    SparseCOO,
    SparseHash,
    SparseList,
)

ZERO = Element(0.0)
LISTS = SparseList(SparseList(ZERO))
FORMATS = (
    LISTS, Dense(SparseList(ZERO)), SparseCOO(SparseCOO(ZERO)), SparseHash(SparseHash(ZERO)),
    SparseList(SparseByteMap(ZERO)), SparseList(RunList(ZERO)),
)  # fmt: skip


def test_the_operand_that_stores_least_leads():
    short = Term(("i", "k"), (100.0, 1.0), True, 100.0, True)
    long = Term(("k", "j"), (100.0, 1.0), True, 100.0, True)
    sizes = {"i": 1000.0, "k": 1000.0, "j": 1000.0}
    assert leading((short, long), sizes, ("i", "k", "j")) == ((0, 1),)
    dense = Term(("k", "j"), (1000.0, 1.0), False, 100.0, True)
    assert leading((short, dense), sizes, ("i", "k", "j")) == ()
    rows = Term(("k", "j"), (1000.0, 1.0), True, 100.0, True, frozenset({0}))
    assert leading((short, rows), sizes, ("i", "k", "j")) == ()
    added = Term(("k", "j"), (100.0, 1.0), True, 100.0, False)
    assert leading((short, added), sizes, ("i", "k", "j")) == ()


def hypersparse(n, seed, format):
    """A matrix of one element in each of a few rows, as a NumPy array and a tensor."""
    generator = np.random.default_rng(seed)
    rows, columns = generator.choice(n, (2, n // 2))
    plain = np.zeros((n, n))
    np.add.at(plain, (rows, columns), generator.integers(1, 5, n // 2).astype(float))
    return plain, fa.asarray(plain, format=format)


@pytest.mark.parametrize("left", FORMATS, ids=str)
@pytest.mark.parametrize("right", FORMATS[:3], ids=str)
def test_products_of_hypersparse_matrices(left, right):
    (a, A), (b, B) = hypersparse(60, 0, left), hypersparse(60, 1, right)
    np.testing.assert_array_equal((A @ B).to_numpy(), a @ b)
    np.testing.assert_array_equal((A.T @ B).to_numpy(), a.T @ b)
    np.testing.assert_array_equal(fa.tensordot(A, B, axes=([0], [0])).to_numpy(), a.T @ b)
    found = fa.einsum("ij,jk,kl->il", A, B, A)
    np.testing.assert_array_equal(found.to_numpy(), a @ b @ a)


def test_rows_are_searched_for():
    """The program of a product of hypersparse matrices says so; that of CSR matrices does not."""
    n = 4096
    places = np.arange(n), np.random.default_rng(0).permutation(n)
    plain = scipy.sparse.csr_array((np.ones(n), places), shape=(n, n))
    lists = fa.from_coo(places, np.ones(n), (n, n), format=LISTS)
    rows = fa.asarray(plain)
    assert lists.format == LISTS
    run._forget()
    assert (abs((lists @ lists).to_scipy() - plain @ plain)).nnz == 0
    assert any("gallop" in text for text in planned())
    run._forget()
    assert (abs((rows @ rows).to_scipy() - plain @ plain)).nnz == 0
    assert not any("gallop" in text for text in planned())


def planned():
    """The texts of the programs of all plans."""
    kernels = [plan.kernel for plan in run._plans.values() if plan.kernel is not None]
    return [str(kernel.program) for kernel in kernels]


def three(y, A, B, C):
    y[...] = 0
    for j, k, m in _:
        y[m] += A[gallop(j)] * B[j, gallop(k)] * C[k, m]
    return y


def test_an_intersection_that_is_led_is_no_merge_of_cases():
    """However many operands there are: a merge reads the longer operand to its end."""
    a = np.random.default_rng(2).integers(0, 2, (9, 9)).astype(float)
    A, B = Tensor(SparseList(ZERO), a[0]), Tensor(LISTS, a)
    for backend in ("c", "interpreter"):
        compiled = kernel(three, backend=backend)
        found = compiled(np.zeros(9), A, B, B)
        np.testing.assert_array_equal(found, a[0] @ a @ a)
    text = kernel(three, backend="c").lower(np.zeros(9), A, B, B).as_text("source")
    assert "_reached" not in text
