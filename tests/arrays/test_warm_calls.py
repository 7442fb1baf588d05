"""What is remembered of calls: they see changed values, shapes, dtypes, fills and options."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from array_support import MATRICES, data, fa, held, same, tensor

from finch_array import sorted_coordinates
from finch_core import DimensionMismatch
from finch_core.errors import OutOfBounds
from finch_core.interface import signatures

KINDS = ("rows", "lists", "runs", "hashes", "dense")

CALLS = {
    "rows": (lambda A: A[np.array([2, 0, -1, 2])], lambda a: a[[2, 0, -1, 2]]),
    "columns": (lambda A: A[:, np.array([1, 1, 0])], lambda a: a[:, [1, 1, 0]]),
    "points": (lambda A: A[np.array([1, 2]), np.array([0, 2])], lambda a: a[[1, 2], [0, 2]]),
    "new": (lambda A: A[None, np.array([2, 0])], lambda a: a[None, [2, 0]]),
    "back": (lambda A: A[::-2, 1:], lambda a: a[::-2, 1:]),
    "mask": (lambda A: A[A > 1], lambda a: a[a > 1]),
    "stack": (lambda A: fa.stack([A, A], axis=1), lambda a: np.stack([a, a], 1)),
    "concat": (lambda A: fa.concat([A, A], axis=1), lambda a: np.concatenate([a, a], 1)),
    "tile": (lambda A: fa.tile(A, (2, 3)), lambda a: np.tile(a, (2, 3))),
    "repeat": (lambda A: fa.repeat(A, 2, axis=1), lambda a: np.repeat(a, 2, 1)),
    "roll": (lambda A: fa.roll(A, 4), lambda a: np.roll(a, 4)),
    "diff": (lambda A: fa.diff(A, axis=0), lambda a: np.diff(a, axis=0)),
    "cumsum": (lambda A: fa.cumulative_sum(A, axis=0), lambda a: np.cumsum(a, axis=0)),
    "sort": (lambda A: fa.sort(A, axis=0), lambda a: np.sort(a, axis=0)),
    "argmax": (lambda A: fa.argmax(A), lambda a: np.argmax(a)),
    "argmin": (lambda A: fa.argmin(A, axis=0), lambda a: np.argmin(a, axis=0)),
    "clip": (lambda A: fa.clip(A, 1, 3), lambda a: np.clip(a, 1, 3)),
    "diagonal": (lambda A: fa.linalg.diagonal(A, offset=-1), lambda a: np.diagonal(a, -1)),
    "kron": (lambda A: fa.kron(A, A), lambda a: np.kron(a, a)),
    "isin": (lambda A: fa.isin(A, np.array([0, 3])), lambda a: np.isin(a, [0, 3])),
    "einsum": (lambda A: fa.einsum("C[j] += A[i,j]", A=A), lambda a: a.sum(axis=0)),
    "broadcast": (lambda A: fa.broadcast_to(A, (2, *A.shape)), lambda a: np.stack([a, a])),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CALLS)
def test_later_calls_see_what_has_changed(kind, name):
    call, wanted = CALLS[name]
    levels = MATRICES[kind]
    a = held(data((4, 5), seed=1), levels)
    A = tensor(a, levels)
    for _ in range(2):
        same(call(A), wanted(a))
    A[1, 2] = a[1, 2] = 3  # written to
    A[3:] = a[3:] = 0
    same(call(A), wanted(a))
    same(call(A.T), wanted(a.T))
    for b, fill in (
        (data((4, 5), seed=2), 0), (data((3, 7), seed=3), 0), (data((4, 5), np.int64), 0),
        (data((4, 5), fill=2), 2),
    ):  # fmt: skip
        b = held(b, levels, fill)
        same(call(tensor(b, levels, fill)), wanted(b))


def test_operands_are_not_written():
    a = data((4, 5), seed=1)
    for kind in KINDS:
        own = held(a, MATRICES[kind])
        A = tensor(own, MATRICES[kind])
        for call, _ in CALLS.values():
            call(A)
        fa.linalg.vector_norm(A, axis=())
        fa.linalg.matrix_norm(A)
        same(A, own)


def test_results_are_arrays_of_their_own():
    A = tensor(data((4, 5), seed=1), MATRICES["rows"])
    order = np.array([3, 2, 1, 0])
    first = A[order]
    kept = first.to_numpy().copy()
    order[:] = 0
    A[...] = 9
    same(first, kept)


@pytest.mark.parametrize("bounds", [(-1, 2), (0.5, 1.5), (np.nan, 1.0), (-np.inf, 0.0), (3, 1)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8])
def test_clips_of_other_bounds(bounds, dtype):
    a = data((4, 5), dtype, seed=1)
    A = tensor(a, MATRICES["rows"])
    whole = all(isinstance(b, int) for b in bounds)
    wanted = np.minimum(np.maximum(a, bounds[0]), bounds[1])
    if dtype is not np.int8 or whole:
        same(fa.clip(A, *bounds), wanted)
        assert fa.clip(A, *bounds).fill_value == wanted.dtype.type(
            np.minimum(np.maximum(dtype(0), bounds[0]), bounds[1])
        ) or np.isnan(bounds[0])
    if dtype is np.int8:
        with pytest.raises(OverflowError):
            fa.clip(A, 300, 400)


def test_norms_of_other_fills():
    for fill in (0, 2, np.nan):
        a = data((4, 5), fill=fill, seed=1)
        A = tensor(a, MATRICES["rows"], fill)
        for axis in (None, 0, 1):
            same(fa.linalg.vector_norm(A, axis=axis), np.linalg.vector_norm(a, axis=axis))
    B = tensor(data((4, 5), complex, seed=1) * (1 + 1j), MATRICES["rows"])
    same(fa.linalg.matrix_norm(B), np.linalg.norm(B.to_numpy()))


def test_statements_of_other_functions():
    A = tensor(data((4, 5), seed=1), MATRICES["rows"])
    for f, wanted in ((np.sqrt, np.sqrt), (np.negative, np.negative)):
        for _ in range(2):
            same(fa.einsum("C[i,j] = f(A[i,j])", A=A, f=f), wanted(A.to_numpy()))
    for _ in range(2):
        with pytest.raises(TypeError, match="does not read B"):
            fa.einsum("C[i] += A[i,j]", A=A, B=A)
        with pytest.raises(DimensionMismatch, match="3 dimensions"):
            fa.einsum("C[i] += A[i,j]", A=A[None])


@pytest.mark.parametrize("count", [20, 2 * sorted_coordinates.FEW])
@pytest.mark.parametrize("fill", [0, 2, np.nan])
def test_few_and_many_are_sorted_alike(count, fill):
    rng = np.random.default_rng(0)
    a = np.full((9, count), float(fill))
    there = rng.random(a.shape) < 0.4
    a[there] = rng.choice([-1.0, 0.5, np.nan, np.inf, 3.0], there.sum())
    A = tensor(a, MATRICES["rows"], fill)
    for axis in (0, 1):
        wanted = np.sort(a, axis=axis)
        same(fa.sort(A, axis=axis), wanted)
        same(fa.sort(A, axis=axis, descending=True), np.flip(wanted, axis))
        same(fa.argmax(A, axis=axis), np.argmax(a, axis=axis))
    same(fa.argmax(A), np.argmax(a))
    same(fa.argmin(A.T), np.argmin(a.T))
    same(fa.isin(A, np.array([0.5, 2.0, np.nan])), np.isin(a, [0.5, 2.0]))
    c = np.where(rng.random(a.shape) < 0.4, rng.integers(-3, 3, a.shape) * (1 - 1j), 0)
    C = tensor(c, MATRICES["rows"])
    same(fa.sort(C, axis=1), np.sort(c, axis=1))
    same(fa.sort(C, axis=0, descending=True), np.flip(np.sort(c, axis=0), 0))


def test_the_first_extreme_may_be_a_fill():
    for values in ([0, 0, -1], [-1, 0, -2], [-1, -2, -3], [-1, -2, 0], [0, 0, 0], [0, 4, 4]):
        a = np.array([values], float)
        A = tensor(a, MATRICES["lists"])
        same(fa.argmax(A), np.argmax(a))
        same(fa.argmin(A), np.argmin(a))


@pytest.mark.parametrize("bad", [np.array([0, 4]), np.array([-5]), [0, 4], np.array([[1], [9]])])
def test_indices_out_of_bounds(bad):
    A = tensor(data((4, 5), seed=1), MATRICES["rows"])
    for _ in range(2):
        with pytest.raises(OutOfBounds, match="of size 4"):
            A[bad]


def test_narrow_and_foreign_indices():
    a = data((4, 5), seed=1)
    A = fa.asarray(sp.csr_array(a))
    for kind in (np.int8, np.uint8, np.int32, np.uint64):
        same(A[np.array([3, 0, 3], kind)], a[[3, 0, 3]])
    same(A[fa.asarray([1, 2])], a[[1, 2]])
    same(fa.take(A, fa.asarray([1, 2]), axis=1), a[:, [1, 2]])
    same(A[np.array(2)], a[2])
    same(A[np.zeros((0, 2), int)], a[np.zeros((0, 2), int)])
    same(A[:, np.array([True, False, True, False, False])], a[:, [0, 2]])


def test_signatures_of_wrappers_are_kept_for_a_while():
    A = tensor(data((4, 5), fill=0.321, seed=1), MATRICES["rows"], 0.321)
    first = A.T.signature
    assert A.T.signature is first
    for k in range(100):
        assert tensor(data((2, 2), fill=k), MATRICES["rows"], k).T.shape == (2, 2)
    assert len(signatures._recent) <= 64
