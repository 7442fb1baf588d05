"""Kernels whose merges would have too many cases: loops inside are not repeated for each."""

import numpy as np
import pytest

from finch_core import Tensor, kernel
from finch_core.interface.context import Context
from finch_core.interface.display import explored as explore
from finch_core.testing import backend_names
from finch_levels import (
    Dense,
    Element,
    RunList,
    SparseBlockList,
    SparseByteMap,
    SparseCOO,
    SparseHash,
    SparseList,
)

ZERO = Element(np.int64(0))
MATRICES = {
    "lists": SparseList(SparseList(ZERO)),
    "blocks": Dense(SparseBlockList(ZERO)),
    "coordinates": SparseCOO(SparseCOO(ZERO)),
    "byte maps": SparseByteMap(SparseList(ZERO)),
    "hashes": SparseHash(SparseHash(ZERO)),
}
VECTORS = {"hash": SparseHash(ZERO), "runs": RunList(ZERO), "blocks": SparseBlockList(ZERO)}


def chosen(y, A, B, x, p):
    n = len(y)
    t = 0
    u = 1
    for i in range(n):
        y[i] = min(y[i], t if i > 4 or i + 1 != n // 2 else (x[i - 1] if 0 <= i - 1 < n else -1))
        for j in range(n):
            t += (B[i, j] if j + 1 > p[i] else A[i, j]) + (x[i] if A[i, j] != t else u)
    return t, u


def left(y, A, B, x, p):
    n = len(y)
    t = 0
    u = 1
    for i in range(n):
        y[i] += u - (x[i - 1] if 0 <= i - 1 < n else -1)
        for j in range(1, n - 1):
            for k in range(0, n, 2):
                y[i] += min(B[i, k], B[j // 2, (k + 1) % n]) * u
                if (A[i, j - 1] if 0 <= j - 1 < n else 2) < 1:
                    if (k > 4 or j > 3 or A[(i + 1) % n, n - 1 - k] == 0) or j + 1 <= p[i]:
                        break
                    t -= B[i, k] if x[(2 * j) % n] == t else (x[j + 1] if j + 1 < n else 2) // 3
        y[i] -= t % 7
    return t, u


def added(y, A, B, x, p):
    t = 0
    for i in range(len(y)):
        for j in range(len(y)):
            t += A[i, j] + B[i, j] * x[j] + max(A[j, i], x[i])
        y[i] = t
    return t, 0


PROGRAMS = {"chosen": chosen, "left": left, "added": added}


def operands(size, seed):
    draw = np.random.default_rng(seed)
    A, B = draw.integers(0, 4, (2, size, size)) * (draw.random((2, size, size)) < 0.4)
    x = np.repeat(draw.integers(0, 3, size), 2)[:size]
    return np.zeros(size, np.int64), A, B, x, draw.integers(0, size + 1, size)


def formatted(y, A, B, x, p, matrices, vector):
    first, second = matrices
    formats = MATRICES[first], MATRICES[second], VECTORS[vector], RunList(ZERO)
    return (y, *(Tensor(f, a) for f, a in zip(formats, (A, B, x, p), strict=True)))


@pytest.mark.parametrize(
    ("matrices", "vector"),
    [
        (("lists", "blocks"), "hash"),
        (("blocks", "coordinates"), "runs"),
        (("coordinates", "byte maps"), "blocks"),
        (("byte maps", "hashes"), "hash"),
    ],
)
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("backend", backend_names())
def test_results_are_those_of_the_loops(program, matrices, vector, backend):
    for disabled in ((), ("merge_by_cases",)):
        run = kernel(backend=backend, disabled=disabled)(PROGRAMS[program])
        for size in (6, 1, 7):
            wanted = operands(size, size)
            given = formatted(*operands(size, size), matrices, vector)
            returned = PROGRAMS[program](*wanted)
            assert tuple(run(*given)) == tuple(map(int, returned))
            np.testing.assert_array_equal(given[0], wanted[0])


def test_loops_inside_are_emitted_once():
    """Twelve cases of the loop over ``i`` had 5,808 lines."""
    given = formatted(*operands(6, 0), ("lists", "blocks"), "hash")
    text = kernel(chosen).lower(*given).as_text("assembly")
    assert text.count("while j_reached") + text.count("for j in") <= 4
    assert len(text.splitlines()) < 300


def test_few_cases_stay_apart(monkeypatch):
    """Merges by cases are given up for the kernels alone that would have too many of them."""
    counted = []
    count = Context.count_region

    def counting(ctx):
        counted.append(ctx.most_regions)
        count(ctx)

    monkeypatch.setattr(Context, "count_region", counting)
    short = formatted(*operands(6, 0), ("lists", "lists"), "hash")
    kernel(added).lower(*short).as_text("assembly")
    assert None not in counted
    kernel(chosen).lower(*formatted(*operands(6, 0), ("lists", "blocks"), "hash")).kernel  # noqa: B018
    assert None in counted


def test_they_can_be_explored(tmp_path):
    given = formatted(*operands(6, 0), ("lists", "blocks"), "hash")
    page = explore(kernel(chosen).lower(*given), tmp_path / "page.html")
    assert "j_reached" in page.read_text()
