"""What a call of an array function costs around its kernel: warm, and the first of its kind.

Warm calls are on matrices of 30 rows, whose kernels take a microsecond or less, so that nearly all
of the time is the call. First calls are made in a process of their own with nothing on disk, on
50,000 rows of ten; the process has made the operands before, and nothing else.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bench.compiling import environment
from bench.harness import compare

AIM_WARM, AIM_FIRST = 20.0, 250.0
"""Microseconds of a warm call over its kernel, and milliseconds of a first call."""
SMALL, LARGE = (30, 0.1), (50_000, 0.0002)
"""Rows, and the density."""
OF_MATRICES = (
    "A + B", "A - B", "A * B", "A / 2.0", "A * 2.0", "A * x", "A ** 2", "-A", "abs(A)", "A > 0.5",
    "A == B", "A < B", "fa.maximum(A, B)", "fa.where(A > 0.5, A, B)", "fa.clip(A, 0.2, 0.5)",
    "fa.sin(A)", "fa.sqrt(A)", "fa.astype(A, np.float32)", "fa.isnan(A)", "fa.round(A)",
    "b & b", "~b", "fa.equal(A, 0.5)", "A.T", "A + A.T", "A.T + B", "A @ x", "A @ v", "A.T @ x",
    "A @ D", "E @ A", "A @ B", "A @ B.T", "A.T @ A", "fa.vecdot(A, B)", "fa.tensordot(A, B)",
    "fa.outer(v[:300], v)", "fa.sum(A)", "fa.sum(A, axis=0)", "fa.sum(A, axis=1)", "fa.max(A)",
    "fa.max(A, axis=0)", "fa.max(A, axis=1)", "fa.prod(A, axis=1)", "fa.mean(A, axis=0)",
    "fa.var(A, axis=0)", "fa.std(A)", "fa.any(b, axis=0)", "fa.all(b)", "fa.argmax(A)",
    "fa.argmax(A, axis=1)", "fa.argmin(A, axis=0)", "fa.count_nonzero(A)", "fa.nonzero(A)",
    "fa.cumulative_sum(A, axis=1)", "fa.cumulative_sum(A, axis=0)", "fa.trace(A)", "fa.norm(A)",
    "fa.diagonal(A)", "fa.tril(A)", "fa.triu(A)", "fa.median(v)", "fa.quantile(v, 0.5)",
    "fa.sort(A, axis=1)", "fa.argsort(v)", "fa.unique_values(A)", "fa.unique_counts(A)",
    "fa.isin(A, x)", "fa.searchsorted(x, v)", "A[3]", "A[3, 5]", "A[3:9]", "A[:, 3:9]",
    "A[3:9, 3:9]", "A[::2]", "A[:, ::2]", "A[::-1]", "A[i]", "A[:, i]", "A[i, i]", "A[A > 0.5]",
    "A[None]", "fa.take(A, i, axis=0)", "fa.take_along_axis(A, j, axis=1)", "fa.reshape(A, (-1,))",
    "fa.concat([A, B])", "fa.concat([A, B], axis=1)", "fa.stack([A, B])", "fa.unstack(A[:5])",
    "fa.tile(A, (2, 1))", "fa.repeat(A, 2, axis=0)", "fa.roll(A, 1, axis=0)", "fa.flip(A, axis=1)",
    "fa.expand_dims(A, axis=0)", "fa.permute_dims(A, (1, 0))", "fa.broadcast_to(v, A.shape)",
    "fa.pad(A, 1)", "fa.kron(A[:5], B[:5])", "fa.eye(30)", "fa.zeros((30, 30))", "fa.diags(x)",
    "fa.asarray(theirs)", "fa.asarray(dense)", "np.asarray(A[:20])", "A[:20].todense()",
    "fa.einsum('ij,j->i', A, x)", "fa.einsum('ij,jk->ik', A, B)",
)  # fmt: skip
"""Expressions of the standard and of what users of SciPy reach for."""
ASSIGNED = ("A[3] = 0.0", "A[3, 5] = 1.0", "A[3:9] = 2.0", "A[:, 3:9] = 2.0", "A[3:9, 3:9] = 1.0",
            "A[A > 0.5] = 0.5")  # fmt: skip
"""Assignments. Warm ones follow a copy, whose time is taken off."""
COPY = "fa.asarray(kept, copy=True)"

PROGRAM = """
import sys, time
from bench.calls import LARGE, names
given = names(*LARGE)
code = compile(sys.argv[1], "first call", "exec")
start = time.perf_counter()
exec(code, given)
print((time.perf_counter() - start) * 1e3)
"""


def names(n: int, density: float) -> dict[str, Any]:
    """What the expressions name."""
    import scipy.sparse as sp

    import finch_array as fa

    rng = np.random.default_rng(0)
    theirs, second = (
        sp.random_array((n, n), density=density, format="csr", rng=rng) for _ in range(2)
    )
    truths = sp.csr_array((theirs.data > 0.5, theirs.indices, theirs.indptr), shape=theirs.shape)
    places, vector = np.arange(0, n, 7), sp.random_array((n,), density=0.1, rng=rng)
    return {
        "fa": fa, "np": np, "A": fa.asarray(theirs), "B": fa.asarray(second),
        "b": fa.asarray(truths), "v": fa.asarray(vector), "x": np.ones(n), "i": places,
        "j": np.zeros((n, 1), np.int64), "D": rng.random((n, 8)), "E": rng.random((8, n)),
        "theirs": theirs, "dense": np.eye(30),
    }  # fmt: skip


def warm(seconds: float) -> list[dict[str, Any]]:
    """The microseconds of a warm call of each expression on small matrices."""
    given = names(*SMALL)
    given["kept"] = given["A"]
    copy = _warm(COPY, given, seconds)
    found = {code: _warm(code, given, seconds) for code in OF_MATRICES}
    for code in ASSIGNED:
        found[code] = _warm(f"A = {COPY}; {code}", given, seconds) - copy
    return [{"call": code, "warm us": us} for code, us in found.items()]


def _warm(text: str, given: dict[str, Any], seconds: float) -> float:
    run = f"def run():\n    {text}\n"
    scope = dict(given)
    exec(run, scope)
    return compare({text: scope["run"]}, seconds)[text].seconds * 1e6


def first(repeats: int) -> list[dict[str, Any]]:
    """The milliseconds of the first call of each expression, the least of some processes."""
    rows = []
    for code in (*OF_MATRICES, *ASSIGNED):
        least = min(_first(code) for _repeat in range(repeats))
        rows.append({"call": code, "first ms": least})
    return rows


def _first(code: str) -> float:
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, code],
            stdout=subprocess.PIPE,
            text=True,
            env=environment(cache),
            cwd=Path(__file__).parents[1],
            check=True,
        )
    return float(done.stdout)


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """How many calls keep to the aims, and the medians."""
    columns = (("warm us", AIM_WARM), ("first ms", AIM_FIRST))
    found = []
    for column, aim in columns:
        times = [row[column] for row in rows]
        within = f"{sum(t <= aim for t in times)} of {len(times)}"
        found.append({"": column, "aim": aim, "within": within, "median": float(np.median(times))})
    return found


def run(seconds: float, repeats: int) -> list[list[dict[str, Any]]]:
    """The summary, and a row for each expression, the slowest warm call first."""
    rows = [w | f for w, f in zip(warm(seconds), first(repeats), strict=True)]
    rows.sort(key=lambda row: -row["warm us"])
    return [summary(rows), rows]
