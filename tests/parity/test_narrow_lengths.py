"""Dimensions that the dtype of a level's indices does not hold are refused, by every way to a
shape, and those that it holds are computed as NumPy does."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from random_narrow import LEAF, check
from random_narrow import LEVELS as EVERY

import finch_array as fa
from finch_core import Tensor, _, kernel
from finch_core.errors import FormatError, IndexOverflow
from finch_core.runtime.convert import from_coordinates
from finch_levels import (
    Dense,
    SparseByteMap,
    SparseHash,
    SparseList,
)

LEVELS = [level for level in EVERY if level is not SparseByteMap]
BACKENDS = ["interpreter", "c"]
TOO_LONG = "a dimension of 300 is too long for indices of int8"


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("above", [(), (Dense,), (SparseHash,)])
def test_every_way_to_a_shape(level, above):
    format = level(LEAF, index=np.int8)
    for outer in above:
        format = outer(format)
    shape = (*(2 for _outer in above), 300)
    short = Tensor(format, (*shape[:-1], 127))
    for make in (
        lambda: Tensor(format, shape),
        lambda: Tensor(format).fill(shape),
        lambda: Tensor(format, np.zeros(shape)),
        lambda: Tensor(Dense(LEAF) if not above else Dense(Dense(LEAF)), shape).to(format),
        lambda: Tensor.from_buffers(format, shape, short.buffers),
        lambda: from_coordinates(format, shape, [[1]] * len(shape), [1.0]),
        lambda: fa.zeros(shape, format=format),
        lambda: fa.full(shape, 0.0, format=format),
        lambda: fa.empty(shape, format=format),
    ):
        with pytest.raises(IndexOverflow, match=TOO_LONG):
            make()


def test_bytes_of_a_shape_that_is_too_long():
    A = Tensor(SparseHash(LEAF, index=np.int8), (127,))
    A.record[0] = 300  # as a version that did not check made it
    with pytest.raises(FormatError, match=TOO_LONG):
        pickle.loads(pickle.dumps(A))


def test_positions_of_a_byte_map():
    """Its indices number the subfibers of all fibers."""
    format = Dense(SparseByteMap(LEAF, index=np.int8))
    A = Tensor(format, (2, 60))
    A[1, 59] = 3.0
    assert A[1, 59] == 3
    with pytest.raises(IndexOverflow, match="128 is too much for an index of int8"):
        Tensor(format, (2, 64))
    with pytest.raises(IndexOverflow):
        Tensor.from_buffers(format, (2, 64), A.buffers)


FORMATS = {level.__name__: level(LEAF, index=np.int8) for level in LEVELS}
FORMAT = LEAF


@kernel
def copied(y, x):
    w = Tensor(FORMAT)
    w[...] = 0
    for i in _:
        w[i] = x[i]
    for i in _:
        y[i] = w[i]


def copied_in_turns(y, x):
    for _k in range(2):
        w = Tensor(FORMAT)
        w[...] = 0
        for i in _:
            w[i] = x[i]
        for i in _:
            y[i] = w[i]


def copied_rows(y, x):
    w = Tensor(Dense(FORMAT))
    w[...] = 0
    for k in range(2):
        for i in _:
            w[k, i] = x[i]
    for i in _:
        y[i] = w[1, i]


def copied_by_range(y, x):
    w = Tensor(FORMAT)
    w[...] = 0
    for i in range(len(x)):
        w[i] = x[i]
    for i in range(len(x)):
        y[i] = w[i]


def copied_if_long(y, x):
    w = Tensor(FORMAT)
    w[...] = 0
    if len(x) > 5:
        w[...] = 0
        for i in _:
            w[i] = x[i]
        for i in _:
            y[i] = w[i]


def copied_and_returned(y, x):
    w = Tensor(FORMAT)
    w[...] = 0
    for i in _:
        w[i] = x[i]
        y[i] = x[i]
    return w


PROGRAMS = [
    copied.__wrapped__, copied_in_turns, copied_rows, copied_by_range, copied_if_long,
    copied_and_returned,
]  # fmt: skip


RUNS = [("interpreter", ()), ("interpreter", ("locals",)), ("c", ())]


@pytest.mark.parametrize(("backend", "disabled"), RUNS)
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("level", ["SparseHash", "SparseList", "RunList", "SparseBand"])
def test_workspaces_without_a_shape(monkeypatch, level, program, disabled, backend):
    monkeypatch.setitem(globals(), "FORMAT", FORMATS[level])
    run = kernel(program, backend=backend, disabled=set(disabled))
    for n, fits in ((126, True), (127, True), (128, False), (300, False)):
        x, y = np.arange(1.0, n + 1), np.zeros(n)
        if fits:
            run(y, x)
            np.testing.assert_array_equal(y, x)
        else:
            with pytest.raises(IndexOverflow, match=f"a dimension of {n} is too long"):
                run(y, x)


def test_the_check_stands_before_loops(monkeypatch):
    monkeypatch.setitem(globals(), "FORMAT", FORMATS["SparseList"])
    text = kernel(copied.__wrapped__).lower(np.zeros(3), np.zeros(3)).as_text("assembly")
    assert [line for line in text.splitlines() if "127" in line] == ["    if y_n0 > 127:"]


@pytest.mark.parametrize("shape", [(300,), "len(x)"])
def test_workspaces_with_a_shape(shape):
    if shape == "len(x)":

        def program(y, x):
            w = Tensor(FORMATS["SparseList"], (len(x),))
            for i in _:
                w[i] = x[i]
            for i in _:
                y[i] = w[i]
    else:

        def program(y, x):
            w = Tensor(SparseList(LEAF, index=np.int8), (300,))
            for i in _:
                w[i] = x[i]
            for i in _:
                y[i] = w[i]

    with pytest.raises(IndexOverflow, match=TOO_LONG):
        kernel(program)(np.zeros(300), np.ones(300))


INT32 = SparseHash(LEAF, index=np.int32)


@kernel
def last_of(s, x):
    w = Tensor(INT32)
    w[...] = 0
    for i in _:
        w[i] = x[i]
    for i in _:
        if w[i] != 0:
            s[()] = i


@pytest.mark.parametrize("n", [2**31, 2**32 + 10])
def test_indices_of_32_bits(n):
    x = fa.from_coo((np.array([3, n - 6]),), np.ones(2), (n,), format=SparseList(LEAF))
    with pytest.raises(IndexOverflow, match=f"a dimension of {n} is too long for indices of int32"):
        last_of(np.zeros((), int), x)
    for level in (SparseList, SparseHash):
        with pytest.raises(IndexOverflow):
            Tensor(level(LEAF, index=np.int32), (n,))
        assert Tensor(level(LEAF, index=np.int32), (2**31 - 1,)).nstored == 0


KEYS = Dense(SparseHash(LEAF))


@kernel
def by_keys(s, A):
    w = Tensor(KEYS)
    w[...] = 0
    for i in _:
        for j in _:
            if A[i, j] != 0:
                w[i, j] += A[i, j]
    for i in _:
        for j in _:
            if A[i, j] == 1:
                s[()] += w[i, j]


@pytest.mark.parametrize("backend", BACKENDS)
def test_keys_of_a_workspace_without_a_shape(backend):
    """Keys of fibers that are too many for 64 bits would be those of others."""
    rows, columns = 2**20, 2**45
    coords = np.array([0, 2**19]), np.array([5, 5])
    values = np.array([1.0, 2.0])
    A = fa.from_coo(coords, values, (rows, columns), format=SparseList(SparseList(LEAF)))
    with pytest.raises(IndexOverflow, match="more keys than a SparseHash can tell apart"):
        kernel(by_keys.__wrapped__, backend=backend)(np.zeros(()), A)


@pytest.mark.parametrize("block", range(4))
def test_random_ways(block):
    for seed in range(12 * block, 12 * block + 12):
        check(seed)
