"""``top_k`` of sparse arrays: equal to that of dense ones, in memory for what is stored."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import finch_array as fa
from finch_array import searching
from finch_core.runtime import worth
from finch_levels import Dense, Element, SparseByteMap, SparseHash, SparseList

LEVELS = (SparseList, Dense, SparseByteMap, SparseHash)


WAYS = {"by fibers": (-1, worth.WORTH), "by insertion": (-1, -1), "dense where small": (64, 0)}


@pytest.fixture(autouse=True, params=WAYS)
def way(request, monkeypatch):
    spare, least = WAYS[request.param]
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
