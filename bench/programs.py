"""Whole programs, which read what they write: solvers, searches, recurrences; against the same by
hand in C, against Numba, and against what one would take instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from bench import data as real
from bench import generators, peers
from bench.graphs import least_members, search, shortest
from bench.races import Race, Target
from docs.examples import dynamic, graphs, solvers
from finch_core import _, asarray, kernel, stored

Runs = Mapping[str, Callable[[], Any]]
LEAST = 0.3
"""Values up to this are dropped."""


@kernel
def lower_inverse(x, L, inverse, b):
    for i in _:
        t = b[i]
        for j in range(i):
            t -= L[i, j] * x[j]
        x[i] = t * inverse[i]


@kernel
def plain_conjugate_gradients(x, A, b, r, p, q, steps):
    rr = 0.0
    for i in _:
        x[i] = 0.0
        r[i] = b[i]
        p[i] = b[i]
        rr += b[i] * b[i]
    for _step in range(steps):
        pq = 0.0
        for i in _:
            t = 0.0
            for j in _:
                t += A[i, j] * p[j]
            q[i] = t
            pq += t * p[i]
        before = rr
        rr = 0.0
        for i in _:
            x[i] += before / pq * p[i]
            t = r[i] - before / pq * q[i]
            r[i] = t
            rr += t * t
        for i in _:
            p[i] = r[i] + rr / before * p[i]


@kernel
def scale_rows(A, d):
    for i, j in _:
        A[i, j] *= d[i]


@kernel
def drop_small(B, A, least):
    B[...] = 0
    for i, j in _:
        if abs(A[i, j]) > least:
            B[i, j] = A[i, j]


@kernel
def sddmm_into(C, S, U, V):
    for i, j in _:
        if stored(C[i, j]):
            t = 0.0
            for k in _:
                t += U[i, k] * V[j, k]
            C[i, j] = S[i, j] * t


@kernel
def pagerank_steps(rank, AT, degree, share, steps):
    n = len(rank)
    for i in _:
        rank[i] = 1 / n
    for _step in range(steps):
        lost = 0.0
        for i in _:
            if degree[i] > 0:
                share[i] = rank[i] / degree[i]
            else:
                share[i] = 0.0
                lost += rank[i]
        base = (0.15 + 0.85 * lost) / n
        for j in _:
            t = 0.0
            for i in _:
                t += AT[j, i] * share[i]
            rank[j] = base + 0.85 * t


def within(times: float, *names: str) -> tuple[Target, ...]:
    """At most ``times`` as long as each of these peers."""
    return tuple(Target(name, 1 / times) for name in names)


def bound(program: Any, result: Any, *args: Any) -> Callable[[], Any]:
    """A bound call that gives ``result``, an array that it writes."""
    call = program.bind(*args)
    return lambda: (call(), result)[1]


def matrices(data: Path | None, quick: bool) -> Iterator[tuple[str, Any]]:
    side = 200 if quick else 1000
    yield f"Poisson {side} x {side}", generators.int32(solvers.poisson(side))
    size = 20_000 if quick else 100_000
    random = generators.erdos_renyi(size, 10)
    yield (
        f"random {size} x 10",
        generators.int32(random + scipy.sparse.diags_array(np.full(size, 30.0))),
    )
    for name, matrix in real.matrices(data):
        if name == "bcsstk16":
            yield name, matrix


def solves(data: Path | None, quick: bool, systems: Any) -> Iterator[Race]:
    for name, A in matrices(data, quick):
        n = A.shape[0]
        b, x, y, z = np.ones(n), np.empty(n), np.empty(n), np.empty(n)
        L, U = (generators.int32(part) for part in (scipy.sparse.tril(A), scipy.sparse.triu(A)))
        ours = {
            "finch": bound(solvers.forward, x, x, L, b),
            "finch inverse": bound(lower_inverse, y, y, L, 1 / L.diagonal(), b),
        }
        asked = (*within(1.1, "hand C"), *within(1.2, "hand C inverse"), Target("scipy", 15))
        yield _race(name, "lower solve", ours, systems, L, b, targets=asked)
        ours = {"finch": bound(solvers.backward, z, z, U, b)}
        asked = (*within(1.1, "hand C"), Target("scipy", 15))
        yield _race(name, "upper solve", ours, systems, U, b, targets=asked)
        yield swept(name, A, systems)


def swept(name: str, A: Any, systems: Any) -> Race:
    start, b = np.full(A.shape[0], 0.5), np.ones(A.shape[0])
    x = start.copy()
    call = solvers.gauss_seidel.bind(x, A, b)
    ours = {"finch": lambda: (np.copyto(x, start), call(), x)[2]}
    given = (A, b, start)
    return _race(name, "sweep", ours, systems, *given, targets=(Target("pyamg", 1.0),))


def factored(quick: bool, systems: Any) -> Iterator[Race]:
    side = 100 if quick else 300
    name, A = f"Poisson {side} x {side}", generators.int32(solvers.poisson(side))
    F = A.copy()
    call = solvers.ilu0.bind(asarray(F))
    ours = {"finch": lambda: (np.copyto(F.data, A.data), call(), F.data)[2]}
    yield _race(name, "ilu0", ours, systems, A, targets=within(1.2, "hand C merge"))
    steps, (x, r, p, q) = 200, (np.empty(side * side) for _vector in range(4))
    b = np.random.default_rng(0).random(side * side)
    ours = {"finch": bound(plain_conjugate_gradients, x, x, A, b, r, p, q, steps)}
    given = (A, b, steps)
    yield _race(
        name, "conjugate gradients", ours, systems, *given, targets=(Target("numba", 1.0),),
        tolerance=1e-5,
    )  # fmt: skip


def updated(quick: bool, systems: Any) -> Iterator[Race]:
    """In place, on what is stored."""
    size = 10_000 if quick else 100_000
    A, d = generators.erdos_renyi(size, 10), np.ones(size)
    name, B = f"random {size} x 10", A.copy()
    ours = {"finch": bound(scale_rows, B.data, asarray(B), d)}
    yield _race(name, "scale rows", ours, systems, A, d, targets=within(1.1, "hand C"))
    A.data -= 0.5
    C = asarray(A).copy()

    def dropped() -> Any:
        drop_small(C, A, LEAST)
        return lambda: C.buffers["2_val"]

    ours = {"finch": dropped}
    yield _race(
        name, "drop small", ours, systems, A, LEAST, targets=within(1.3, "hand C branchless")
    )
    S = generators.erdos_renyi(size // 5, 10)
    for rank in (8, 16, 64):
        U, V = (np.random.default_rng(k).random((size // 5, rank)) for k in range(2))
        T = asarray(S)
        into = T.like()
        ours = {"finch": bound(sddmm_into, into.buffers["2_val"], into, T, U, V)}
        asked = within(1.15, "hand C lanes")
        yield _race(
            f"{size // 5} x 10, rank {rank}", "SDDMM into", ours, systems, S, U, V, targets=asked
        )


def searched(data: Path | None, quick: bool, systems: Any) -> Iterator[Race]:
    scale, side = (12, 64) if quick else (16, 512)
    sets = [
        (f"rmat {scale} x 16", generators.rmat(scale, 16)),
        (f"grid {side} x {side}", generators.grid(side)),
    ]
    sets += [
        (name, g) for name, g in real.graphs(data) if name in ("loc-Gowalla", "luxembourg_osm")
    ]
    for name, graph in sets:
        source = int(np.argmax(np.diff(graph.indptr)))
        yield search(name, graph, source, systems, 0.0, "")
        yield shortest(name, graph, source, systems, "")
        both = generators.int32(graph + graph.T)
        A = graphs.stored(both)
        yield _race(
            name, "components", {"finch": lambda A=A: graphs.components(A)}, systems, both,
            value=least_members, targets=within(1.2, "hand C"),
        )  # fmt: skip
        for work in ("cores", "matching"):
            ours = {"finch": lambda A=A, work=work: getattr(graphs, work)(A)}
            yield _race(name, work, ours, systems, both, targets=within(1.2, "hand C"), exact=True)
    graph = sets[0][1]
    _A, AT = graphs.both_ways(graph)
    n, degree = graph.shape[0], np.diff(graph.indptr)
    rank, share = np.empty(n), np.empty(n)
    ours = {"finch": bound(pagerank_steps, rank, rank, AT, degree, share, 50)}
    given = (graph, 50)
    yield _race(sets[0][0], "pagerank steps", ours, systems, *given, targets=within(1.1, "hand C"))
    D = np.random.default_rng(0).random((100, 100) if quick else (400, 400))
    np.fill_diagonal(D, 0.0)
    asked = within(1.2, "hand C")
    ours = {"finch": lambda: graphs.floyd_warshall(D)}
    yield _race(f"{len(D)}", "all pairs dense", ours, systems, D, targets=asked)


def recurring(quick: bool, systems: Any) -> Iterator[Race]:
    generator = np.random.default_rng(0)
    n = 100_000 if quick else 10_000_000
    x, y = generator.random(n), np.empty(n)
    ours = {"finch": bound(dynamic.prefix_sums, y, y, x)}
    yield _race(f"{n:.0e}", "prefix sums", ours, systems, x, targets=within(1.1, "hand C"))
    n //= 10
    x, z, b, a = (
        generator.random(n),
        np.empty(n),
        np.array([0.2, 0.4, 0.2]),
        np.array([1, -0.3, 0.1]),
    )
    ours = {"finch": bound(dynamic.second_order, z, z, x, b, a)}
    yield _race(f"{n:.0e}", "second order", ours, systems, x, b, a, targets=within(1.1, "hand C"))
    n = 300 if quick else 2000
    u, v = (generator.integers(0, 4, n).astype(np.int32) for _word in range(2))
    table, diagonals = np.zeros((n + 1, n + 1), np.int32), np.zeros((2 * n + 1, n + 1), np.int32)
    ours = {
        "finch": bound(dynamic.edit_table, table[-1:, -1], table, u, v),
        "finch diagonals": bound(dynamic.edit_diagonals, diagonals[-1:, -1], diagonals, u, v),
    }
    asked = (*within(1.1, "hand C"), *within(1.5, "hand C diagonals"))
    yield _race(f"{n} x {n}", "edit distance", ours, systems, u, v, targets=asked)


def _race(name: str, work: str, ours: Runs, systems: Any, *given: Any, **more: Any) -> Race:
    theirs = peers.contenders(systems, work.replace(" ", "_").lower(), *given)
    return Race(name, ours, theirs, work=work, **more)


def races(systems: Any, data: Path | None, quick: bool) -> Iterator[Race]:
    yield from solves(data, quick, systems)
    yield from factored(quick, systems)
    yield from updated(quick, systems)
    yield from searched(data, quick, systems)
    yield from recurring(quick, systems)
