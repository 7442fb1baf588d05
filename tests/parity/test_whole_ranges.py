"""Outputs that take whole ranges: where each index of a range is written, room is made once and
the elements are stored without tests; what is stored is that of writes one by one."""

from __future__ import annotations

import numpy as np
import pytest

from finch_core import Tensor, _, coalesce, kernel
from finch_core.testing import backend_names
from finch_levels import (
    Dense,
    Element,
    Pattern,
    SparseBand,
    SparseBlockList,
    SparseList,
)

BACKENDS = backend_names()
ZERO = Element(0.0)
OUTPUTS = (SparseBand, SparseBlockList)
INPUTS = (SparseBand, SparseBlockList, SparseList, Dense)


def added(C, A, B):
    C[...] = 0
    for i, j in _:
        C[i, j] = 2 * A[i, j] + B[i, j]
    return C


def accumulated(C, A, B):
    C[...] = 0
    for i, j in _:
        C[i, j] += A[i, j] - B[i, j]
    return C


def multiplied(C, A, B):
    C[...] = 0
    for i, j in _:
        C[i, j] = A[i, j] * B[i, j]
    return C


def chosen(C, A, B):
    """Not each index is written."""
    C[...] = 0
    for i, j in _:
        if A[i, j] > 0.5:
            C[i, j] = B[i, j] + 1
    return C


def unless(C, A, B):
    """A range at which one operand stores nothing is written whole."""
    C[...] = 0
    for i, j in _:
        if A[i, j] * B[i, j] > 2:
            continue
        C[i, j] = B[i, j]
    return C


def within(C, A, B):
    C[...] = 0
    for i in _:
        for j in range(1, 5):
            C[i, j] = A[i, j] + B[i, j]
    return C


def apart(C, A, B):
    C[...] = 0
    for i in _:
        for j in range(0, 2):
            C[i, j] = A[i, j] + 1
        for j in range(4, 6):
            C[i, j] = B[i, j] + 1
    return C


def shifted(C, A, B):
    C[...] = 0
    for i, j in _:
        C[i, j + 1] = A[i, j + 1] + B[i, j + 1]
    return C


def around(C, A, B):
    C[...] = 0
    for i, j in _:
        C[i, j] = (
            coalesce(A[~(i - 1), ~(j - 1)], 0) + coalesce(A[~(i - 1), ~j], 0)
            + coalesce(A[~(i - 1), ~(j + 1)], 0) + coalesce(A[i, ~(j - 1)], 0) + A[i, j]
            + coalesce(A[i, ~(j + 1)], 0) + coalesce(A[~(i + 1), ~(j - 1)], 0)
            + coalesce(A[~(i + 1), ~j], 0) + coalesce(A[~(i + 1), ~(j + 1)], 0)
            + B[i, j] + coalesce(B[i, ~(j + 1)], 0) + coalesce(B[i, ~(j - 1)], 0)
        )  # fmt: skip
    return C


PROGRAMS = (added, accumulated, multiplied, chosen, unless, within, apart, shifted, around)


def bands(rng, n, m):
    """Rows of one block each; some are empty, some have zeros in them."""
    found = np.zeros((n, m))
    for row in found:
        first, last = sorted(rng.integers(0, m + 1, 2))
        row[first:last] = rng.integers(0, 4, last - first)
    return found


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_results_are_those_of_numpy(program, backend):
    rng = np.random.default_rng(3)
    run = kernel(program, backend=backend)
    kinds = INPUTS if backend == "interpreter" and program is not around else INPUTS[::3]
    for output in OUTPUTS:
        for kind in kinds:
            for shape in ((5, 6), (1, 6), (0, 6), (3, 90)):
                a, b = bands(rng, *shape), bands(rng, *shape)
                A, B = Tensor(Dense(kind(ZERO)), a), Tensor(Dense(SparseBand(ZERO)), b)
                C = Tensor(Dense(output(ZERO)), shape)
                wanted = run.reference(np.zeros(shape), a, b)
                for _turn in range(2):
                    found = run(C, A, B)
                    width = found.shape[1]  # loops over fewer indices make it smaller
                    np.testing.assert_array_equal(found.to_numpy(), wanted[:, :width])
                    assert not wanted[:, width:].any()
                    Tensor.from_buffers(found.format, found.shape, found.buffers)  # valid ones


@pytest.mark.parametrize("output", OUTPUTS)
def test_nothing_more_is_stored(output):
    rng = np.random.default_rng(4)
    a = bands(rng, 20, 30)
    A = Tensor(Dense(SparseBand(ZERO)), a)
    none = Tensor(Dense(SparseBand(ZERO)), np.zeros((20, 30)))
    found = kernel(added)(Tensor(Dense(output(ZERO)), a.shape), A, none)
    np.testing.assert_array_equal(found.structure(), A.structure())


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_range_has_no_test_for_memory(output):
    A = Tensor(Dense(Dense(ZERO)), (4, 5))
    run = kernel(added)
    listing = run.lower(Tensor(Dense(output(ZERO)), (4, 5)), A, A).as_text("assembly")
    loop = listing[listing.index("for j in") :].split("\n", 2)[1]
    assert loop.strip().startswith("C2_val[")


def test_what_is_written_again_is_not_appended():
    """Where several loops write one fiber, indices may come again."""

    @kernel
    def twice(C, A):
        C[...] = 0
        for i in _:
            C[i] = A[i]
        for i in range(5, 6):
            C[i] = 7.0
        return C

    for output in OUTPUTS:
        found = twice(Tensor(output(ZERO), (6,)), np.arange(6.0))
        assert found.to_numpy().tolist() == [0, 1, 2, 3, 4, 7]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_pattern_stores_what_is_true(backend):
    """A write of what it cannot store stores nothing."""

    @kernel(backend=backend)
    def taken(C, A):
        C[...] = False
        for i, j in _:
            C[i, j] = A[i, j] > 0
        return C

    a = np.array([[0, 1, 1, 0], [0, 0, 0, 0], [1, 1, 1, 1]], float)
    for output in OUTPUTS:
        for kind in (SparseList, Dense, SparseBand):  # of which the last two have zeros
            found = taken(Tensor(Dense(output(Pattern())), (3, 4)), Tensor(Dense(kind(ZERO)), a))
            np.testing.assert_array_equal(found.structure(), a > 0)


def test_many_reads_beside_reallocated_memory_take_vectors():
    """More than C compilers test for overlaps."""
    A = Tensor(Dense(SparseBand(ZERO)), (4, 5))
    C = Tensor(Dense(SparseBand(ZERO)), (4, 5))
    text = kernel(around, backend="c").lower(C, A, A).as_text("source")
    assert "#pragma omp simd" in text
    few = kernel(added, backend="c").lower(C, A, A).as_text("source")
    assert "#pragma omp simd" not in few


def products(C, A, B):
    C[...] = 0
    for i, j, k in _:
        C[i, k] += A[i, j] * B[j, k]
    return C


def running(C, A, B):
    C[...] = 0
    for i in _:
        C[i, 0] = A[i, 0]
        for k in range(1, 5):
            C[i, k] += C[i, k - 1] + B[i, k]
    return C


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("program", "is_told"), [(products, True), (running, False)])
def test_rows_of_reallocated_memory_are_told_to_be_independent(backend, program, is_told):
    """Unless an element depends on the one before."""
    a, b = np.random.default_rng(3).integers(0, 3, (2, 5, 5)).astype(float)
    A, C = Tensor(Dense(SparseList(ZERO)), a), Tensor(Dense(Dense(ZERO)))
    compiled = kernel(program, backend=backend)
    expected = a @ b if is_told else np.cumsum(np.hstack([a[:, :1], b[:, 1:]]), axis=1)
    for _turn in range(2):
        np.testing.assert_array_equal(compiled(C, A, b).to_numpy(), expected)
    if backend == "c":
        text = compiled.lower(C, A, b).as_text("source")
        assert ("#pragma GCC ivdep" in text) is is_told
