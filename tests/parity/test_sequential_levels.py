"""The levels that are written in order: random programs on them, interpreter = C = NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finch_core import Tensor, _, follow, gallop, kernel
from finch_core.errors import FormatError
from finch_core.testing import admit, backend_names
from finch_levels import (
    Dense,
    Element,
    RunList,
    SparseBand,
    SparseBlockList,
    SparseInterval,
    SparseList,
    SparsePinpoint,
    SparseRunList,
)

BACKENDS = backend_names()
LEVELS = [RunList, SparseRunList, SparseInterval, SparsePinpoint, SparseBlockList, SparseBand]
GALLOPING = [RunList, SparseRunList, SparseBlockList]
FILLS = [(0.0, np.float64), (1.5, np.float64), (np.inf, np.float32), (0, np.int32), (False, bool)]


def both(function):
    return {name: kernel(backend=name)(function) for name in BACKENDS}


def _add(out, a, b):
    out[...] = 0
    for i, j in _:
        out[i, j] = a[i, j] + b[i, j]


def _mul(out, a, b):
    out[...] = 0
    for i, j in _:
        out[i, j] = a[i, j] * b[i, j]


def _rows(out, a):
    out[...] = 0
    for i, j in _:
        out[i] += a[i, j]


def _total(out, a):
    out[...] = 0
    for i, j in _:
        out[()] += a[i, j]


def _galloping(out, a, b):
    out[...] = 0
    for i, j in _:
        out[i, j] = a[i, gallop(j)] * b[i, gallop(j)]


def _following(out, a, b):
    out[...] = 0
    for i, j in _:
        out[i, j] = a[i, follow(j)] * b[i, j]


def _part(out, a, low, high):
    out[...] = 0
    for i in _:
        for j in range(low, high):
            out[i] += a[i, j] * (j + 1)


ADD, MUL, ROWS, TOTAL = both(_add), both(_mul), both(_rows), both(_total)
GALLOP, FOLLOW, PART = both(_galloping), both(_following), both(_part)


def spread(shape, fill, dtype, seed):
    """Values in runs, so that there are blocks, runs and gaps to find."""
    rng = np.random.default_rng(seed)
    flat = np.repeat(rng.integers(0, 4, 64), rng.integers(1, 5, 64))[: int(np.prod(shape))]
    array = flat.reshape(shape).astype(dtype)
    array[array == 0] = fill
    return array


def held(format, array):
    array = admit(format, array)
    return Tensor(format, array), array


@pytest.mark.sampled(0.29)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("fill", "dtype"), FILLS)
@pytest.mark.parametrize("nested", ["under Dense", "over Dense", "over SparseList", "in itself"])
def test_round_trips(monkeypatch, level, fill, dtype, nested):
    if (fill, nested) != (0.0, "under Dense"):  # C for some, the interpreter for all
        monkeypatch.setenv("FINCH_BACKEND", "interpreter")
    leaf = Element(fill, dtype)
    inner = {
        "under Dense": lambda: Dense(level(leaf)),
        "over Dense": lambda: level(Dense(leaf)),
        "over SparseList": lambda: level(SparseList(leaf)),
        "in itself": lambda: level(level(leaf)),
    }
    format = inner[nested]()
    for seed, shape in enumerate([(0, 0), (0, 3), (3, 0), (1, 1), (1, 7), (7, 1), (5, 6)]):
        tensor, array = held(format, spread(shape, fill, dtype, seed))
        np.testing.assert_array_equal(tensor.to_numpy(), array)
        again = Tensor.from_buffers(format, shape, tensor.buffers)
        np.testing.assert_array_equal(again.to_numpy(), array)
        for other in (SparseList(SparseList(leaf)), RunList(SparseRunList(leaf))):
            np.testing.assert_array_equal(tensor.to(other).to_numpy(), array)


@pytest.mark.sampled(0.29)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("other", [SparseList, Dense, "itself"])
def test_elementwise(backend, level, other):
    V = Element(0.0)
    a, x = held(Dense(level(V)), spread((5, 9), 0.0, float, 1))
    b, y = held(Dense((level if other == "itself" else other)(V)), spread((5, 9), 0.0, float, 2))
    many = backend == "interpreter"
    outputs = (Dense, SparseList, RunList, SparseRunList) if many else (Dense, SparseList)
    for out in (Dense(inner(V)) for inner in outputs):
        for kernels, expected in ((ADD, x + y), (MUL, x * y)):
            for first, second in ((a, b), (b, a)) if many else ((a, b),):
                found = Tensor(out)
                kernels[backend](found, first, second)
                np.testing.assert_array_equal(found.to_numpy(), expected)


@pytest.mark.sampled(0.29)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("fill", "dtype"), [(0.0, np.float64), (1.5, np.float64), (2, np.int32)])
def test_reductions(backend, level, fill, dtype):
    for outer in (Dense, SparseList, RunList) if backend == "interpreter" else (Dense,):
        a, x = held(outer(level(Element(fill, dtype))), spread((6, 11), fill, dtype, 3))
        rows, total = Tensor(Dense(Element(0.0))), Tensor(Element(0.0))
        ROWS[backend](rows, a)
        TOTAL[backend](total, a)
        np.testing.assert_allclose(rows.to_numpy(), x.sum(axis=1))
        np.testing.assert_allclose(total.to_numpy(), x.sum())


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("level", LEVELS)
def test_protocols_and_parts(backend, level):
    V = Element(0.0)
    a, x = held(Dense(level(V)), spread((5, 12), 0.0, float, 4))
    b, y = held(Dense(SparseList(V)), spread((5, 12), 0.0, float, 5))
    out = Tensor(Dense(SparseList(V)))
    FOLLOW[backend](out, a, b)
    np.testing.assert_array_equal(out.to_numpy(), x * y)
    if level in GALLOPING:
        for first, second in ((a, b), (b, a), (a, a.copy())):
            GALLOP[backend](out, first, second)
            np.testing.assert_array_equal(out.to_numpy(), first.to_numpy() * second.to_numpy())
    for low, high in ((0, 12), (3, 8), (4, 4), (11, 12)):
        sums = Tensor(Dense(V))
        PART[backend](sums, a, low, high)
        np.testing.assert_array_equal(
            sums.to_numpy(), (x[:, low:high] * np.arange(low + 1, high + 1)).sum(axis=1)
        )


@pytest.mark.parametrize("level", [SparseInterval, SparsePinpoint, SparseBand])
def test_reading_one_block_takes_no_while_loop(level):
    def scaled(y, a, x):
        y[...] = 0
        for i, j in _:
            y[i] += a[i, j] * x[j]

    a = Tensor(Dense(level(Element(0.0))), (3, 4))
    text = kernel(scaled).lower(Tensor(Dense(Element(0.0))), a, np.ones(4)).as_text("assembly")
    loops = [
        line.split() for line in text.splitlines() if line.lstrip().startswith(("for", "while"))
    ]
    expected = {("for", "i")} | (set() if level is SparsePinpoint else {("for", "j")})
    assert {(words[0], words[1].partition("_")[0]) for words in loops} == expected


@pytest.mark.parametrize("level", LEVELS)
def test_frozen_levels_do_not_thaw(level):
    @kernel
    def more(out, data):
        for i in _:
            out[i] += data[i]

    with pytest.raises(FormatError, match="cannot be updated again once it is frozen"):
        more(Tensor(level(Element(0.0)), (4,)), np.ones(4))


def test_a_structural_zero_is_not_stored_after_arithmetic():
    @kernel(backend="interpreter")
    def doubled(out, data):
        out[...] = 0
        for i in _:
            out[i] = data[i] * 2

    for level in (SparseList, SparseRunList, SparseBlockList):
        out = Tensor(level(Element(0.0)))
        doubled(out, Tensor(SparseRunList(Element(0.0)), np.array([0.0, 2, 2, 0, 3, 3])))
        assert (out.buffers["1_val"] != 0).all()


@settings(max_examples=60, deadline=None)
@given(
    levels=st.lists(st.sampled_from([*LEVELS, Dense, SparseList]), min_size=1, max_size=3),
    sizes=st.lists(st.integers(0, 4), min_size=3, max_size=3),
    seed=st.integers(0, 1000),
    merge=st.booleans(),
)
def test_any_nesting_comes_back(levels, sizes, seed, merge):
    format = Element(0.0)
    for level in levels:
        format = level(format, merge=merge) if "merge" in dir(level) else level(format)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FINCH_BACKEND", "interpreter")
        tensor, array = held(format, spread(tuple(sizes[: len(levels)]), 0.0, float, seed))
        np.testing.assert_array_equal(tensor.to_numpy(), array)
        again = Tensor.from_buffers(format, array.shape, tensor.buffers)
        np.testing.assert_array_equal(again.to(Dense(format.lvl)).to_numpy(), array)
