"""Tensors that are declared in a branch or a loop, and accessed outside of it: by other sizes, in
other modes. Nothing is read or written outside, and results are those of the reference."""

from __future__ import annotations

import numpy as np
import pytest
import random_declarations

from finch_core import (
    DimensionMismatch,
    OutOfBounds,
    Tensor,
    _,
    kernel,
)
from finch_levels import Dense, Element, RunList, Scalar, SparseByteMap, SparseHash, SparseList

E = Element(0.0)
FORMATS = {"dense": Dense(E), "byte map": SparseByteMap(E), "hash": SparseHash(E)}
NESTS = {
    "hash of hashes": SparseHash(SparseHash(E)), "hash of rows": SparseHash(Dense(E)),
    "byte map of hashes": SparseByteMap(SparseHash(E)), "rows of hashes": Dense(SparseHash(E)),
    "rows of byte maps": Dense(SparseByteMap(E)), "dense": Dense(Dense(E)),
}  # fmt: skip
BACKENDS = pytest.mark.parametrize("backend", ["interpreter", "c"])


def branch(u, n, m):
    if m > 5:
        u[...] = 0
    else:
        for i in range(n):
            u[i] += 1.0


def branch_of_two(u, n, m):
    u[...] = 0
    for i in range(2):
        u[i] += 1.0
    if m > 5:
        u[...] = 0
    else:
        for i in range(2, n):
            u[i] += 1.0


def turns_of_none(u, n, m):
    for _z in range(m):
        u[...] = 0
        for i in range(2):
            u[i] += 1.0
    for i in range(n):
        u[i] += 1.0


def sizes(v, x, n, m):
    if m > 1:
        v[...] = 0
        for j in range(2):
            v[j] = 1.0
    else:
        v[...] = 0
        for j in range(n):
            v[j] = 1.0
    for i in _:
        x[i] = v[i]


def turns(v, x, n, m):
    for _z in range(3):
        for i in _:
            x[i] += v[i]
        v[...] = 0
        for i in range(2):
            v[i] += 1.0


def read_of_none(u, x, n, m):
    for _z in range(m):
        u[...] = 0
        for i in range(4):
            u[i] += 1.0
    for i in _:
        x[i] += u[i]


@BACKENDS
@pytest.mark.parametrize("kind", FORMATS)
def test_what_a_declaration_need_not_precede_is_checked(kind, backend):
    """A Dense tensor was written outside of its memory."""
    u = Tensor(FORMATS[kind], (4,))
    with pytest.raises(OutOfBounds, match="not within dimension 0 of u of size 4"):
        kernel(branch, backend=backend)(u, 10, 0)
    np.testing.assert_array_equal(u.to_numpy(), np.zeros(4))
    kernel(branch, backend=backend)(u, 4, 0)
    np.testing.assert_array_equal(u.to_numpy(), np.ones(4))
    with pytest.raises(OutOfBounds, match="not within dimension 0 of u of size 0"):
        kernel(turns_of_none, backend=backend)(Tensor(FORMATS[kind]), 10, 0)


@BACKENDS
@pytest.mark.parametrize("kind", FORMATS)
def test_a_declared_tensor_is_as_large_as_what_may_write_it(kind, backend):
    for m, wanted in ((0, np.ones(10)), (6, np.zeros(10))):
        u = Tensor(FORMATS[kind])
        kernel(branch_of_two, backend=backend)(u, 10, m)
        np.testing.assert_array_equal(u.to_numpy(), wanted)
    u = Tensor(FORMATS[kind])
    kernel(turns_of_none, backend=backend)(u, 10, 1)
    np.testing.assert_array_equal(u.to_numpy(), [2.0] * 2 + [1] * 8)


@BACKENDS
@pytest.mark.parametrize("format", [Dense(E), RunList(E), SparseList(E)], ids=lambda x: x.name)
def test_two_declarations_before_one_loop_have_its_size(format, backend):
    for m in (0, 2):
        v, x = Tensor(format, np.array([9.0, 8, 7, 6])), np.zeros(4)
        kernel(sizes, backend=backend)(v, x, 4, m)
        np.testing.assert_array_equal(x, [1, 1, 0, 0] if m else np.ones(4))


@BACKENDS
def test_the_size_of_the_turn_before(backend):
    v, x = Tensor(Dense(E), np.full(4, 9.0)), np.zeros(4)
    with pytest.raises(DimensionMismatch, match="ends at 4, and dimension 0 of v has size 2"):
        kernel(turns, backend=backend)(v, x, 4, 0)
    with pytest.raises(DimensionMismatch, match="ends at 4, and dimension 0 of u has size 0"):
        kernel(read_of_none, backend=backend)(Tensor(Dense(E)), np.zeros(4), 4, 0)


def sum_behind_a_branch(v, y, n, m):
    if m > 1:
        v[...] = 0
    for j in range(n - 1):
        v[j] += 1
    for j in _:
        y[0] += v[j]


def sum_of_what_a_branch_writes(v, y, n, m):
    if m > 1:
        v[...] = 0
        for j in range(n - 1):
            v[j] += 1
    for j in _:
        y[0] += v[j]


@BACKENDS
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("function", [sum_behind_a_branch, sum_of_what_a_branch_writes])
def test_a_loop_without_a_range_goes_through_all_of_a_dimension(function, kind, backend):
    """It ended where the declaration would have, which was not executed."""
    called = kernel(function, backend=backend)
    with pytest.raises(
        DimensionMismatch, match="over j ends at 4, and dimension 0 of v has size 5"
    ):
        called(Tensor(FORMATS[kind], np.ones(5)), np.zeros(1), 5, 0)
    y = np.zeros(1)
    called(Tensor(FORMATS[kind], np.ones(5)), y, 5, 2)
    assert y[0] == 4


def at_the_index_of_the_loop(w, y, x, n):
    for i in range(n):
        if i > 1:
            w[...] = 0
        w[i] += x[i] + 1
        for j in range(n):
            y[j] += w[j]


@BACKENDS
@pytest.mark.parametrize("kind", FORMATS)
def test_accesses_at_the_index_of_a_loop_that_declares(kind, backend):
    """The tensor keeps the size that it was made with."""
    called = kernel(at_the_index_of_the_loop, backend=backend)
    y, x = np.zeros(4), np.array([1.0, 0, 2, 0])
    called(Tensor(FORMATS[kind], (4,)), y, x, 4)
    np.testing.assert_array_equal(y, [4, 1, 3, 1])
    with pytest.raises((DimensionMismatch, OutOfBounds), match="of w"):
        called(Tensor(FORMATS[kind], (3,)), np.zeros(4), x, 4)
    with pytest.raises(DimensionMismatch, match="no shape"):
        called(Tensor(FORMATS[kind]), np.zeros(4), x, 4)


def other_branch(u, n, m):
    if m > 5:
        u[...] = 0
    else:
        for i in range(n):
            for j in range(n):
                u[j, i] += 1.0


def behind_a_return(u, n, m):
    if m > 5:
        return
    for _z in range(1):
        u[...] = 0
    for i in range(n):
        for j in range(n):
            u[j, i] += 1.0


def declared_behind(u, n, m):
    for i in range(n):
        for j in range(n):
            u[j, i] += 1.0
    if m == 0:
        u[...] = 0


@kernel
def total(s, A):
    s[...] = 0
    for i, j in _:
        s[()] += A[i, j]
    return s


@BACKENDS
@pytest.mark.parametrize("kind", NESTS)
@pytest.mark.parametrize(
    ("function", "wanted"), [(other_branch, 37), (behind_a_return, 36), (declared_behind, 0)]
)
def test_parts_change_the_mode_of_what_one_of_them_declares(function, wanted, kind, backend):
    """Updates were lost, and the buffers invalid."""
    start = np.zeros((6, 6))
    start[2, 3] = 1
    u = Tensor(NESTS[kind], start)
    kernel(function, backend=backend)(u, 6, 0)
    assert total(Scalar(0.0), u).value == wanted
    again = Tensor.from_buffers(u.format, u.shape, {k: b.copy() for k, b in u.buffers.items()})
    np.testing.assert_array_equal(again.to_numpy(), u.to_numpy())


def crossing(u, n, m):
    u[...] = 0
    for i in range(3):
        if m > 2:
            u[i] += 1
            for j in range(n):
                u[j] += 1 + j
        else:
            u[0] += 1


def both_triangles(y, A, x):
    y[...] = 0
    for i in _:
        for j in _:
            if A[i, j] > 1:
                y[i] += A[i, j] * x[j]
            if A[i, j] > 0:
                y[j] += A[i, j] * x[i]


@BACKENDS
@pytest.mark.parametrize("kind", FORMATS)
def test_updates_of_one_tensor_at_several_indices(kind, backend):
    """An element that one update had entered, another one found, and the first left out again."""
    for m in (0, 3):
        u = Tensor(FORMATS[kind])
        kernel(crossing, backend=backend)(u, 5, m)
        wanted = np.array([4.0, 7, 10, 12, 15]) if m else np.array([3.0, 0, 0, 0, 0])
        np.testing.assert_array_equal(u.to_numpy(), wanted)
    rng = np.random.default_rng(0)
    A, x = rng.integers(0, 4, (6, 6)) * (rng.random((6, 6)) < 0.4) * 1.0, np.arange(1.0, 7)
    y = Tensor(FORMATS[kind])
    kernel(both_triangles, backend=backend)(y, Tensor(Dense(SparseList(E)), A), x)
    np.testing.assert_array_equal(y.to_numpy(), np.where(A > 1, A, 0) @ x + A.T @ x)


def test_random_programs(tmp_path):
    """More of them: ``random_declarations.py``."""
    seeds = range(120)
    for seed, function in zip(seeds, random_declarations.functions(seeds, tmp_path), strict=True):
        backends = ("interpreter", "c") if seed < 20 else ("interpreter",)
        assert not random_declarations.check(seed, function, backends)
