"""Dask arrays of tensors on two worker processes, on one, and the same work in a plain process.

Both clusters run at the same time, and they and this process hold the same data; each program runs
on them in turn, several times, and the least times count. The plain process has no dask: it calls
the products on its blocks in a loop, on one thread. ``work`` is the processor's time of both
workers as a multiple of that of the plain process: 2 divided by it is what an idle machine of two
cores could gain over that. The load stands beside the figures, as what else the machine does
counts. The second table has the cost of a task that does almost nothing, on chunks that are tensors
and on chunks of NumPy, whose cost is dask's own.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "docs" / "examples"))  # the workers' path, too

import beyond
import dask
import dask.array as da
import numpy as np
from dask.distributed import Client, futures_of, wait

from finch_core import Tensor, set_threads
from finch_core.runtime.threads import threads

ASKED = 1.5
"""How many times faster two workers should be on work of more than a second."""
VECTORS = 20
ROUNDS = 10
SQUARED = 16
"""Entries of a row, about, of the matrix that is multiplied by itself."""
PIECE = 2**18
"""The most columns of a block in products with vectors: 2 MB of a vector, which the last
cache holds for each worker."""
LINKS = 20
"""Links of a page, about, in the second graph, whose vectors are longer beside its matrix."""
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4
"""Options of glibc's ``mallopt``."""
Programs = dict[str, Callable[[], Any]]
AS_HERE = {"distributed.scheduler.active-memory-manager.start": False}
"""Operands that both workers need stay with both; dask's manager would drop one copy every 2 s."""


def run(entries: int, only: str | None = None, repeats: int = 3) -> list[list[dict[str, Any]]]:
    """The gain of a second worker for each program, and the cost of a task; of those alone with
    ``only`` in their names."""
    keep_memory()
    with (
        dask.config.set(AS_HERE),
        beyond.start(1, "12GB", beyond.KEPT) as single,
        beyond.start(2, "12GB", beyond.KEPT) as double,
        Client(single, set_as_default=False) as one, Client(double, set_as_default=False) as two,
    ):  # fmt: skip
        found = [gains(one, two, entries, repeats, only or "")]
        return [*found, costs(one, repeats)] if only is None else found


def keep_memory() -> None:
    """Set the allocator of this process as ``beyond.KEPT`` does that of workers (glibc alone)."""
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(M_TRIM_THRESHOLD, -1)  # never
        library.mallopt(M_MMAP_MAX, 0)


def gains(
    one: Client, two: Client, entries: int, repeats: int, only: str = ""
) -> list[dict[str, Any]]:
    """A row for each program: the least seconds of the plain process, one worker and two."""
    rows = []
    for name in (name for name in PROGRAMS if only in name):
        on_workers, here = PROGRAMS[name]
        programs: dict[Client | None, Callable[[], Any]] = {None: here(entries)}
        for client in (one, two):
            with client.as_current():
                programs[client] = on_workers(entries)
        found = alternating(programs, repeats)
        (alone, work), (single, _), (double, both) = found.values()
        rows.append(
            {"program": name, "plain (s)": alone, "one (s)": single, "two (s)": double,
             "over plain": alone / double, "over one": single / double, "asked": ASKED,
             "work": both / work, "load": os.getloadavg()[0]}
        )  # fmt: skip
    return rows


# -- programs over data that the workers of the present client hold -----------------------------
#
# The matrices are spread over the workers by two rows of blocks, of ``PIECE`` columns at most; what
# all blocks are multiplied by lies with every worker.


def products(entries: int) -> Callable[[], Any]:
    """Products of one matrix and several vectors."""
    A = spread(entries // beyond.ROW, beyond.ROW)
    vectors = [da.from_array(x, chunks=(A.chunks[1],)).persist() for x in drawn(A.shape[1])]
    Client.current().replicate(futures_of(vectors))
    return lambda: held(*(beyond.product(A, x) for x in vectors))


def square(entries: int) -> Callable[[], Any]:
    """The sums of rows of a matrix times itself: the left one by rows, the right one by columns."""
    n = entries // beyond.ROW // 2
    A = spread(n, SQUARED, columns=n)
    right = A.rechunk((n, -(-n // 2))).persist()
    wait(right)
    Client.current().replicate(futures_of(right))
    return lambda: held(beyond.product(A, right).sum(axis=1))


def ranked(row: int) -> Callable[[int], Callable[[], Any]]:
    """PageRank of a graph of ``row`` links for each page."""

    def program(entries: int) -> Callable[[], Any]:
        A = spread(entries // row, row)
        return lambda: held(beyond.pagerank(A, rounds=ROUNDS))

    return program


def spread(n: int, row: int, columns: int = PIECE) -> Any:
    """A matrix of ``n`` rows, held by the workers."""
    A = beyond.random_matrix(n, n, (-(-n // 2), columns), row).persist()
    wait(A)
    return A


def held(*results: Any) -> None:
    """Compute results, which stay with the workers."""
    wait(dask.persist(*results))


def drawn(n: int) -> list[np.ndarray]:
    """The vectors of the products."""
    return [np.linspace(0, 1 + k, n) for k in range(VECTORS)]


# -- the same over the same blocks in this process, without dask --------------------------------


def plain_products(entries: int) -> Callable[[], Any]:
    A = blocks_of(entries // beyond.ROW, beyond.ROW)
    widths = [block.shape[1] for block in A[0]]
    vectors = [list(beyond.cut([x], widths)) for x in drawn(sum(widths))]
    return lambda: [[beyond.products(row, x) for row in A] for x in vectors]


def plain_square(entries: int) -> Callable[[], Any]:
    n = entries // beyond.ROW // 2
    A = [row[0] for row in blocks_of(n, SQUARED, columns=n)]
    whole, half = np.concatenate(A), -(-n // 2)
    right = [whole[:, :half], whole[:, half:]]
    return lambda: [sum((block @ part).sum(axis=1) for part in right) for block in A]


def plain_ranked(row: int) -> Callable[[int], Callable[[], Any]]:
    def program(entries: int) -> Callable[[], Any]:
        A = blocks_of(entries // row, row)
        return lambda: pagerank(A)

    return program


def blocks_of(n: int, row: int, columns: int = PIECE) -> list[list[Tensor]]:
    """The rows of blocks of ``beyond.random_matrix`` of ``n`` rows and columns."""
    rows, chunks = sizes = da.core.normalize_chunks((-(-n // 2), columns), (n, n))
    return [
        [beyond.random_rows(n, n, row, (r, c), sizes) for c in range(len(chunks))]
        for r in range(len(rows))
    ]


def pagerank(A: list[list[Tensor]], damping: float = 0.85, rounds: int = ROUNDS) -> np.ndarray:
    """``beyond.pagerank`` over rows of blocks in this process."""
    share = beyond.shares([beyond.column_sums(row) for row in A])
    firsts = np.cumsum([0, *(row[0].shape[0] for row in A[:-1])]).tolist()
    n = len(share)
    x, factor = [share], damping / n
    for last in range(rounds):
        places = firsts if last < rounds - 1 else [None] * len(firsts)
        x = [
            beyond.pagerank_round(row, x, share, first, factor, (1 - damping) / n)
            for row, first in zip(A, places, strict=True)
        ]
        factor = damping
    return np.concatenate(x)


PROGRAMS = {
    f"SpMV, {VECTORS} times": (products, plain_products),
    "SpGEMM": (square, plain_square),
    f"PageRank, {beyond.ROW} links": (ranked(beyond.ROW), plain_ranked(beyond.ROW)),
    f"PageRank, {LINKS} links": (ranked(LINKS), plain_ranked(LINKS)),
}
"""What is compared: over workers and in this process, each from the number of entries."""


def alternating(
    programs: dict[Client | None, Callable[[], Any]], repeats: int
) -> dict[Client | None, tuple[float, float]]:
    """The least seconds of the program in each place (None: this process), and the least of the
    processors' there."""
    found: dict[Client | None, list[tuple[float, float]]] = {place: [] for place in programs}
    for _round in range(repeats + 1):
        for place, program in programs.items():
            found[place].append(timed(program) if place is None else timed_on(place, program))
    warm = {place: zip(*times[1:], strict=True) for place, times in found.items()}
    return {place: tuple(map(min, columns)) for place, columns in warm.items()}  # type: ignore[misc]


def timed(program: Callable[[], Any]) -> tuple[float, float]:
    """The seconds of a program on one thread of this process, and the thread's of the processor."""
    before = threads()
    set_threads(1)
    try:
        worked, start = time.thread_time(), time.perf_counter()
        program()
        return time.perf_counter() - start, time.thread_time() - worked
    finally:
        set_threads(before)


def timed_on(client: Client, program: Callable[[], Any]) -> tuple[float, float]:
    """The seconds of a program on the workers of a client, and their processors'."""
    with client.as_current():
        before, start = worked(client), time.perf_counter()
        program()
        return time.perf_counter() - start, worked(client) - before


def worked(client: Client) -> float:
    """The processor's seconds of all workers."""
    return sum(client.run(time.process_time).values())


def costs(client: Client, repeats: int, blocks: int = 500) -> list[dict[str, Any]]:
    """Milliseconds of a task on a chunk of 10 x 10, of tensors and of NumPy's arrays."""
    programs: dict[str, Programs] = {}
    with client.as_current():
        sparse = beyond.random_matrix(10 * blocks, 10, (10, 10), row=4).persist()
        dense = da.ones((10 * blocks, 10), chunks=(10, 10)).persist()
        if not 0 < float(sparse.sum().compute()) < float(dense.sum().compute()):
            raise AssertionError("the chunks are not what they should be")
        for kind, array in (("tensors", sparse), ("NumPy", dense)):
            programs[kind] = {
                "A + A": lambda array=array: wait((array + array).persist()),
                "A @ x": lambda array=array: wait((array @ np.ones(10)).persist()),
                "A.sum(axis=1)": lambda array=array: wait(array.sum(axis=1).persist()),
            }
        return [cost(client, name, programs, repeats, blocks) for name in programs["tensors"]]


def cost(
    client: Client, name: str, programs: dict[str, Programs], repeats: int, blocks: int
) -> dict[str, Any]:
    """A row: the least of alternating runs, over the number of tasks; and the processor's time of
    the worker, which other work on the machine does not change."""
    least = {kind: [float("inf")] * 2 for kind in programs}
    for _round in range(repeats + 1):
        for kind, given in programs.items():
            before, start = worked(client), time.perf_counter()
            given[name]()
            took = (time.perf_counter() - start, worked(client) - before)
            least[kind] = [*map(min, least[kind], took)]
    tensors, arrays = ([1e3 * x / blocks for x in least[kind]] for kind in ("tensors", "NumPy"))
    return {
        "task": name, "tensors (ms)": tensors[0], "NumPy (ms)": arrays[0],
        "difference (ms)": tensors[0] - arrays[0], "of the processor": tensors[1] - arrays[1],
    }  # fmt: skip
