"""Integer arrays, masks, slices, ``...`` and ``None`` in one index: where NumPy puts dimensions."""

from __future__ import annotations

import numpy as np
import pytest
from array_support import same

import finch_array as fa
from finch_levels import Dense, Element, RunList, SparseByteMap, SparseList

E = Element(0.0)
FORMATS = {
    2: (Dense(SparseList(E)), SparseList(SparseList(E)), Dense(RunList(E)), Dense(Dense(E))),
    3: (SparseList(Dense(SparseList(E))), Dense(Dense(SparseByteMap(E)))),
}
CHOSEN = (
    (slice(None), [0, 1, 2], ..., [0, 1, 2]),  # a ... for no dimension keeps them apart
    (None, [0, 1], ..., [0, 1]),
    (slice(None), [0, 1, 2], None, [0, 1, 2]),
    (0, None, [0, 1]),
    ([[0], [1]], ..., None, [0, 2]),
    (..., [0, 1], [1, 2], None),
    (np.array([True, False, True]), ..., 1),
)


def agrees(format, plain, index, rng):
    array = fa.asarray(plain.copy(), format=format)
    expected = plain[index]
    found = np.asarray(array[index])
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)
    value = rng.integers(10, 99, expected.shape).astype(float)
    plain[index] = value
    array[index] = value
    np.testing.assert_array_equal(array.to_numpy(), plain)


@pytest.mark.parametrize("index", CHOSEN, ids=str)
@pytest.mark.parametrize("ndim", [2, 3])
def test_arrays_that_stand_apart(ndim, index):
    rng = np.random.default_rng(0)
    plain = rng.integers(0, 3, (3,) * ndim).astype(float)
    if sum(x is not None and x is not ... for x in index) > ndim:
        return
    for format in FORMATS[ndim]:
        agrees(format, plain, index, rng)


def drawn(rng):
    """One item of an index of a dimension of 3."""
    return (
        slice(None), int(rng.integers(-3, 3)), slice(0, 3, 2), slice(None, None, -1),
        rng.integers(-3, 3, 2), rng.integers(-3, 3, (2, 1)), rng.random(3) < 0.6,
    )[rng.integers(7)]  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_random_indices(seed):
    rng = np.random.default_rng(seed)
    for _draw in range(60):
        ndim = int(rng.integers(2, 4))
        items = [drawn(rng) for _k in range(rng.integers(1, ndim + 1))]
        for other in (None, None, ...):
            if rng.random() < 0.4:
                items.insert(rng.integers(len(items) + 1), other)
        plain, index = rng.integers(0, 3, (3,) * ndim).astype(float), tuple(items)
        try:
            plain[index]
        except IndexError:  # shapes that do not broadcast
            continue
        agrees(FORMATS[ndim][rng.integers(len(FORMATS[ndim]))], plain, index, rng)


def test_one_element_of_a_large_array_is_not_looked_up_in_a_dense_one():
    """By an index with ``...`` or None."""
    n = 10**7
    array = fa.from_coo(([3, 5], [4, n - 1]), [1.5, 2.5], (n, n))
    assert array[..., 5, n - 1] == array.T[..., n - 1, 5] == array[::-1][..., n - 6, n - 1] == 2.5
    assert array[None, 3, ..., 4].to_numpy().tolist() == [1.5]
    assert fa.median(array) == 0


@pytest.mark.parametrize(
    "index", [[5, -1, 5], ([2], slice(1, None)), (slice(None, None, 2), [4, 5]), (7, [5, 6])],
    ids=str,
)  # fmt: skip
def test_rows_and_columns_are_set_to_the_fill_without_what_is_not_stored(index):
    n = 10**6
    rows, columns = np.arange(0, n, 1000), np.arange(0, n, 1000)[::-1] // 7
    small = np.arange(64.0).reshape(8, 8) % 3
    array = fa.asarray(small, format=Dense(SparseList(E)))
    array[index] = 0
    small[index] = 0
    np.testing.assert_array_equal(array.to_numpy(), small)
    large = fa.from_coo((rows, columns), np.ones(1000), (n, n))
    large[np.append(rows[:10], 3)] = 0
    large[:, np.arange(n) > columns[20]] = 0
    assert large.nstored == 980


FLAGS = (
    True, False, (np.True_, 0), (0, True), (slice(None), False), (None, True), (0, False, 0),
    (True, [0, 1], slice(2)), ([0, 1], True), (True, True), (..., True), np.array(True),
    (True, slice(None), True), (slice(None), True, [0, 1]), (True, ..., None, [1]),
)  # fmt: skip


@pytest.mark.parametrize("index", FLAGS, ids=str)
def test_bools_are_masks_without_dimensions(index):
    a = np.array([[1.0, 0, 2], [0, 3, 0]])
    A = fa.asarray(a, format=Dense(SparseList(Element(0.0))))
    for x, y in ((A, a), (A.T, a.T), (fa.lazy(A), a), (fa.asarray(a), a)):
        same(x[index], y[index])
    for made in (A.copy(), A.T.copy().T):
        wanted = a.copy()
        made[index] = 7.0
        wanted[index] = 7.0
        same(made, wanted)
    same(A[fa.any(A > 2)], a[np.any(a > 2)])


def test_arrays_of_indices_that_do_not_broadcast_are_no_indices():
    for A in (fa.asarray(np.eye(3), format=Dense(SparseList(Element(0.0)))), fa.asarray(np.eye(3))):
        with pytest.raises(IndexError, match=r"\(3,\), \(2,\) do not broadcast"):
            A[[0, 1, 2], [0, 1]]
        with pytest.raises(IndexError, match=r"\(3,\), \(2,\) do not broadcast"):
            A[[0, 1, 2], [0, 1]] = 1.0
    with pytest.raises(IndexError, match="3 indices for an array of 2"):
        fa.asarray(np.eye(3), format=Dense(SparseList(Element(0.0))))[0, 0, 0, True]
