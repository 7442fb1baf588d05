"""Whole programs, which read what they write: solvers, searches, recurrences; against the same by
hand in C, against Numba, and against what one would take instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from bench import data as real
from bench import generators, peers
from bench.graphs import least_members, search, shortest
from bench.races import Race, Target
from bench.whole import (
    drop_small,
    fibers_of_five,
    label_round,
    ldl,
    lower_inverse,
    pagerank_steps,
    plain_conjugate_gradients,
    scale_rows,
    sddmm_into,
    search_in_order,
    ttv_into,
    upper_inverse,
)
from docs.examples import dynamic, graphs, solvers
from finch_core import asarray

Runs = Mapping[str, Callable[[], Any]]
LEAST = 0.3
"""Values up to this are dropped."""


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
        b, (w, x, y, z) = np.ones(n), (np.empty(n) for _vector in range(4))
        L, U = (generators.int32(part) for part in (scipy.sparse.tril(A), scipy.sparse.triu(A)))
        ours = {
            "finch": bound(solvers.forward, x, x, L, b),
            "finch inverse": bound(lower_inverse, y, y, L, 1 / L.diagonal(), b),
        }
        asked = (*within(1.1, "hand C"), *within(1.2, "hand C inverse"), Target("scipy", 15))
        yield _race(name, "lower solve", ours, systems, L, b, targets=asked)
        ours = {
            "finch": bound(solvers.backward, z, z, U, b),
            "finch inverse": bound(upper_inverse, w, w, U, 1 / U.diagonal(), b),
        }
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
        asked = within(1.15, "hand C lanes", "numba")
        yield _race(
            f"{size // 5} x 10, rank {rank}", "SDDMM into", ours, systems, S, U, V, targets=asked
        )
    yield sums_of_fibers(size // 5, systems)


def sums_of_fibers(rows: int, systems: Any) -> Race:
    into, A, x = fibers_of_five(rows)
    ours = {"finch": bound(ttv_into, into.buffers["2_val"], into, A, x)}
    name = f"{into.nstored} fibers of 5"
    given = (A.shape, A.buffers, x)
    return _race(name, "TTV into", ours, systems, *given, targets=within(1.15, "hand C"))


def decomposed(quick: bool, systems: Any) -> Iterator[Race]:
    """L D L^T of a matrix, whose rows come in their natural order or in that of least degrees."""
    side = 30 if quick else 100
    A = solvers.poisson(side)
    options = {"SymmetricMode": True, "DiagPivotThresh": 0.0}
    factors = scipy.sparse.linalg.splu(A.tocsc(), permc_spec="MMD_AT_PLUS_A", options=options)
    order = np.argsort(factors.perm_c)
    for name, given in (("natural order", A), ("least degrees", A[order][:, order])):
        B, pattern = generators.int32(given), solvers.filled(given)
        pattern.data[:] = 1.0
        rows = generators.int32(scipy.sparse.tril(pattern, -1))
        columns = generators.int32(rows.T)
        inverse, U = np.empty(len(order)), columns.copy()
        ours = {"finch": bound(ldl, inverse, asarray(U), inverse, B, rows)}
        ordered, given = f"Poisson {side} x {side}, {name}", (B, rows, columns)
        yield _race(ordered, "LDL", ours, systems, *given, targets=within(1.3, "hand C"))


AHEAD = tuple(Target(name, 1.0) for name in ("scipy", "igraph"))


def _into(program: Any, A: Any, *given: Any) -> Callable[[], Any]:
    """A bound call that gives a new array of int32, one for each row, which it writes."""
    found = np.empty(A.shape[0], np.int32)
    return bound(program, found, found, A, *given)


def found_from(name: str, graph: Any, source: int, systems: Any) -> Race:
    """A search into memory that is there; those of the examples pull in parallel loops."""
    race, n = search(name, graph, source, systems, 0.0, ""), graph.shape[0]
    A, AT = graphs.both_ways(graph)
    ours = {
        f"finch {way}": _into(graphs._search, A, AT, source, share * n)
        for way, share in (("push-pull", 0.05), ("push", 2.0))
    }
    ours["finch in order"] = _into(search_in_order, A, AT, source, 0.05 * n)
    asked = (*within(1.25, "hand C queue", "hand C push-pull"), Target("numba push", 1.0))
    return attrs.evolve(race, ours=ours, targets=asked)


def reached(name: str, graph: Any, source: int, systems: Any) -> Race:
    """Shortest paths. The target is C with a queue of changed vertices, but on grids, where that is
    slow."""
    race = shortest(name, graph, source, systems, "")
    asked = within(1.2, "hand C queue") if not name.startswith("grid") else ()
    return attrs.evolve(race, targets=asked)


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
        yield found_from(name, graph, source, systems)
        yield reached(name, graph, source, systems)
        both = generators.int32(graph + graph.T)
        A = graphs.stored(both)
        yield _race(
            name, "components", {"finch": _into(graphs._components, A)}, systems, both,
            value=least_members, targets=(*within(1.2, "hand C"), *AHEAD),
        )  # fmt: skip
        for work, program in (("cores", graphs._cores), ("matching", graphs._matching)):
            ours = {"finch": _into(program, A)}
            yield _race(name, work, ours, systems, both, targets=within(1.2, "hand C"), exact=True)
        labels = np.arange(both.shape[0], dtype=np.int32)
        ours = {"finch": _into(label_round, A, labels)}
        given = (both, labels)
        yield _race(
            name, "label round", ours, systems, *given, targets=within(1.2, "hand C"), exact=True
        )
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
    found = peers.aligned(D)
    ours = {"finch": lambda: (np.copyto(found, D), graphs.all_pairs(found), found)[2]}
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
    yield from decomposed(quick, systems)
    yield from searched(data, quick, systems)
    yield from recurring(quick, systems)
