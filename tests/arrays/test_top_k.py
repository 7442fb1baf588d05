"""``top_k`` of sparse arrays: equal to that of dense ones, in memory for what is stored."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import finch_array as fa
from finch_array import fibers, searching
from finch_core.runtime import worth
from finch_levels import Dense, Element, SparseByteMap, SparseHash, SparseList

LEVELS = (SparseList, Dense, SparseByteMap, SparseHash)


WAYS = {
    "by fibers": (-1, worth.WORTH, 10**9), "by insertion": (-1, -1, 10**9),
    "dense where small": (64, 0, 10**9), "sparse": (-1, worth.WORTH, -1),
}  # fmt: skip


@pytest.fixture(autouse=True, params=WAYS)
def way(request, monkeypatch):
    spare, least, most_dense = WAYS[request.param]
    monkeypatch.setattr(fibers, "DENSE_LEAST", most_dense)
    monkeypatch.setattr(fibers, "DENSE_RATIO", 0)
    monkeypatch.setattr(searching, "SPARE", spare)
    monkeypatch.setattr(worth, "WORTH", least)


@pytest.mark.sampled(0.5)
@pytest.mark.parametrize("dtype", [np.float64, np.int8, np.uint8, np.bool_])
@pytest.mark.parametrize("fill", [0, 1])
@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_what_is_largest_and_smallest(dtype, fill, ndim):
    generator = np.random.default_rng([ndim, fill])
    for trial in range(12):
        shape = tuple(generator.integers(0 if trial == 0 else 1, 6, ndim))
        plain = generator.integers(0, 4, shape).astype(dtype)
        plain[generator.random(shape) < 0.6] = fill
        if dtype is np.float64:
            plain[generator.random(shape) < 0.1] = np.nan
        format = Element(dtype(fill))
        for level in generator.choice(len(LEVELS), ndim):
            format = LEVELS[level](format)
        array, axis = fa.asarray(plain, format=format), int(generator.integers(-ndim, ndim))
        k = int(generator.integers(0, shape[axis] + 1))
        for mode in ("largest", "smallest"):
            expected = fa.top_k(fa.asarray(plain), k, axis=axis, mode=mode)
            for mine, theirs in zip(
                fa.top_k(array, k, axis=axis, mode=mode), expected, strict=True
            ):
                assert mine.dtype == theirs.dtype
                np.testing.assert_array_equal(mine.to_numpy(), theirs.to_numpy())


def test_the_memory_is_that_of_what_is_stored():
    array = fa.random((5000, 5000), 1e-4, rng=0)
    fa.top_k(array, 3)
    tracemalloc.start()
    values, places = fa.top_k(array, 3)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert values.shape == places.shape == (5000, 3)
    assert most < 5e6  # a dense array of indices has 200 MB


@pytest.mark.parametrize("axis", [0, 1])
def test_few_of_many_fibers(monkeypatch, axis):
    """Fibers that store nothing take neither time nor memory, also where no array has them all."""
    monkeypatch.setattr(fibers, "DENSE_RATIO", 4)
    n = 10**11
    places = [3, 3, n - 1], [5, 0, 1]
    array = fa.from_coo(places[:: 1 if axis else -1], [1.0, -2.0, 3.0], (n, n))
    top, at = fa.top_k(array, 2, axis=axis)
    low, low_at = fa.top_k(array, 2, axis=axis, mode="smallest")
    assert max(x.nbytes for x in (top, at, low, low_at)) < 10**4
    rows = [0, 3, 4, n - 1]
    take = (lambda x, r: (x[r, 0], x[r, 1])) if axis else (lambda x, r: (x[0, r], x[1, r]))
    assert [take(top, r) for r in rows] == [(0, 0), (1, 0), (0, 0), (3, 0)]
    assert [take(at, r) for r in rows] == [(0, 1), (5, 1), (0, 1), (1, 0)]
    assert [take(low, r) for r in rows] == [(0, 0), (-2, 0), (0, 0), (0, 0)]
    assert [take(low_at, r) for r in rows] == [(0, 1), (0, 1), (0, 1), (0, 2)]
    assert at.dtype == np.int64
