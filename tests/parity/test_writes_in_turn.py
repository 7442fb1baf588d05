"""Several loops that write to one sequential tensor, one behind the other: places that are written
out, lists behind lists, blocks beside blocks."""

import numpy as np
import pytest

from finch_core import FormatError, Tensor, kernel
from finch_core.testing import backend_names
from finch_levels import (
    Dense,
    Element,
    RunList,
    SparseBand,
    SparseBlockList,
    SparseHash,
    SparseInterval,
    SparseList,
    SparsePinpoint,
    SparseRunList,
)

BACKENDS = backend_names()
LIST = SparseList(Element(0.0))
CUBES = (
    SparseList(SparseList(LIST)), Dense(Dense(LIST)), Dense(SparseList(LIST)),
    SparseList(Dense(LIST)), Dense(SparseList(Dense(Element(0.0)))), SparseHash(SparseList(LIST)),
)  # fmt: skip


def places(X, c):
    X[...] = 0
    X[0, 1, 2] = c
    X[3, 0, 1] = 1.5
    X[3, 0, 2] = 2.5
    X[3, 1, 0] = c
    X[3, 1, 0] += 1
    X[4, 0, 0] = 4.5
    return X


def joined(y, a, b):
    y[...] = 0
    y[0] = 7
    for i in range(1, 4):
        y[i] = a[i - 1]
    for i in range(3):
        y[i + 4] = b[i]
    for i in range(7, 8):
        y[i] = 8
    return y


def beside(C, A, B):
    C[...] = 0
    for i in range(4):
        for j in range(3):
            C[i, j] = A[i, j]
        for j in range(3, 6):
            C[i, j] = B[i, j - 3]
    return C


def below(C, A, B):
    C[...] = 0
    for i in range(4):
        for j in range(3):
            C[i, j] = A[i, j]
    for i in range(4, 8):
        for j in range(3):
            C[i, j] = B[i - 4, j]
    return C


def corner(C, A, B):
    C[...] = 0
    C[0, 0] = 9
    for i in range(4):
        for j in range(3):
            C[i, j] += A[i, j] * B[i, j]
    return C


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("format", CUBES, ids=lambda f: "-".join(x.name for x in f.levels()))
def test_places_that_are_written_out(format, backend):
    run = kernel(backend=backend)(places)
    found = run(Tensor(format, (5, 2, 3)), 2.0)
    wanted = run.reference(np.zeros((5, 2, 3)), 2.0)
    np.testing.assert_array_equal(found.to_numpy(), wanted)
    again = Tensor.from_buffers(format, found.shape, found.buffers)
    np.testing.assert_array_equal(again.to_numpy(), wanted)


LEVELS = (SparseList, RunList, SparseRunList, SparseBlockList, SparseBand)
PAIRS = [(a, b) for k, a in enumerate(LEVELS) for b in (LEVELS[k - 1], LEVELS[k - 2])]


@pytest.mark.sampled(0.29)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("upper", "lower"), PAIRS, ids=lambda x: x.name)
def test_every_level_goes_on_behind_what_it_stores(upper, lower, backend):
    cube, rows = upper(upper(lower(Element(0.0)))), Dense(lower(Element(0.0)))
    run = kernel(backend=backend)(places)
    wanted = run.reference(np.zeros((5, 2, 3)), 2.0)
    for format in (cube, Dense(upper(lower(Element(0.0)))), Dense(rows)):
        found = run(Tensor(format, (5, 2, 3)), 2.0)
        np.testing.assert_array_equal(found.to_numpy(), wanted)
        again = Tensor.from_buffers(format, found.shape, found.buffers)
        np.testing.assert_array_equal(again.to_numpy(), wanted)
    for seed in range(3):
        a, b = np.random.default_rng(seed).integers(0, 3, (2, 3)).astype(float)
        found = kernel(backend=backend)(joined)(Tensor(lower(Element(0.0)), (8,)), a, b)
        np.testing.assert_array_equal(found.to_numpy(), [7, *a, *b, 8])
        Tensor.from_buffers(found.format, found.shape, found.buffers)
    for function in (beside, below):
        blocks = kernel(backend=backend)(function)
        shape = {"beside": (4, 6), "below": (8, 3)}[function.__name__]
        for format in (rows, upper(lower(Element(0.0)))):
            A, B = np.random.default_rng(5).integers(0, 2, (2, 4, 3)).astype(float)
            A[1] = B[2] = 0
            found = blocks(Tensor(format, shape), *(Tensor(format, x) for x in (A, B)))
            np.testing.assert_array_equal(found.to_numpy(), blocks.reference(np.zeros(shape), A, B))
            Tensor.from_buffers(format, found.shape, found.buffers)


def single(C, a):
    C[...] = 0
    for i in range(2):
        C[i, 1] = a[i]
    for i in range(1, 4):
        C[i, i] += 1
    C[3, 3] += 1
    return C


def one_run(C, a):
    C[...] = 0
    for i in range(2):
        for j in range(1, 3):
            C[i, j] = a[i]
    for i in range(1, 2):
        for j in range(3, 5):
            C[i, j] = a[i]
    for i in range(2, 3):
        C[i, 0] = 5
    C[2, 0] += 1
    return C


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("level", "function"),
    [(SparsePinpoint, single), (SparseInterval, one_run)],
    ids=["index", "run"],
)
def test_single_pieces(level, function, backend):
    run = kernel(backend=backend)(function)
    a = np.array([3.0, 4.0])
    wanted = run.reference(np.zeros((4, 5)), a)
    for format in (Dense(level(Element(0.0))), SparseList(level(Element(0.0)))):
        found = run(Tensor(format, (4, 5)), a)
        rows, columns = found.shape
        np.testing.assert_array_equal(found.to_numpy(), wanted[:rows, :columns])
        assert not wanted[rows:].any()
        assert not wanted[:, columns:].any()
        Tensor.from_buffers(format, found.shape, found.buffers)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("level", [*LEVELS, SparseInterval, SparsePinpoint])
def test_every_level_refuses_what_is_not_behind(level, backend):
    @kernel(backend=backend)
    def back(y, a, n):
        y[...] = 0
        for k in range(1, 2):
            for i in range(2, 3):
                y[k, i] = a[i]
        for i in range(n, n + 1):
            y[i, 0] = 1
        return y

    a = np.arange(4.0)
    y = Tensor(Dense(level(Element(0.0))), (4, 4))
    assert back(y, a, 2).to_numpy()[2, 0] == 1
    for n in (0, 1):
        with pytest.raises(FormatError):
            back(y, a, n)
        assert not y.to_numpy().any()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", range(3))
def test_lists_behind_each_other(seed, backend):
    run = kernel(backend=backend)(joined)
    a, b = np.random.default_rng(seed).integers(0, 2, (2, 3)).astype(float)
    found = run(Tensor(LIST, (8,)), Tensor(LIST, a), Tensor(LIST, b))
    np.testing.assert_array_equal(found.to_numpy(), [7, *a, *b, 8])
    assert found.nstored == 2 + np.count_nonzero(a) + np.count_nonzero(b)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("format", [Dense(LIST), SparseList(LIST)], ids=["csr", "dcsr"])
@pytest.mark.parametrize("function", [beside, below, corner])
def test_blocks(function, format, backend):
    run = kernel(backend=backend)(function)
    shape = {"beside": (4, 6), "below": (8, 3), "corner": (4, 3)}[function.__name__]
    for seed in range(4):
        A, B = np.random.default_rng(seed).integers(0, 2, (2, 4, 3)).astype(float)
        A[1] = B[2] = 0
        found = run(Tensor(format, shape), *(Tensor(format, x) for x in (A, B)))
        wanted = run.reference(np.zeros(shape), A, B)
        np.testing.assert_array_equal(found.to_numpy(), wanted)
        assert found.nstored == np.count_nonzero(wanted)
        found.copy()


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_turns_out_not_to_come_behind_is_refused_then(backend):
    """The tensor is left empty and valid."""

    @kernel(backend=backend)
    def two(y, a, n):
        y[...] = 0
        for i in range(4):
            y[i] = a[i]
        for i in range(n, n + 2):
            y[i] = 1
        return y

    y, a = Tensor(LIST, (6,)), Tensor(LIST, np.array([1.0, 0, 2, 0]))
    assert two(y, a, 4).to_numpy().tolist() == [1, 0, 2, 0, 1, 1]
    assert two(y, a, 3).to_numpy().tolist() == [1, 0, 2, 1, 1]
    with pytest.raises(FormatError, match="index 1 of y is not after all that its SparseList"):
        two(y, a, 1)
    assert y.nstored == 0
    assert two(y, a, 4).nstored == 4
