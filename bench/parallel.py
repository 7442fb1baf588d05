"""Parallel loops on two threads beside the same loops in order.

Wall-clock times, the least of many alternating calls in ``PASSES`` over the page, each with arrays
of its own, as a pass of a few seconds measures where its arrays lie and what the neighbours on the
machine did: all columns get as many calls. ``2 at once`` is what the machine gives: how many times
faster two calls of the loop in order end, each on a thread and arrays of its own, than one after
the other. ``work`` is the processor time of all threads on two threads, as a multiple of the
sequential loop's: 2 divided by it is what an idle machine could gain (``bench.spans`` has parts
that wait counted). Peers run on one and on two threads, too; their columns are their time as a
multiple of ours on as many. Their threads spin for a while after a loop: they take turns with ours
in groups, and have ended when the next group begins. The load stands beside the figures.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import math
import os
import textwrap
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from bench.peers.on_threads import PEERS, peers, use
from finch_core import Tensor, _, coalesce, kernel, parallel, set_threads
from finch_levels import Dense, Element, Scalar, SparseByteMap, SparseList

ASKED = {
    "spmv uniform": 1.7, "spmv power law": 1.6, "spmm": 1.7, "sddmm": 1.7, "spgemm": 1.5,
    "mttkrp": 1.7, "triangles": 1.6, "erosion": 1.6, "histogram": 1.6, "pull": 1.3,
}  # fmt: skip
"""How many times faster two threads should be than the sequential loop."""
CSR = Dense(SparseList(Element(0.0)))
ROUNDS, PAUSE, PASSES = 4, 0.3, 3
"""How often groups of contenders take turns, the seconds between them, and passes over the page."""
LONG = 0.002
"""Seconds beside which the time that a sleeping thread takes to begin is small."""


def spmv(y, A, x):
    y[...] = 0
    for i in parallel(_):
        for j in _:
            y[i] += A[i, j] * x[j]


def spmm(C, A, B):
    C[...] = 0
    for i in parallel(_):
        for j, k in _:
            C[i, k] += A[i, j] * B[j, k]


def sddmm(C, S, A, B):
    C[...] = 0
    for i in parallel(_):
        for j, k in _:
            C[i, j] += S[i, j] * A[i, k] * B[j, k]


def spgemm(C, A, B):
    w = Tensor(SparseByteMap(Element(0.0)))
    C[...] = 0
    for i in parallel(_):
        w[...] = 0
        for k, j in _:
            w[j] += A[i, k] * B[k, j]
        for j in _:
            C[i, j] = w[j]


def mttkrp(D, A, B, C):
    D[...] = 0
    for i in parallel(_):
        for j, k, r in _:
            D[i, r] += A[i, j, k] * B[j, r] * C[k, r]


def triangles(count, L):
    count[...] = 0
    for i in parallel(_):
        for j, k in _:
            if L[i, j] and L[i, k] and L[j, k]:
                count[()] += 1


def erosion(out, image):
    for y in parallel(_):
        for x in _:
            out[y, x] = (
                coalesce(image[~(y - 1), x], np.uint8(1))
                & image[y, x]
                & coalesce(image[~(y + 1), x], np.uint8(1))
            )


def histogram(bins, image):
    bins[...] = 0
    for y in parallel(_):
        for x in _:
            bins[image[y, x]] += 1


def pull(parents, frontier, AT):
    for j in parallel(_):
        if parents[j] < 0:
            for i in _:
                if AT[j, i] != 0 and frontier[i]:
                    parents[j] = i
                    break


def short(y, x):
    for i in parallel(_):
        y[i] += x[i]


def in_order(function: Callable[..., Any]) -> Any:
    """The kernel of a function without ``parallel``."""
    text = textwrap.dedent(inspect.getsource(function))
    name = f"<{function.__name__} in order>"
    text = ast.unparse(_Sequential().visit(ast.parse(text)))
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope = dict(globals())
    exec(compile(text, name, "exec"), scope)
    return kernel(scope[function.__name__])


class _Sequential(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        is_it = isinstance(node.func, ast.Name) and node.func.id == "parallel"
        return node.args[0] if is_it else node


def matrix(generator: Any, size: int, degrees: Any) -> Any:
    import scipy.sparse

    rows = np.repeat(np.arange(size), degrees)
    columns = generator.integers(0, size, len(rows))
    values = generator.random(len(rows))
    return scipy.sparse.csr_array((values, (rows, columns)), shape=(size, size))


def cases(scale: float) -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    g, n = np.random.default_rng(0), int(200_000 * scale)
    uniform = Tensor(CSR, matrix(g, n, np.full(n, 10)))
    power = Tensor(CSR, matrix(g, n, np.minimum((g.pareto(1.2, n) * 4 + 1).astype(int), n // 4)))
    x, y = g.random(n), np.zeros(n)
    yield "spmv uniform", spmv, (y, uniform, x)
    yield "spmv power law", spmv, (y, power, x)
    few = g.random((n, 16))
    yield "spmm", spmm, (np.zeros((n, 16)), uniform, few)
    yield "sddmm", sddmm, (Tensor(CSR), uniform, few, few)
    m = n // 6
    small = Tensor(CSR, matrix(g, m, np.full(m, 8)))
    yield "spgemm", spgemm, (Tensor(CSR), small, small)
    cube = g.random((n // 400, 300, 300)) * (g.random((n // 400, 300, 300)) < 0.03)
    csf = Tensor(Dense(SparseList(SparseList(Element(0.0)))), cube)
    yield (
        "mttkrp",
        mttkrp,
        (np.zeros((n // 400, 16)), csf, g.random((300, 16)), g.random((300, 16))),
    )
    import scipy.sparse

    graph = matrix(g, m // 2, np.full(m // 2, 16))
    lower = Tensor(CSR, scipy.sparse.tril(graph + graph.T, -1).tocsr())
    yield "triangles", triangles, (Scalar(0), lower)
    side = int(3000 * scale**0.5)
    grey = g.integers(0, 256, (side, side), dtype=np.uint8)
    yield "erosion", erosion, (np.zeros_like(grey), grey & 1)
    yield "histogram", histogram, (np.zeros(256, int), grey)
    parents = np.where(g.random(n) < 0.5, 0, -1)
    yield "pull", pull, (parents, g.random(n) < 0.05, uniform)
    yield "1,000 elements", short, (np.zeros(1000), np.ones(1000))


def run(seconds: float = 2.0, scale: float = 1.0) -> list[dict[str, Any]]:
    """A row for each program."""
    found: dict[str, Best] = {}
    for _pass in range(PASSES):
        for name, function, args in cases(scale):
            best = found.setdefault(name, {})
            for key, times in _raced(name, function, args, seconds).items():
                best[key] = _lesser(best.get(key, times), times)
    set_threads(None)
    return [_row(name, best) for name, best in found.items()]


Best = dict[str, tuple[float, float]]
"""The least wall-clock time of each contender, and the least processor time, in seconds."""


def _raced(name: str, function: Callable[..., Any], args: tuple[Any, ...], seconds: float) -> Best:
    ours = {"order": (in_order(function), 1)}
    ours |= {str(n): (kernel(function), n) for n in (1, 2, 7)}
    groups = [_called(key, loop, n, args) for key, (loop, n) in ours.items()]
    with ThreadPoolExecutor(1) as pool:
        twice = _Twice(ours["order"][0], args, pool)
        both = {"at once": (twice.prepare, twice.run)}
        others = [_peer(peer, run) for peer, run in peers(name, args).items()]
        best = _least([dict(groups) | both, *others], args, seconds)
    best["at once"] = best["at once"][0] / twice.calls, 0
    return best | {"load": (os.getloadavg()[0], 0)}


def _row(name: str, best: Best) -> dict[str, Any]:
    order = best["order"][0]
    row = {"program": name, "in order ms": order * 1e3, "1 thread": best["1"][0] / order}
    row |= {"2 threads": order / best["2"][0], "asked for": ASKED.get(name, "")}
    row |= {"2 at once": 2 * order / best["at once"][0]}
    row |= {"work": best["2"][1] / best["order"][1], "7 / 2": best["7"][0] / best["2"][0]}
    for peer in PEERS:
        for n in "12":
            theirs = best.get(f"{peer} {n}")
            row[f"{peer} {n}"] = theirs[0] / best[n][0] if theirs else ""
    return {**row, "load": round(best["load"][0], 1)}


def _lesser(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return min(one[0], other[0]), min(one[1], other[1])


Contenders = dict[str, tuple[Callable[[], Any], Callable[[], Any]]]
"""What lets each run on its threads, and what runs it."""


def _called(key: str, loop: Any, threads: int, args: tuple[Any, ...]) -> tuple[str, Any]:
    return key, (partial(set_threads, threads), partial(loop, *args))


class _Twice:
    """The loop in order on two threads at once, each with arrays of its own, often enough that
    waking a thread does not count."""

    def __init__(self, loop: Any, args: tuple[Any, ...], pool: Executor) -> None:
        self.loop, self.args, self.pool = loop, args, pool
        self.copies = tuple(arg.copy() for arg in args)
        loop(*args)
        start = time.perf_counter()
        loop(*args)
        self.calls = math.ceil(LONG / (time.perf_counter() - start))

    def prepare(self) -> None:
        set_threads(1)
        for copy, arg in zip(self.copies, self.args, strict=True):
            if isinstance(copy, np.ndarray):
                copy[...] = arg

    def run(self) -> None:
        other = self.pool.submit(self.repeat, self.copies)
        self.repeat(self.args)
        other.result()

    def repeat(self, args: tuple[Any, ...]) -> None:
        for _call in range(self.calls):
            self.loop(*args)


def _peer(peer: str, run: Callable[[], Any]) -> Contenders:
    return {f"{peer} {n}": (partial(use, peer, n), run) for n in (1, 2)}


def _least(groups: list[Contenders], args: tuple[Any, ...], seconds: float) -> Best:
    copied = [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]
    best = {name: (np.inf, np.inf) for group in groups for name in group}
    for group in groups * ROUNDS:
        ends, again = time.perf_counter() + seconds / ROUNDS, True
        while again:
            for name, (prepare, loop) in group.items():
                prepare()
                for held, arg in zip(args, copied, strict=True):
                    if isinstance(arg, np.ndarray):
                        held[...] = arg
                start, used = time.perf_counter(), time.process_time()
                loop()
                taken = time.perf_counter() - start, time.process_time() - used
                best[name] = _lesser(best[name], taken)
            again = time.perf_counter() < ends
        if len(groups) > 1:
            time.sleep(PAUSE)
    return best
