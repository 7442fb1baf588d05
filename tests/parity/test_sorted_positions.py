"""Byte maps sort positions by a scan, a bit set or comparisons, in each dtype of positions."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from finch_core import Tensor, kernel
from finch_core.runtime.validation import validate
from finch_levels import Dense, Element, SparseByteMap

BACKENDS = ["interpreter", None]
DTYPES = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


def scatter(y, index, value):
    for k in range(len(index)):
        y[index[k]] = value[k]


def scatter_rows(y, row, index, value):
    for k in range(len(index)):
        y[row[k], index[k]] = value[k]


def scatter_anew(y, index, value):
    y[...] = 0
    for k in range(len(index)):
        y[index[k]] = value[k]


def check(y, known):
    """``y`` is valid, and lists the places of ``known``."""
    validate(y)
    assert np.array_equal(y.to_numpy(), known)
    assert np.array_equal(
        next(y.buffers[b] for b in y.buffers if "pos" in b), np.flatnonzero(known)
    )


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_positions_are_sorted_in_every_dtype(dtype, backend):
    run = kernel(backend=backend)(scatter)
    rng = np.random.default_rng(5)
    most = min(int(np.iinfo(dtype).max), 70_000)
    for n in sorted({1, 2, 8, 9, 10, 17, 63, 64, 65, 100, 127, min(4097, most), most}):
        for count in sorted({1, 2, n // 65 or 1, n // 9 or 1, n // 7 or 1, n}):
            if count > n or (backend and count > 500):
                continue
            index = rng.permutation(n)[:count]
            value = rng.random(count) + 1
            known = np.zeros(n)
            known[index] = value
            y = Tensor(SparseByteMap(Element(0.0), index=dtype), (n,))
            run(y, index, value)
            check(y, known)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shape", [(1, 200), (7, 1), (3, 1000), (40, 65), (0, 5), (5, 0)])
def test_positions_of_several_fibers(shape, backend):
    run = kernel(backend=backend)(scatter_rows)
    rng = np.random.default_rng(6)
    for share in (0.0, 0.02, 0.1, 0.5, 1.0):
        known = np.where(rng.random(shape) < share, rng.random(shape) + 1, 0)
        row, column = np.nonzero(known)
        order = rng.permutation(len(row))
        row, column = row[order], column[order]
        y = Tensor(Dense(SparseByteMap(Element(0.0))), shape)
        run(y, row, column, known[row, column])
        check(y, known)


@pytest.mark.parametrize("backend", BACKENDS)
def test_positions_that_were_there_stay_in_order(backend):
    """An updated tensor has its old positions, in order, and new ones behind them."""
    run = kernel(backend=backend)(scatter)
    rng = np.random.default_rng(7)
    known = np.zeros(900)
    y = Tensor(SparseByteMap(Element(0.0)), (900,))
    for count in (3, 0, 40, 1, 300, 900):
        index = rng.permutation(900)[:count]
        known[index] = value = rng.random(count) + 1
        run(y, index, value)
        check(y, known)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("anew", [False, True])
@pytest.mark.parametrize(
    "copied",
    [Tensor.copy, copy.deepcopy, lambda y: pickle.loads(pickle.dumps(y)), lambda y: y],
    ids=["copy", "deepcopy", "pickle", "itself"],
)
def test_copies_have_no_room_behind_their_positions(copied, anew, backend):
    first, run = (
        kernel(backend=backend)(scatter),
        kernel(backend=backend)(scatter_anew if anew else scatter),
    )
    rng = np.random.default_rng(8)
    for n, counts in ((1000, (40, 30)), (300, (18, 17)), (200, (20, 20)), (100, (40, 39))):
        y, known = Tensor(SparseByteMap(Element(0.0)), (n,)), np.zeros(n)
        for step, count in enumerate(counts):
            index = rng.permutation(n)[:count]
            known[...] = 0 if step and anew else known
            known[index] = value = rng.random(count) + 1
            (run if step else first)(y, index, value)
            check(y, known)
            y = copied(y)
