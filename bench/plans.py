"""Fused functions beside what a person writes by hand with SciPy, NumPy and DuckDB.

Each row has the milliseconds of a warm call, and ours relative to the contender that counts (below
1: ours is faster) beside the ratio that is aimed at.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from bench import einsums
from bench.harness import compare

Run = Callable[[], Any]


@attrs.frozen
class Work:
    """A work: ours, the others by name, which of them counts, and the ratio that is aimed at."""

    name: str
    ours: Run
    others: dict[str, Run]
    counts: str
    aim: float


def csr(shape: tuple[int, int], density: float, seed: int) -> Any:
    """A random SciPy matrix."""
    import scipy.sparse as sp

    rng = np.random.default_rng(seed)
    return sp.random_array(shape, density=density, format="csr", rng=rng)


def tensor(matrix: Any) -> Any:
    """The matrix as a tensor of rows, with indices of SciPy's dtype."""
    import finch_array as fa

    return fa.asarray(matrix)


def one_in_a_row(matrix: Any) -> Any:
    """The matrix, of a one in each row, as a tensor that stores the columns of the ones: what the
    others have, too."""
    from finch_core import Tensor
    from finch_levels import Dense, Pattern, SparsePinpoint

    return Tensor(Dense(SparsePinpoint(Pattern())), matrix != 0)


def bound(function: Callable[..., Any], *args: Any) -> Run:
    """A fused function of these arguments."""
    import finch_array as fa

    made = fa.fused(function)
    return lambda: made(*args)


# -- linear algebra ---------------------------------------------------------------------------


def total(quick: bool) -> Work:
    """The sum of a product of three matrices."""
    import finch_array as fa

    n = 300 if quick else 1000
    A, B, C = csr((n, n), 0.1, 0), csr((n, n), 0.1, 1), csr((n, n), 0.1 / n, 2)
    ones = np.ones(n)
    ours = bound(lambda a, b, c: fa.sum(a @ b @ c), tensor(A), tensor(B), tensor(C))
    others: dict[str, Run] = {
        "left to right": lambda: ((A @ B) @ C).sum(), "right to left": lambda: (A @ (B @ C)).sum(),
        "by hand": lambda: (ones @ A) @ (B @ (C @ ones)),
    }  # fmt: skip
    return Work("sum(A @ B @ C)", ours, others, "by hand", 1.5)


def sampled(quick: bool) -> Work:
    """A product of dense matrices at the entries of a sparse one."""
    import scipy.sparse as sp

    n = 300 if quick else 1000
    S = csr((n, n), 100 / n**2, 3)
    U, V = np.random.default_rng(0).random((2, n, 64))

    def gathered() -> Any:
        i, j = S.tocoo().coords
        return sp.csr_array((S.data * np.einsum("ij,ij->i", U[i], V[j]), S.indices, S.indptr))

    ours = bound(lambda s, u, v: s * (u @ v.T), tensor(S), U, V)
    others: dict[str, Run] = {"masked": lambda: S.multiply(U @ V.T), "gathered": gathered}
    return Work("sampled product", ours, others, "gathered", 1.0)


def graph(n: int, degree: int, seed: int = 4) -> Any:
    """The adjacency matrix of a random undirected graph."""
    import scipy.sparse as sp

    found = csr((n, n), degree / 2 / n, seed)
    both = ((found + found.T) != 0).astype(np.float64)
    both.setdiag(0)
    both.eliminate_zeros()
    return sp.csr_array(both)


def triangles(quick: bool) -> Work:
    """The number of triangles of a graph."""
    import scipy.sparse as sp

    import finch_array as fa

    L = sp.csr_array(sp.tril(graph(2000 if quick else 20000, 20), -1))
    ours = bound(lambda a: fa.sum((a @ a) * a), tensor(L))
    return Work("triangles", ours, {"scipy": lambda: (L @ L).multiply(L).sum()}, "scipy", 0.5)


def covariance(quick: bool) -> Work:
    """The products of all columns of a join of two tables, 20 columns each."""
    F, K, D, keys = joined(quick)

    def ours(f: Any, k: Any, d: Any) -> Any:
        z = k @ d
        return f.T @ f, f.T @ z, z.T @ z

    def materialised() -> Any:
        X = np.hstack([F, D[keys]])
        return X.T @ X

    def factorised() -> Any:
        counts = np.bincount(keys, minlength=len(D))
        return F.T @ F, (K.T @ F).T @ D, (D * counts[:, None]).T @ D

    others: dict[str, Run] = {"materialised": materialised, "factorised": factorised}
    made = bound(ours, F, one_in_a_row(K), D)
    return Work("covariance over a join", made, others, "factorised", 1.3)


def inference(quick: bool) -> Work:
    """A linear model of the columns of a table that is joined."""
    _, K, D, keys = joined(quick)
    w = np.ones(D.shape[1])
    others: dict[str, Run] = {
        "materialised": lambda: D[keys] @ w, "factorised": lambda: (D @ w)[keys]
    }  # fmt: skip
    ours = bound(lambda k, d, w: k @ d @ w, one_in_a_row(K), D, w)
    return Work("linear model over a join", ours, others, "factorised", 1.3)


def joined(quick: bool) -> tuple[Any, Any, Any, Any]:
    """A table, its keys as a matrix of one 1 in each row, the table they refer to, the keys."""
    import scipy.sparse as sp

    n, m = (100_000, 1000) if quick else (1_000_000, 10_000)
    rng = np.random.default_rng(5)
    keys = rng.integers(0, m, n)
    K = sp.csr_array((np.ones(n), keys, np.arange(n + 1)), shape=(n, m))
    return rng.random((n, 20)), K, rng.random((m, 20)), keys


def logistic(quick: bool) -> Work:
    """The gradient of a logistic regression on a sparse design matrix."""
    from scipy.special import expit

    import finch_array as fa

    X = csr((10_000 if quick else 100_000, 1000), 0.01, 6)
    rng = np.random.default_rng(6)
    y, w = (rng.random(X.shape[0]) > 0.5).astype(float), rng.random(1000)
    ours = bound(lambda X, y, w: X.T @ (fa.expit(X @ w) - y), tensor(X), y, w)
    return Work("logistic gradient", ours, {"scipy": lambda: X.T @ (expit(X @ w) - y)}, "scipy", 1)


def factorisation(quick: bool) -> tuple[Any, Any, Any, Any]:
    """A sparse matrix, two factors, and a function for their product at its entries."""
    n, m = (500, 300) if quick else (5000, 3000)
    M = csr((n, m), 0.01, 7)
    rng = np.random.default_rng(7)
    U, V = rng.random((n, 16)), rng.random((m, 16))
    rows = np.repeat(np.arange(n), np.diff(M.indptr))
    return M, U, V, lambda: np.einsum("ij,ij->i", U[rows], V[M.indices])


def least_squares(quick: bool) -> Work:
    """The gradient of one factor of a matrix factorisation, over the entries that are known."""
    import scipy.sparse as sp

    M, U, V, at = factorisation(quick)
    ours = bound(lambda m, u, v: ((m != 0) * (u @ v.T) - m) @ v, tensor(M), U, V)

    def by_hand() -> Any:
        return sp.csr_array((at() - M.data, M.indices, M.indptr), shape=M.shape) @ V

    return Work("least squares step", ours, {"scipy": by_hand}, "scipy", 1)


def likelihood(quick: bool) -> Work:
    """The negative log-likelihood of a factorisation, at the entries that are known."""
    import finch_array as fa

    M, U, V, at = factorisation(quick)

    def ours(m: Any, u: Any, v: Any) -> Any:
        z = u @ v.T
        return fa.sum((m != 0) * fa.log1p(fa.exp(z))) - fa.sum(m * z)

    def by_hand() -> Any:
        z = at()
        return np.log1p(np.exp(z)).sum() - (M.data * z).sum()

    return Work("sampled likelihood", bound(ours, tensor(M), U, V), {"scipy": by_hand}, "scipy", 1)


WORKS: tuple[Callable[[bool], Work], ...] = (
    total, sampled, triangles, covariance, inference, logistic, least_squares, likelihood,
)  # fmt: skip


# -- subgraphs --------------------------------------------------------------------------------

PATTERNS: dict[str, str] = {
    "path of 3": "ab bc", "path of 4": "ab bc cd", "path of 5": "ab bc cd de",
    "cycle of 3": "ab bc ca", "cycle of 4": "ab bc cd da", "cycle of 5": "ab bc cd de ea",
    "clique of 3": "ab ac bc", "clique of 4": "ab ac ad bc bd cd",
    "clique of 5": "ab ac ad ae bc bd be cd ce de",
}  # fmt: skip
"""Homomorphisms of graphs by their edges; of cliques with ordered vertices."""


LARGEST, MOST = 100_000, 2e8
"""Real graphs have at most so many entries, and patterns in them so many homomorphisms: the join
engine enumerates them."""


def subgraphs(quick: bool, data: Path | None = None) -> Iterator[Work]:
    """The counts of small subgraphs, beside a join engine: of a random graph, and of the graphs in
    a folder (see ``bench/data.py``), without their directions."""
    import scipy.sparse as sp

    from bench import data as real

    yield from patterns_in("", graph(300 if quick else 3000, 12, 8))
    for name, found in () if quick else real.graphs(data, LARGEST):
        both = sp.csr_array((found + found.T) != 0).astype(np.float64)
        yield from patterns_in(f", {name}", both)


def patterns_in(name: str, G: Any) -> Iterator[Work]:
    """The counts of all patterns in the graph of a symmetric matrix."""
    import duckdb
    import scipy.sparse as sp

    base = duckdb.connect()
    base.execute("set threads to 1")
    i, j = np.repeat(np.arange(G.shape[0]), np.diff(G.indptr)), G.indices.astype(np.int64)
    lower = i > j
    for table_name, kept in (("g", np.ones(len(i), bool)), ("l", lower)):
        columns = {"s": i[kept], "t": j[kept]}  # noqa: F841 (DuckDB finds it by name)
        base.execute(f"create table {table_name} as select * from columns")
    A, L = tensor(G), tensor(sp.csr_array(sp.tril(G, -1)))
    for pattern, edges in PATTERNS.items():
        clique = pattern.startswith("clique")
        walks = np.ones(G.shape[0])  # along the pattern's first path, which bounds what is joined
        for _ in range(min(len({*edges} - {" "}) - 1, len(edges.split()))):
            walks = G @ walks
        if not clique and walks.sum() > MOST:
            continue
        yield Work(
            pattern + name, counted(edges.split(), L if clique else A),
            {"duckdb": queried(base, edges.split(), "l" if clique else "g")}, "duckdb", 0.2,
        )  # fmt: skip


def counted(edges: list[str], A: Any) -> Run:
    """The count of a pattern by a fused sum of a product."""
    import finch_array as fa

    def count(a: Any) -> Any:
        return fa.einsum(f"{','.join(edges)}->", *[a] * len(edges))

    return bound(count, A)


def queried(base: Any, edges: list[str], table: str) -> Run:
    """The count of a pattern by a join."""
    named = [f"{table} e{k}" for k in range(len(edges))]
    places: dict[str, str] = {}
    tests = []
    for k, (s, t) in enumerate(edges):
        for vertex, column in ((s, "s"), (t, "t")):
            here = f"e{k}.{column}"
            if vertex in places:
                tests.append(f"{places[vertex]} = {here}")
            else:
                places[vertex] = here
    text = f"select count(*) from {', '.join(named)} where {' and '.join(tests)}"
    return lambda: base.execute(text).fetchall()[0][0]


# -- chains -----------------------------------------------------------------------------------


def chains(quick: bool) -> list[dict[str, Any]]:
    """Products of 3 to 8 sparse factors: the best of all orders by SciPy, and one fused call."""
    rng = np.random.default_rng(9)
    ratios = []
    for k in range(10 if quick else 200):
        count = int(rng.integers(3, 9))
        shape = [int(x) for x in 2 ** rng.uniform(3, 8 if quick else 10, count + 1)]
        density = 2.0 ** rng.uniform(-9, -3, count)
        factors = [
            csr((a, b), d, 1000 * k + q)
            for q, (a, b, d) in enumerate(zip(shape, shape[1:], density, strict=False))
        ]
        ours = bound(chained, *map(tensor, factors))
        timings = compare({"finch": ours}, 0.05, 3)
        ratios.append(timings["finch"].seconds / best_order(factors))
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return [{
        "chains": len(ratios), "geometric mean": mean, "worst": max(ratios),
        "aim": "1.1, 2 at worst",
    }]  # fmt: skip


def chained(*factors: Any) -> Any:
    """The product of all factors."""
    found = factors[0]
    for factor in factors[1:]:
        found = found @ factor
    return found


def best_order(factors: list[Any]) -> float:
    """The least seconds of a product over all orders, each product of two timed by itself."""
    n = len(factors)
    made = {(k, k + 1): factor for k, factor in enumerate(factors)}
    cost = dict.fromkeys(made, 0.0)
    for width in range(2, n + 1):
        for a in range(n - width + 1):
            options = []
            for m in range(a + 1, a + width):
                left, right = made[a, m], made[m, a + width]
                timing = compare({"scipy": lambda x=left, y=right: x @ y}, 0.004, 2)["scipy"]
                options.append(cost[a, m] + cost[m, a + width] + timing.seconds)
                made[a, a + width] = left @ right
            cost[a, a + width] = min(options)
    return cost[0, n]


# -- what planning and remembered plans cost --------------------------------------------------


def warm(seconds: float, quick: bool = False) -> list[dict[str, Any]]:
    """Microseconds of calls of fused functions of some kernels on small operands, and of the same
    kernels by themselves, on the operands that they have in the plan."""
    return [warm_row(layers, seconds) for layers in ((1,) if quick else (1, 3, 8))]


def warm_row(layers: int, seconds: float) -> dict[str, Any]:
    """One row: as many kernels as ``layers``, each a product with a function of the one before."""
    import finch_array as fa
    from finch_array.plan.fusing import plan_of

    def network(A: Any, x: Any) -> Any:
        x = A @ x
        for _layer in range(layers - 1):
            x = A @ fa.tanh(x)
        return x

    A, x = tensor(csr((30, 30), 0.1, 10)), fa.asarray(np.ones(30))
    plan, sources = plan_of([network(fa.lazy(A), fa.lazy(x)).lazy_node])
    arrays = {name: sources[k] for name, k in plan.slots}
    calls = []
    for step in plan.steps:
        operands = [arrays[name] for name, _ in step.canonical.operands]
        arrays[step.kernel.name] = step(arrays)
        calls.append((step.plan, operands))

    def kernels() -> None:
        for call, operands in calls:
            call(operands)

    timings = compare({"fused": bound(network, A, x), "kernels": kernels}, seconds, 3)
    fused, alone = (timings[name].seconds * 1e6 for name in ("fused", "kernels"))
    return {
        "kernels": len(calls), "fused us": fused, "the kernels us": alone,
        "difference us": fused - alone, "aim": 10 + 5 * len(calls),
    }  # fmt: skip


def planning(quick: bool) -> list[dict[str, Any]]:
    """Milliseconds to plan chains of 10 and of 50 products, of 15 each: with operands whose
    statistics are known, and with new ones. Of each chain the least time counts."""
    rows = []
    for operators, aim in ((10, 5), (50, 100)):
        known, new = [], []
        for seed in range(2 if quick else 15):
            rng = np.random.default_rng(seed)
            shape = [int(n) for n in 2 ** rng.uniform(3, 10, operators + 2)]
            factors = [
                csr((a, b), 2.0 ** rng.uniform(-9, -3), 100 * seed + k)
                for k, (a, b) in enumerate(itertools.pairwise(shape))
            ]
            tensors = list(map(tensor, factors))
            known.append(min(planned(tensors) for _time in range(10)))
            new.append(min(planned([tensor(f.copy()) for f in factors]) for _time in range(10)))
        for kind, times in (("known", known), ("new", new)):
            rows.append({
                "products": operators, "operands": kind, "least ms": 1e3 * min(times),
                "median ms": 1e3 * float(np.median(times)), "most ms": 1e3 * max(times), "aim": aim,
            })  # fmt: skip
    return rows


def planned(tensors: list[Any]) -> float:
    """The seconds that it takes to plan a chain of products; to write it down, which is not in
    them, takes 0.02 ms a product."""
    import finch_array as fa
    from finch_array.plan.programs import Problem

    written = chained(*map(fa.lazy, tensors)).lazy_node
    start = time.process_time()
    Problem.of([written]).plan()
    return time.process_time() - start


# -- the tables -------------------------------------------------------------------------------


def row(work: Work, seconds: float) -> dict[str, Any]:
    """One row: the results are compared, then all are timed alternating."""
    check(work)
    timings = compare({"finch": work.ours, **work.others}, seconds, 3)
    found: dict[str, Any] = {"work": work.name, "finch ms": timings["finch"].seconds * 1e3}
    found["others ms"] = ", ".join(
        f"{name} {timings[name].seconds * 1e3:.3g}" for name in work.others
    )
    found["finch / " + "other"] = timings["finch"].seconds / timings[work.counts].seconds
    found["aim"] = work.aim
    return found


def check(work: Work) -> None:
    """Raise ``AssertionError`` where the results differ."""
    mine, theirs = work.ours(), work.others[work.counts]()
    if not isinstance(mine, tuple):
        mine, theirs = (mine,), (theirs,)
    for x, y in zip(mine, theirs, strict=True):
        dense = y.toarray() if hasattr(y, "toarray") else np.asarray(y)
        np.testing.assert_allclose(np.asarray(x)[tuple(map(slice, dense.shape))], dense, rtol=1e-6)


def run(
    seconds: float, quick: bool = False, data: Path | None = None
) -> list[list[dict[str, Any]]]:
    """The tables: works by hand, what planning and remembered plans cost, subgraph counts where
    DuckDB is installed, chains, einsums where the einsum benchmark is installed."""
    tables = [[row(make(quick), seconds) for make in WORKS], warm(seconds, quick), planning(quick)]
    try:
        rows = [row(work, seconds) for work in subgraphs(quick, data)]
        ratios = [found["finch / other"] for found in rows]
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        tables += [rows, [{"subgraphs": len(rows), "geometric mean": mean, "aim": 0.2}]]
    except ModuleNotFoundError as error:
        print(f"no subgraph counts: there is no {error.name}")
    tables.append(chains(quick))
    try:
        tables += einsums.run(seconds, quick)
    except ModuleNotFoundError as error:
        print(f"no einsums of random networks: there is no {error.name}")
    return tables
