"""Arrays in runs, bands and blocks are joined, moved, padded and cut as they are stored."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from array_support import LEVELS, MATRICES, data, fa, held, same, tensor

from finch_array import assignment, joining, run, taking, written_plans
from finch_array.joining import has_structure
from finch_array.operands import is_dense, stored
from finch_core import Tensor
from finch_core.runtime.validation import validate
from finch_core.testing.formats import admit
from finch_levels import (
    Dense,
    Element,
    RunList,
    SparseBand,
    SparseBlockList,
    SparseByteMap,
    SparseHash,
    SparseList,
    SparseRunList,
)

ELEMENT = Element(0.0)
ROWS = np.repeat([0.0, 2.0, 0.0, 3.0], 3) * np.array([[1.0], [0.0], [1.0], [2.0], [2.0]])
BANDS = np.triu(np.tril(np.arange(1.0, 61).reshape(5, 12), 1), -1)

KEPT = {
    "runs": (Dense(RunList(ELEMENT)), ROWS), "runs of runs": (RunList(RunList(ELEMENT)), ROWS),
    "gapped runs": (Dense(SparseRunList(ELEMENT)), ROWS),
    "blocks": (Dense(SparseBlockList(ELEMENT)), ROWS),
    "bands": (Dense(SparseBand(ELEMENT)), BANDS),
    "dense blocks": (SparseList(Dense(ELEMENT)), ROWS),
}  # fmt: skip


def levels(array):
    return [type(level) for level in array.format.levels()[:-1]]


@pytest.mark.parametrize("kind", KEPT)
def test_levels_are_kept(kind):
    format, a = KEPT[kind]
    A = Tensor(format, a)
    own, between = levels(A), levels(A)
    if kind == "bands":  # two of them are no band
        between = [Dense, SparseBlockList]
    for found, wanted, kept in (
        (fa.concat([A, A]), np.concatenate([a, a]), own),
        (fa.concat([A, A, A], axis=1), np.concatenate([a, a, a], 1), between),
        (fa.stack([A, A]), np.stack([a, a]), [Dense, *own]),
        (fa.expand_dims(A, axis=1), a[:, None], [own[0], Dense, own[1]]),
        (fa.squeeze(A[2:3], axis=0), a[2], own[1:]),
        (fa.roll(A, 2, axis=0), np.roll(a, 2, 0), own),
        (np.pad(A, 1), np.pad(a, 1), own),
        (fa.tile(A, (3, 1)), np.tile(a, (3, 1)), own),
        (A[np.array([3, 1, 1])], a[[3, 1, 1]], own),
        (A[1:, np.array([5, 3, 3])], a[1:, [5, 3, 3]], between),
        (fa.repeat(A, 2, axis=0), np.repeat(a, 2, 0), own),
    ):
        same(found, wanted)
        assert levels(found) == kept


def test_elements_are_joined_by_their_coordinates():
    for format in (Dense(SparseList(ELEMENT)), Dense(SparseHash(ELEMENT))):
        assert not has_structure(Tensor(format, ROWS))
        found = fa.concat([Tensor(format, ROWS), Tensor(format, ROWS)])
        assert levels(found) == [Dense, SparseList]


@pytest.mark.parametrize("level", [SparseList, SparseByteMap, SparseBand, SparseRunList])
def test_gaps_of_another_fill_are_runs(level):
    a = BANDS if level is SparseBand else ROWS
    A, B = Tensor(Dense(level(ELEMENT)), a), fa.zeros((10, 12), format=Dense(level(ELEMENT)))
    found = fa.concat([B, A + 1])
    same(found, np.concatenate([np.zeros((10, 12)), a + 1]))
    assert levels(found) == [Dense, SparseRunList]
    assert fa.concat([A + 1, B]).fill_value == 1
    padded = np.pad(A, 2, constant_values=7)
    same(padded, np.pad(a, 2, constant_values=7))
    assert levels(padded) == [Dense, SparseRunList]


def test_large_runs_take_little_memory():
    script = """
        import resource
        import numpy as np
        import finch_array as fa
        from finch_levels import Dense, Element, RunList

        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
        n = 40000  # elements of 12 GiB, runs of 2 MiB
        A = fa.zeros((n, n), format=Dense(RunList(Element(0.0))))
        A[5:-7, 20:30] = 1.0
        A[A > 0.5] = 2.0
        A[3, 4] = 1.0
        total = 2.0 * (n - 12) * 10 + 1
        assert float(fa.sum(A)) == total
        B = fa.concat([A, A], axis=1)
        assert float(fa.sum(B)) == 2 * total
        for found in (fa.roll(B, 3, axis=1), np.pad(B, 1), fa.stack([A, A]), fa.tile(A, (2, 1))):
            assert float(fa.sum(found)) == 2 * total
        assert float(fa.linalg.trace(A)) == 20.0
        assert float(fa.sum(A[np.array([6, 7])])) == 40.0
        assert float(fa.sum(fa.tril(A))) < total
        assert fa.expand_dims(A, axis=2).shape == (n, n, 1)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True)


def test_results_have_memory_of_their_own():
    A = Tensor(SparseRunList(ELEMENT), ROWS[0])
    same_length = (fa.roll(A, 0), fa.roll(A, 12), np.pad(A, 0), fa.concat([A]), fa.tile(A, 1))
    for found in (*same_length, fa.repeat(A, 1), fa.expand_dims(A, axis=0)):
        assert not any(np.shares_memory(x, y) for x in found.arrays for y in A.arrays)


def test_lazy_arrays(monkeypatch):
    monkeypatch.setattr(assignment, "LARGE", 0)
    A, a = Tensor(Dense(RunList(ELEMENT)), ROWS), ROWS.copy()
    L = fa.lazy(A.copy())
    A[1:3], a[1:3] = L[:2] * 2, ROWS[:2] * 2
    A[L > 2], a[ROWS > 2] = 5.0, 5.0
    same(A, a)
    same(fa.concat([L, A]), np.concatenate([ROWS, a]))
    same(L[np.array([1, 0])], ROWS[[1, 0]])


def test_deep_levels_are_joined_by_coordinates_where_these_are_few():
    deep = SparseList(SparseList(SparseRunList(ELEMENT)))
    A = Tensor(deep, np.ones((2, 3, 4)))
    assert has_structure(A)
    assert not joining.moves_in_pieces(A)
    same(fa.tile(A, (0, 2, 1)), np.tile(np.ones((2, 3, 4)), (0, 2, 1)))
    assert joining.moves_in_pieces(fa.zeros((2, 3, 10**6), format=deep))


# -- random ones beside NumPy's ---------------------------------------------------------------


def right(found, wanted):
    """A result is NumPy's, and what it stores is valid."""
    same(found, wanted)
    inner = stored(found).source
    if isinstance(inner, Tensor):
        validate(inner)


def drawn(rng, shape):
    """An array in a random format, perhaps stored in another order, beside NumPy's."""
    order = rng.permutation(len(shape)) if rng.random() < 0.3 else np.arange(len(shape))
    dtype = rng.choice([np.float64, np.int32, np.bool_])
    fill = dtype(rng.choice([0, 0, 0, 1]))
    a = rng.integers(0, 3, shape).astype(dtype)
    a = np.where(rng.random(shape) < 0.6, fill, a)
    if rng.random() < 0.5 and shape[-1]:
        a = np.repeat(a, 3, -1)[..., : shape[-1]]
    stored = np.transpose(a, order)
    format = Element(fill)
    for name in rng.choice(list(LEVELS), len(shape)):
        format = LEVELS[name](format)
    stored = admit(format, stored)
    found = fa.permute_dims(Tensor(format, stored), tuple(np.argsort(order).tolist()))
    return found, np.transpose(stored, np.argsort(order))


def checked(rng, A, a):
    """One random function of an array, or of two, is NumPy's."""
    axis = int(rng.integers(a.ndim))
    n = a.shape[axis]
    B, b = drawn(rng, (*a.shape[:axis], int(rng.integers(4)), *a.shape[axis + 1 :]))
    picks = rng.integers(-n, n, int(rng.integers(5))) if n else np.zeros(0, int)
    index = (*[slice(None)] * axis, picks)
    match rng.choice(["concat", "stack", "roll", "pad", "tile", "expand", "take", "repeat", "set"]):
        case "concat":
            right(fa.concat([A, B, A], axis=axis), np.concatenate([a, b, a], axis))
        case "stack":
            right(fa.stack([A, A], axis=axis), np.stack([a, a], axis))
        case "roll":
            by = int(rng.integers(-5, 5))
            right(fa.roll(A, by, axis=axis), np.roll(a, by, axis))
        case "pad":
            widths, value = rng.integers(0, 3, (a.ndim, 2)).tolist(), int(rng.integers(2))
            right(
                np.pad(A, widths, constant_values=value), np.pad(a, widths, constant_values=value)
            )
        case "tile":
            times = tuple(rng.integers(1, 4, a.ndim).tolist())
            right(fa.tile(A, times), np.tile(a, times))
        case "expand":
            right(fa.expand_dims(A, axis=axis), np.expand_dims(a, axis))
            right(fa.squeeze(fa.expand_dims(A, axis=axis), axis=axis), a)
        case "take":
            right(A[index], a[index])
        case "repeat":
            counts = rng.integers(0, 3, n) if rng.random() < 0.5 else 2
            right(fa.repeat(A, counts, axis=axis), np.repeat(a, counts, axis))
        case "set":
            low, high = sorted(rng.integers(0, n + 1, 2).tolist())
            part = (*[slice(None)] * axis, slice(low, high))
            old = A.copy() if isinstance(A, Tensor) else Tensor(A.tensor.format, A)
            was = a.copy()
            old[part] = was[part] = a.dtype.type(1)
            right(old, was)
    if a.ndim >= 2:
        k = int(rng.integers(-4, 5))
        right(fa.linalg.diagonal(A, offset=np.int64(k)), np.diagonal(a, k, -2, -1))
        right(fa.tril(A, k=k), np.tril(a, k))


PLANS = {
    written_plans: ("_plans", "_calls", "_known"),
    taking: ("_plans",),
    run: ("_plans", "_quick"),
}
SHAPES = [(5,), (4, 6), (3, 1), (0, 4), (4, 0), (1, 1), (2, 3, 4)]


@pytest.mark.parametrize("seed", range(60))
def test_random_arrays_on_the_interpreter(seed, monkeypatch):
    monkeypatch.setenv("FINCH_BACKEND", "interpreter")
    for module, tables in PLANS.items():  # those made before may have been compiled in C
        for table in tables:
            monkeypatch.setattr(module, table, {})
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(assignment, "LARGE", 0)
    if seed % 2:  # as if they were so large that kernels are worth compiling for any levels
        monkeypatch.setattr(joining, "LARGE", -1)
    if seed % 3:  # and for fills that differ
        monkeypatch.setattr(joining, "WHOLE", -1)
    A, a = drawn(rng, SHAPES[seed % len(SHAPES)])
    checked(rng, A, a)


OTHER_FILLS = {
    "stack": lambda A, B: fa.stack([A, B], axis=1),
    "rows": lambda A, B: fa.concat([A, B, A]),
    "columns": lambda A, B: fa.concat([B, A], axis=1),
    "turned": lambda A, B: fa.concat([A.T, B.T], axis=1),
    "pad": lambda A, B: np.pad(A, ((1, 0), (0, 2)), constant_values=5.0),
}


@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("join", OTHER_FILLS)
def test_few_elements_of_another_fill_are_joined_as_many_are(join, kind, monkeypatch):
    """In NumPy, which needs no kernel, to the same values in the same format."""
    monkeypatch.setenv("FINCH_BACKEND", "interpreter")
    for module, tables in PLANS.items():
        for table in tables:
            monkeypatch.setattr(module, table, {})
    a, b = (held(data((3, 4), fill=f, seed=f), MATRICES[kind]) for f in (0, 3))
    A, B = tensor(a, MATRICES[kind]), tensor(b, MATRICES[kind], 3)
    few = OTHER_FILLS[join](A, B)
    monkeypatch.setattr(joining, "WHOLE", -1)
    many = OTHER_FILLS[join](A, B)
    same(few, OTHER_FILLS[join](a, b))
    same(many, few.to_numpy())
    if not is_dense(A):
        assert stored(few).source.format == stored(many).source.format
        assert stored(few).axes == stored(many).axes


@pytest.mark.parametrize("axis", [0, 1])
def test_dense_arrays_beside_runs(axis):
    a, d = np.tile(ROWS, (1, 1))[:, :5], np.arange(25.0).reshape(5, 5)
    A, D = Tensor(Dense(RunList(ELEMENT)), a), fa.asarray(d)
    for arrays, wanted in (
        ([D, D, D, D, A], [d, d, d, d, a]), ([A, D], [a, d]), ([A, D.T], [a, d.T]),
        ([D, A, D.T], [d, a, d.T]), ([A.T, D, D.T], [a.T, d, d.T]),
    ):  # fmt: skip
        same(fa.concat(arrays, axis=axis), np.concatenate(wanted, axis))


def test_runs_of_many_elements_are_joined_without_a_kernel_at_first(monkeypatch):
    monkeypatch.setattr(joining, "result_of", None)  # which would make one
    x = np.where(np.random.default_rng(0).random((30, 30, 30)) < 0.01, 1.0, 0.0)
    A = fa.asarray(x, format=SparseList(SparseList(SparseList(Element(0.0)))))
    for found, wanted in (
        (np.pad(A, 1, constant_values=2.0), np.pad(x, 1, constant_values=2.0)),
        (fa.stack([A, A + 3.0]), np.stack([x, x + 3.0])),
        (fa.concat([A + 3.0, A], axis=2), np.concatenate([x + 3.0, x], axis=2)),
    ):
        np.testing.assert_array_equal(found.to_numpy(), wanted, strict=True)
