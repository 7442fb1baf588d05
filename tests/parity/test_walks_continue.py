"""A walk of a row begins where another walk of it has come: so do searches."""

import numpy as np
import pytest

from finch_core import Tensor, _, kernel
from finch_core.testing import backend_names
from finch_levels import (
    Dense,
    Element,
    RunList,
    SparseBand,
    SparseBlockList,
    SparseByteMap,
    SparseHash,
    SparseInterval,
    SparseList,
    SparseRunList,
)

BACKENDS = backend_names()
ROWS = [
    SparseList, RunList, SparseRunList, SparseBlockList, SparseBand, SparseInterval,
    SparseByteMap, SparseHash,
]  # fmt: skip


def at_the_end(y, A, n):
    for i in range(n):
        for j in range(i):
            y[i] += A[i, j]
        y[i] += 100 * A[i, i]


def behind(y, A, n):
    for i in range(n):
        for j in range(2, i):
            y[i] += A[i, j]
        y[i] += 10 * A[i, 1] + 100 * A[i, n - 1]
        for j in range(i + 1, n):
            y[i] -= 3 * A[i, j]


def again(y, A, n):
    for i in range(n):
        for j in range(i):
            y[i] += A[i, j]
        for j in range(1, n):
            y[i] += 5 * A[i, j]
        for j in range(i + 2, n):
            y[i] -= A[i, j] * A[j, i]


def left_out(y, A, n):
    for i in range(n):
        for j in range(n):
            if j != i:
                y[i] += A[i, j]
        y[i] += 100 * A[i, i]


def within(y, A, n):
    for i in range(n):
        for j in range(n):
            if A[i, j] != 0:
                for k in range(j):
                    y[i] += A[i, k]
                y[j] += 2 * A[i, j]
        if y[i] > 3:
            for j in range(i):
                y[i] -= A[i, j]
        y[i] += 7 * A[i, i]


def two_rows(y, A, n):
    for i in range(1, n):
        for j in range(i):
            y[i] += A[i, j] * A[i - 1, j]
        for j in range(i, n):
            y[i] += 3 * (A[i, j] + A[i - 1, j])
        y[i] += 100 * A[i - 1, i] + A[i, i]


def left_early(y, A, n):
    for i in range(n):
        for j in range(i):
            if A[i, j] == 2:
                break
            y[i] += A[i, j]
        y[i] += 100 * A[i, i]


def from_the_step(y, A, n):
    for i in range(n):
        for j in range(n):
            if A[i, j] != 0:
                for k in range(j, n):
                    y[i] += A[i, k]
                for k in range(j + 1, n):
                    y[j] -= 2 * A[i, k]
                for k in range(j + 3, n):
                    y[k] += A[i, k] + A[i, j]


def from_the_steps(y, A, n):
    for i in range(1, n):
        for j in range(n):
            if A[i, j] != 0 and A[i - 1, j] != 0:
                for k in range(j + 1, n):
                    y[i] += A[i, k] * A[i - 1, k]
            for k in range(j, n):
                y[k] += A[i, k] * A[i, j]


def from_the_search(y, A, n):
    for i in range(n):
        for j in range(n):
            if A[i, j] != 0:
                y[i] += A[j, i]
                for k in range(i + 1, n):
                    y[k] += A[j, k] * A[i, k]
                for k in range(i):
                    y[k] -= A[j, k]


def up_to(y, A, n):
    for i in range(n):
        for j in range(i):
            y[i] += A[i, j]
    for i in range(n):
        for j in range(2, n - i):
            y[i] += 10 * A[i, j]
    for i in range(n - 1):
        for j in range(i):
            y[i] -= 7 * A[i, j + 1]


def backwards(y, A, n):
    for i in reversed(range(n)):
        for j in range(i + 1, n):
            y[i] += A[i, j]
        y[i] += 100 * A[i, i]
    for i in range(n):
        for j in range(i + 1):
            y[i] += 3 * A[i, j]
        y[i] += 50 * A[i, i]


def run_out(y, A, n):
    for i in range(1, n):
        for j in range(n):
            y[i] += A[i, j] * A[i - 1, j]
        for j in range(n):
            y[j] += max(A[i, j], A[i - 1, j])
        for j in range(i, n):
            y[j] -= A[i, j] * A[i - 1, j] * A[0, j]


def changed_between(y, A, n):
    w = Tensor(SparseList(Element(0)), (n,))
    for i in range(2, n):
        for k in range(2):
            w[...] = 0
            for j in range(k, n):
                w[j] = A[i, j]
            for j in range(i):
                y[j] += w[j] + k
            y[i] += 10 * w[i]


def test_a_workspace_that_is_walked_and_written_anew():
    A = np.random.default_rng(2).integers(0, 3, (6, 6))
    for backend in BACKENDS:
        run, y = kernel(backend=backend)(changed_between), np.zeros(6, int)
        expected = run.reference(y, A, 6)["y"]
        run(y, A, 6)
        np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("level", ROWS)
@pytest.mark.parametrize(
    "program",
    [at_the_end, behind, again, left_out, within, two_rows, left_early, from_the_step,
     from_the_steps, from_the_search, up_to, backwards, run_out],
)  # fmt: skip
def test_walks(program, level, backend):
    rng = np.random.default_rng(1)
    run = kernel(backend=backend)(program)
    for n in (0, 2, 9) if program is not behind else (2, 9):
        A = rng.integers(1, 4, (n, n)) * (rng.random((n, n)) < 0.5)
        if level in (SparseBand, SparseInterval):
            A = A[:, :1] * np.triu(np.tril(np.ones((n, n), int), 2), -3)
        expected, y = np.zeros(n, int), np.zeros(n, int)
        program(expected, A, n)
        run(y, Tensor(Dense(level(Element(0))), A), n)
        np.testing.assert_array_equal(y, expected)


def row_sums(y, A, n):
    for i in range(n):
        for j in range(i):
            y[i] += A[i, j]


def products(y, A, n):
    for i in range(1, n):
        for j in _:
            y[i] += A[i, j] * A[i - 1, j]


def text_of(program, *disabled):
    A = Tensor(Dense(SparseList(Element(0))), np.eye(3, dtype=int))
    run = kernel(disabled=disabled)(program)
    return run.lower(np.zeros(3, int), A, 3).as_text("assembly").partition("kernel ")[2]


def test_a_walk_that_ends_near_the_end_of_its_row_is_a_counted_loop():
    text = text_of(row_sums)
    counted, otherwise, search = map(text.index, (
        "for q in range(A1_p_begun, A1_p_until):",
        "if A1_p_begun == A1_p_until:",
        "while A1_p < A1_q_stop and A1_idx[A1_p] < i:",
    ))  # fmt: skip
    assert counted < otherwise < search
    assert "for q" not in text_of(row_sums, "until")


def test_a_merge_ends_when_a_list_runs_out():
    assert "while A1_p < A1_q_stop and A1_p_2 < A1_q:" in text_of(products)
    assert "_reached" not in text_of(products)
    assert "while j_reached < j_stop:" in text_of(products, "run_outs")
