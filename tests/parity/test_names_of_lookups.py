"""Names of what is looked up: their value is that of the place where the program has them, also
where nothing is there, and code does not double with each."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

from finch_core import Tensor, coalesce, kernel, stored
from finch_core.testing import backend_names
from finch_levels import (
    Dense,
    Element,
    RunList,
    SparseBand,
    SparseBlockList,
    SparseByteMap,
    SparseHash,
    SparseList,
)

BACKENDS = backend_names()
LEAF = Element(0.0)
VECTORS = [None, Dense(LEAF), SparseByteMap(LEAF), SparseHash(LEAF)]
MATRICES = {
    "list": Dense(SparseList(LEAF)),
    "lists": SparseList(SparseList(LEAF)),
    "map": Dense(SparseByteMap(LEAF)),
    "hash": Dense(SparseHash(LEAF)),
    "band": Dense(SparseBand(LEAF)),
    "blocks": Dense(SparseBlockList(LEAF)),
    "runs": Dense(RunList(LEAF)),
}


def chosen(y, x, p, n):
    for i in range(n):
        v = x[~(i - 1)] if x[i] > 0 else x[~(i + 1)]
        for j in range(n):
            x[j] = 1 - x[j]
        y[i] = coalesce(v, 5)


def chosen_plainly(y, x, p, n):
    for i in range(n):
        at = i - 1 if x[i] > 0 else i + 1
        v = x[at] if 0 <= at < n else 5
        for j in range(n):
            x[j] = 1 - x[j]
        y[i] = v


def converted(y, x, p, n):
    for i in range(n):
        v = int(x[~(i - 1)] if x[i] > 0 else x[~p[i]])
        w = v + 1
        for j in range(n):
            x[j] = j
        if coalesce(w, 0) > 1:
            y[i] = coalesce(w, v, 5)


def converted_plainly(y, x, p, n):
    for i in range(n):
        at = i - 1 if x[i] > 0 else p[i]
        v = int(x[at]) + 1 if 0 <= at < n else 0
        for j in range(n):
            x[j] = j
        if v > 1:
            y[i] = v


def in_while(y, x, p, n):
    k = 0
    while k < n:
        v = x[~(k - 1)] if p[k] > 0 else x[~(k + 1)]
        p[k] = 1 - p[k]
        k += 1
        y[k - 1] = coalesce(v, 3)


def in_while_plainly(y, x, p, n):
    for k in range(n):
        at = k - 1 if p[k] > 0 else k + 1
        y[k] = x[at] if 0 <= at < n else 3
        p[k] = 1 - p[k]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("made", VECTORS, ids=str)
@pytest.mark.parametrize(
    ("function", "plain"),
    [(chosen, chosen_plainly), (converted, converted_plainly), (in_while, in_while_plainly)],
)
def test_a_value_that_may_be_missing_is_kept(
    function: Any, plain: Any, made: Any, backend: str
) -> None:
    for n in (0, 1, 5):
        x = np.random.default_rng(n).integers(-3, 4, n).astype(float)
        p = np.random.default_rng(n + 1).integers(-1, 2, n)
        wanted = np.zeros(n), x.copy(), p.copy()
        plain(*wanted, n)
        args = np.zeros(n), x.copy() if made is None else Tensor(made, x), p
        found = kernel(backend=backend)(function).reference(*args, n)
        kernel(backend=backend)(function)(*args, n)
        for name, value, array in zip("yxp", wanted, args, strict=True):
            np.testing.assert_array_equal(np.asarray(array), value, name)
            np.testing.assert_array_equal(found.get(name, value), value, f"{name}, reference")


def looked_up(y, U, p, n):
    for i in range(n):
        d = U[i, i]
        e = U[p[i], i]
        f = d * U[i, p[i]]
        for j in range(n):
            if stored(U[i, j]):
                U[i, j] = 7
            y[j] += f * U[j, i]
        for j in range(n):
            y[j] += d
        y[i] += max(d, e) + f


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("form", [name for name in MATRICES if name != "runs"])
def test_a_value_that_is_looked_up_is_kept(form: str, backend: str) -> None:
    for n in (0, 1, 6):
        rng = np.random.default_rng(n)
        U = rng.integers(1, 4, (n, n)) * (rng.random((n, n)) < 0.5) * 1.0
        p = rng.integers(0, max(n, 1), n)
        made = Tensor(MATRICES[form], U)
        y, plain, kept = np.zeros(n), np.zeros(n), made.like(1.0).to_numpy() != 0
        for i in range(n):
            d, e, f = U[i, i], U[p[i], i], U[i, i] * U[i, p[i]]
            for j in range(n):
                U[i, j] = 7 if kept[i, j] else U[i, j]
                plain[j] += f * U[j, i]
            plain += d
            plain[i] += max(d, e) + f
        kernel(backend=backend)(looked_up)(y, made, p, n)
        np.testing.assert_array_equal(y, plain)
        np.testing.assert_array_equal(made.to_numpy(), U)


def many(count: int, rest: str) -> Any:
    """A kernel that looks ``count`` values up and then uses each."""
    lines = [f"d{k} = U[i, p[i] + {k}]" for k in range(count)]
    lines += [rest.format(f"d{k}") for k in range(count)]
    text = "def f(y, x, U, p):\n    for i in range(4):\n"
    text += "".join(f"        {line}\n" for line in lines)
    file = f"<{count} {rest}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    names: dict[str, Any] = {}
    exec(compile(text, file, "exec"), names)
    return kernel(names["f"])


@pytest.mark.filterwarnings("ignore::finch_core.errors.PerformanceWarning")
@pytest.mark.parametrize("form", MATRICES)
@pytest.mark.parametrize(
    "rest", ["y[i] += max({0}, 1)", "for j in range(4): y[j] += {0} * x[j]", "y[i] *= {0}"]
)
def test_code_grows_with_the_number_of_look_ups(form: str, rest: str) -> None:
    def size(count: int) -> int:
        args = np.zeros(4), np.ones(4), Tensor(MATRICES[form], np.zeros((4, 16))), np.zeros(4, int)
        return len(many(count, rest).lower(*args).as_text("assembly"))

    two, six, ten = map(size, (2, 6, 10))
    assert ten - six < 1.2 * (six - two)


def skipped(y, x, U, p):
    for i in range(4):
        d = U[i, p[i]]
        y[i] = max(d, 1)
        for j in range(4):
            y[j] += d * x[j]
        y[0] += 1


def test_loops_over_nothing_are_skipped() -> None:
    args = np.zeros(4), np.ones(4), Tensor(MATRICES["list"], np.zeros((4, 4))), np.zeros(4, int)
    lines = kernel(skipped).lower(*args).as_text("assembly").splitlines()
    (loop,) = (k for k, line in enumerate(lines) if line.strip().startswith("for j"))
    assert lines[loop - 1].strip().startswith("if at_there")
