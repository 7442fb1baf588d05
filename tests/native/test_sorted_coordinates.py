"""Matrices of coordinates in any order: sorted by digits, or by counting where there are many."""

import numpy as np
import pytest
import scipy.sparse as sp

import finch_array as fa
from finch_core import FormatError, Tensor
from finch_core.runtime import sorting
from finch_levels import Dense, Element, SparseList

CSR = Dense(SparseList(Element(0.0)))
DCSR = SparseList(SparseList(Element(0.0)))


def entries(n, m, count, seed, order):
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(0, n, count), rng.integers(0, m, count)
    if order != "random":
        sort = np.lexsort((columns, rows))
        rows, columns = rows[sort], columns[sort]
    if order == "reversed":
        rows, columns = rows[::-1], columns[::-1]
    return rows, columns, rng.integers(-4, 5, count).astype(float)


@pytest.fixture(params=["counted", "digits", "compared"])
def way(request, monkeypatch):
    """The way in which coordinates are sorted."""
    monkeypatch.setattr(sorting, "FEW", 0 if request.param == "counted" else 1 << 60)
    monkeypatch.setattr(sorting, "MANY", 1 << 60 if request.param == "compared" else 0)


@pytest.mark.parametrize("order", ["random", "sorted", "reversed"])
@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (300, 70_000), (70_000, 3)])
def test_coordinates_in_any_order_make_the_matrix_that_scipy_makes(way, shape, order):
    for count in (0, 1, 50, 3000):
        rows, columns, values = entries(*shape, count, count, order)
        given = sp.coo_array((values, (rows, columns)), shape=shape)
        wanted = given.tocsr()
        made = [
            Tensor(CSR, given), Tensor(DCSR, given), fa.from_coo((rows, columns), values, shape),
            fa.from_coo((rows, columns), values, shape, format=CSR), fa.asarray(given),
        ]  # fmt: skip
        for tensor in made:
            found = sp.csr_array(fa.astype(tensor, float, copy=True).to_scipy())
            assert tensor.shape == shape
            assert (found != wanted).nnz == 0
            assert tensor.nstored == wanted.nnz
        values *= 2
        assert (sp.csr_array(fa.asarray(given).to_scipy()) != 2 * wanted).nnz == 0


def test_the_permutation_is_stable(way):
    coords = [np.array(c) for c in ([3, 0, 3, 0, 3], [1, 2, 1, 2, 0])]
    assert sorting.sorting((4, 3), coords).tolist() == [1, 3, 4, 0, 2]
    wide = [np.array([5, 1 << 40, 5, 0]), np.array([1 << 41, 0, 7, 1 << 41])]
    assert sorting.sorting((1 << 42, 1 << 42), wide).tolist() == [3, 2, 0, 1]


def test_what_a_format_is_made_of_is_checked(way):
    given = sp.coo_array((np.array([100, 100], np.int8), ([0, 0], [1, 1])), shape=(2, 2))
    with pytest.raises(FormatError, match="add up to 200, which does not fit in int8"):
        Tensor(Dense(SparseList(Element(np.int8(0)))), given)
    assert Tensor(Dense(SparseList(Element(0))), given.astype(np.int64))[0, 1] == 200
    outside = sp.coo_array((np.ones(2), ([0, 1], [1, 1])), shape=(2, 2))
    outside.coords[0][1] = 5
    with pytest.raises(FormatError, match="index 5 of dimension 0, at position 1, is not within 2"):
        Tensor(CSR, outside)
    for bad in (5, -1):
        outside = sp.coo_array((np.ones(3), ([0, 1, 1], [1, 1, 0])), shape=(2, 2))
        outside.coords[1][2] = bad
        for make in (fa.asarray, Tensor):
            given = (outside,) if make is fa.asarray else (DCSR, outside)
            with pytest.raises(TypeError, match=f"index {bad} of dimension 1"):
                make(*given)
    ones = Tensor(Dense(SparseList(Element(1.0))), sp.coo_array(np.eye(2)))
    assert ones.to_numpy().tolist() == [[1, 0], [0, 1]]


def test_a_tensor_of_coordinates_has_memory_of_its_own():
    given = sp.coo_array(np.eye(3))
    made = Tensor(CSR, given)
    given.data[:] = 7
    assert made.to_numpy().tolist() == np.eye(3).tolist()
    made[0, 0] = 5.0
    assert given.data.tolist() == [7, 7, 7]
