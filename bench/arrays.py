"""Array functions beside SciPy, pydata/sparse, finch-tensor and NumPy: microseconds of a call."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from bench.harness import compare

SIZES = ((10, 0.3), (1000, 0.01), (20000, 0.0005))
"""Rows of square matrices, and their densities."""
DENSE_MOST = 2000
"""NumPy and finch-tensor, whose sums and products are dense, take part up to this many rows."""
PEERS = ("scipy", "sparse", "finch-tensor")


@attrs.frozen
class Operands:
    """What a contender computes with: two matrices in rows, a vector, eight columns and rows."""

    A: Any
    B: Any
    x: Any
    D: Any
    E: Any


OPERATIONS: dict[str, Callable[[Operands], Any]] = {
    "A + B": lambda of: of.A + of.B, "A * B": lambda of: of.A * of.B,
    "A + A.T": lambda of: of.A + of.A.T, "A * 2.0": lambda of: of.A * 2.0,
    "A * x": lambda of: of.A * of.x, "A > 0.5": lambda of: of.A > 0.5,
    "sum(A, 0)": lambda of: of.A.sum(axis=0), "sum(A, 1)": lambda of: of.A.sum(axis=1),
    "max(A, 1)": lambda of: of.A.max(axis=1),
    "A @ x": lambda of: of.A @ of.x, "A.T @ x": lambda of: of.A.T @ of.x,
    "A @ D, 8 columns": lambda of: of.A @ of.D, "A.T @ D, 8 columns": lambda of: of.A.T @ of.D,
    "E @ A, 8 rows": lambda of: of.E @ of.A,
    "A @ B": lambda of: of.A @ of.B, "A @ B, sorted": lambda of: in_order(of.A @ of.B),
    "A[n/4:n/2]": lambda of: of.A[of.A.shape[0] // 4 : of.A.shape[0] // 2],
    "A[:, n/4:n/2]": lambda of: of.A[:, of.A.shape[0] // 4 : of.A.shape[0] // 2],
}  # fmt: skip


def in_order(matrix: Any) -> Any:
    """A product with sorted rows: SciPy's are not, all others' are."""
    if hasattr(matrix, "sort_indices"):
        matrix.sort_indices()
    return matrix


def operands(n: int, density: float) -> dict[str, Operands]:
    """Those of each contender."""
    import scipy.sparse as sp

    import finch_array as fa

    rng = np.random.default_rng(0)
    first, second = (
        sp.random_array((n, n), density=density, format="csr", rng=rng) for _ in range(2)
    )
    dense = np.ones(n), rng.random((n, 8)), rng.random((8, n))
    found = {
        "finch": Operands(fa.asarray(first), fa.asarray(second), *dense),
        "scipy": Operands(first, second, *dense),
    }
    if n <= DENSE_MOST:
        found["numpy"] = Operands(first.toarray(), second.toarray(), *dense)
        found |= _finch_tensor(first, second, dense)
    try:
        import sparse
    except ImportError:
        return found
    matrices = map(sparse.GCXS.from_scipy_sparse, (first, second))
    found["sparse"] = Operands(*matrices, *dense)
    return found


def _finch_tensor(first: Any, second: Any, dense: tuple[Any, ...]) -> dict[str, Operands]:
    try:
        from bench.peers import finch_tensor as peer
    except ImportError:
        return {}
    arrays = map(peer.finch.asarray, dense)
    return {"finch-tensor": Operands(peer.matrix(first), peer.matrix(second), *arrays)}


def _has(operation: Callable[[Operands], Any], given: Operands) -> bool:
    """Whether finch-tensor has an operation; compiles it if it does."""
    try:
        operation(given)
    except (TypeError, AttributeError, NotImplementedError, AssertionError, KeyError):
        return False
    return True


def run(seconds: float, sizes: tuple[tuple[int, float], ...] = SIZES) -> list[dict[str, Any]]:
    """A row for each operation and size: the microseconds of each, and SciPy's and pydata/sparse's
    relative to ours (above 1: ours is faster)."""
    rows = []
    for n, density in sizes:
        given = operands(n, density)
        for name, operation in OPERATIONS.items():
            contenders = {
                who: (lambda of=of, operation=operation: operation(of))
                for who, of in given.items()
                if who != "finch-tensor" or _has(operation, of)
            }
            rows.append(_row(name, n, compare(contenders, seconds, 3)))
    return rows


def _row(name: str, n: int, timings: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {"operation": name, "rows": n}
    for who in ("finch", *PEERS, "numpy"):
        row[f"{who} us"] = timings[who].seconds * 1e6 if who in timings else float("nan")
    for who in PEERS:
        row[f"{who} / finch"] = row[f"{who} us"] / row["finch us"]
    return row


def means(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each size, and for all, the geometric means of the peers' times relative to ours."""
    sizes = sorted({row["rows"] for row in rows})
    result = []
    for n in (*sizes, None):
        own = [row for row in rows if n in (None, row["rows"])]
        found: dict[str, Any] = {"rows": n or "all"}
        for who in PEERS:
            ratios = [r[f"{who} / finch"] for r in own if r[f"{who} / finch"] > 0]
            logs = sum(map(math.log, ratios))
            found[f"{who} / finch"] = math.exp(logs / len(ratios)) if ratios else math.nan
            found[f"{who} is faster in"] = f"{sum(r < 1 for r in ratios)} of {len(ratios)}"
        result.append(found)
    return result


def page(rows: list[dict[str, Any]], machine: dict[str, Any]) -> str:
    """The page of results."""
    sizes = ", ".join(f"{n} rows with a density of {density}" for n, density in SIZES)
    names = ("numpy", "scipy", "sparse", "finch-tensor")
    packages = ", ".join(f"{k} {v}" for k, v in machine["packages"].items() if k in names)
    made_on = (
        f"{machine['processor']}; {machine['compiler']}; Python {machine['python']}; {packages}; "
        f"load average {machine['load']:.1f} on {machine['cores']} cores."
    )
    tables = (*_markdown(means(rows)), "", *_markdown(rows))
    return "\n".join([HEAD.format(sizes=sizes), made_on, "", *tables, ""])


HEAD = """\
# Array functions beside other packages

Written by `python -m bench arrays --markdown docs/results/arrays.md`: microseconds of a warm call,
in one process and one thread, contenders alternating, the least of many. Above 1, we are faster.
Square CSR matrices with entries at random places: {sizes}.
Where finch-tensor has no number it does not have the operation, or would make it dense.

"""


def _markdown(rows: list[dict[str, Any]]) -> list[str]:
    """The lines of a table."""
    heads = list(rows[0])
    lines = ["| " + " | ".join(heads) + " |", "| " + " | ".join("---" for _ in heads) + " |"]
    return lines + ["| " + " | ".join(_shown(row[h]) for h in heads) + " |" for row in rows]


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.3g}" if value < 1000 else f"{value:.0f}"
    return str(value)
