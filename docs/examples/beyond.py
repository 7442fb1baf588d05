"""Beyond one machine: tensors as chunks of dask arrays, held by two processes.

    python docs/examples/beyond.py [entries] [--memory 1020MB] [--workers 2] [--blocks 32]

A matrix of ``entries`` random numbers (12 bytes each; by default 1.03 GB, more than the memory of a
worker) is made by the workers, by blocks of rows, and stays there. Products, PageRank and conjugate
gradients run on it; a worker is killed in the midst. After each part is told what was moved.
"""

from __future__ import annotations

import argparse
import os
import signal
import threading
import time
from collections.abc import Iterator
from functools import reduce
from operator import add, matmul
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster, wait

import finch_array as fa
from finch_core import Tensor, _, kernel
from finch_levels import Dense, Element, SparseList

CSR = Dense(SparseList(Element(0.0), index=np.int32, pointer=np.int32))
VECTOR = Dense(Element(0.0))
DENSE = Dense(VECTOR)
ROW = 64
"""Entries of a row, about."""


# -- matrices that the workers make -------------------------------------------------------------


def random_rows(
    n: int, m: int, row: int = ROW, block_id: tuple[int, int] = (0, 0), sizes: Any = None
) -> Tensor:
    """A block of random numbers, the same for the same place: ``row`` in a row of the matrix."""
    rows, columns = sizes[0][block_id[0]], sizes[1][block_id[1]]
    generator = np.random.default_rng(block_id)
    gap = m // row
    place = np.cumsum(generator.integers(1, 2 * gap, rows * columns // gap + 1))
    place = place[: np.searchsorted(place, rows * columns)]
    starts = np.searchsorted(place, np.arange(rows + 1) * columns)
    place %= columns
    found = {
        "1_ptr": starts.astype(np.int32), "1_idx": place.astype(np.int32),
        "2_val": generator.random(len(place)),
    }  # fmt: skip
    return Tensor.from_buffers(CSR, (rows, columns), found)


def random_matrix(n: int, m: int, chunks: tuple[int, int], row: int = ROW) -> Any:
    """A dask array of random blocks."""
    sizes = da.core.normalize_chunks(chunks, (n, m))
    return da.map_blocks(
        random_rows, n, m, row, sizes=sizes, chunks=sizes, dtype=float, meta=Tensor(CSR, (0, 0))
    )


def grid_rows(side: int, rows: int, block_id: tuple[int, int] = (0, 0)) -> Tensor:
    """A block of rows of the five-point Laplacian of a square grid plus the identity."""
    n, first = side * side, block_id[0] * rows
    count = min(rows, n - first)
    i = np.arange(first, first + count)
    neighbours = [
        (i - side, i >= side), (i - 1, i % side != 0), (i + 1, i % side != side - 1),
        (i + side, i < n - side),
    ]  # fmt: skip
    coords = [(i - first, i, np.full(count, 5.0))]
    coords += [((i - first)[ok], j[ok], np.full(int(ok.sum()), -1.0)) for j, ok in neighbours]
    r, c, v = (np.concatenate(part) for part in zip(*coords, strict=True))
    return fa.from_coo((r, c), v, (count, n), format=CSR)


def grid_matrix(side: int, blocks: int) -> Any:
    """A dask array of blocks of rows of a Laplacian."""
    rows = -(-(side * side) // blocks)
    sizes = da.core.normalize_chunks((rows, side * side), (side * side, side * side))
    return da.map_blocks(grid_rows, side, rows, chunks=sizes, dtype=float, meta=Tensor(CSR, (0, 0)))


# -- programs over blocks ----------------------------------------------------------------------


@kernel
def row_sums_of_squares(y, A):
    y[...] = 0
    for i, j in _:
        y[i] += A[i, j] * A[i, j]
    return y


def squares(block: Any) -> Any:
    """A kernel on a block."""
    return row_sums_of_squares(Tensor(VECTOR), block)


@kernel
def add_product(y, A, x, factor):
    for i in _:
        total = 0.0
        for j in _:
            total += A[i, j] * x[j]
        y[i] += factor * total
    return y


def products(blocks: list[Any], parts: list[Any]) -> Any:
    """The sum of the products of the blocks of a row and the parts of a vector or a matrix."""
    if not isinstance(parts[0], np.ndarray) or parts[0].ndim > 1:
        return reduce(add, map(matmul, blocks, parts))
    y = np.zeros(blocks[0].shape[0])
    for block, part in zip(blocks, parts, strict=True):
        add_product(y, block, part, 1.0)
    return y


def product(A: Any, x: Any) -> Any:
    """``A @ x`` for a vector or a matrix, as one task for each block of the result.

    Dask joins it with the elementwise operations around it; its own ``A @ x`` has more tasks.
    """
    columns = "k" * (x.ndim - 1)
    meta = A._meta @ x._meta
    return da.blockwise(products, "i" + columns, A, "ij", x, "j" + columns, meta=meta)


def column_sums(blocks: list[Any]) -> Any:
    """The sums of the columns of a row of blocks."""
    return np.concatenate([np.asarray(block.sum(axis=0)) for block in blocks])


def shares(sums: list[Any]) -> Any:
    """1 over the sums of the columns, of which each row of blocks has a part; 0 for 0."""
    given = sum(sums)
    return np.divide(1.0, given, out=np.zeros_like(given), where=given > 0)


def cut(parts: list[Any], widths: list[int]) -> Iterator[Any]:
    """A vector in ``parts``, in pieces of ``widths``; only a piece of several parts is a copy."""
    first = 0
    for width in widths:
        while first >= len(parts[0]):
            first -= len(parts[0])
            parts = parts[1:]
        if first + width > len(parts[0]):
            parts = [np.concatenate(parts)]
        yield parts[0][first : first + width]
        first += width


def pagerank_round(
    blocks: list[Any], x: list[Any], share: Any, first: int | None, damping: float, rest: float
) -> Any:
    """The part of the next vector of a row of blocks, from all parts ``x`` of this one.

    It is multiplied by the shares from row ``first`` of the matrix on, where there is one.
    """
    y = np.full(blocks[0].shape[0], rest)
    for block, piece in zip(blocks, cut(x, [block.shape[1] for block in blocks]), strict=True):
        add_product(y, block, piece, damping)
    if first is not None:
        y *= share[first : first + len(y)]
    return y


FEW = 8
"""Rows of blocks whose tasks take the parts of a vector as they are."""


def pagerank(A: Any, damping: float = 0.85, rounds: int = 10) -> Any:
    """The PageRank of a graph whose edges end in the rows of ``A``, a square matrix in blocks.

    Each round is one task for each row of blocks, which takes the parts of the vector as the tasks
    of the round before left them, so that a worker is sent those that it has not. Where they are
    many, one more task joins them for all. The shares of the columns are sent whole to each worker,
    once. Blocks of so few columns that their piece of the vector stays in the cache are faster.
    """
    n, lengths = A.shape[0], A.chunks[0]
    blocks, firsts = A.to_delayed().tolist(), np.cumsum((0, *lengths[:-1])).tolist()
    step, join = dask.delayed(pagerank_round), dask.delayed(np.concatenate)
    share = dask.delayed(shares)([dask.delayed(column_sums)(row) for row in blocks])
    x, factor = [share], damping / n  # the first ranks are all 1 / n
    for last in range(rounds):
        given = x if len(x) <= FEW else [join(x)]
        places = firsts if last < rounds - 1 else [None] * len(firsts)
        x = [
            step(row, given, share, first, factor, (1 - damping) / n)
            for row, first in zip(blocks, places, strict=True)
        ]
        factor = damping
    found = [da.from_delayed(part, (m,), float) for part, m in zip(x, lengths, strict=True)]
    return da.concatenate(found)


def conjugate_gradients(A: Any, b: np.ndarray, tolerance: float = 1e-8) -> tuple[Any, int]:
    """x of A x = b for a positive definite ``A``, and the number of rounds."""
    x, r = np.zeros_like(b), b.copy()
    p, rr = r.copy(), float(r @ r)
    rounds = 0
    while rounds < 1000:
        rounds += 1
        q = np.asarray((A @ da.from_array(p, chunks=-1, inline_array=False)).compute())
        alpha = rr / float(p @ q)
        x += alpha * p
        r -= alpha * q
        rr, before = float(r @ r), rr
        if rr <= tolerance**2 * float(b @ b):
            break
        p = r + (rr / before) * p
    return x, rounds


# -- the cluster -------------------------------------------------------------------------------


def sent(client: Client) -> int:
    """The bytes that workers have sent, to each other and to this process."""
    found = client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total)
    return sum(found.values())


def on_disk(client: Client) -> int:
    """The bytes of results that workers have on disk, as they were near their memory limit."""
    found = client.run(lambda dask_worker: dask_worker.data.spilled_total.disk)
    return sum(found.values())


class Moved:
    """Prints the seconds of a part and what it moved."""

    def __init__(self, client: Client, name: str) -> None:
        self.client, self.name = client, name

    def __enter__(self) -> None:
        self.before, self.start = sent(self.client), time.perf_counter()

    def __exit__(self, *error: object) -> None:
        took = time.perf_counter() - self.start
        moved = max(sent(self.client) - self.before, 0)
        disk = on_disk(self.client)
        rest = f", {disk / 1e6:.2f} MB on disk" if disk else ""
        print(f"{self.name:48} {took:6.2f} s, {moved / 1e6:9.2f} MB moved{rest}", flush=True)


def kill_one(client: Client) -> None:
    """``kill -9`` of a worker."""
    pid = next(iter(client.run(os.getpid).values()))
    os.kill(pid, signal.SIGKILL)


KEPT = {"MALLOC_TRIM_THRESHOLD_": 2**40, "MALLOC_MMAP_THRESHOLD_": 2**40, "MALLOC_ARENA_MAX": 1}
"""The C library's settings by which a process keeps the memory of what it freed, and does not
fetch it from the system again for each large result. Dask's are the opposite: workers give memory
back at once. Then results of 100 MB and more cost as much for their memory as for the work."""

NANNY = "distributed.nanny.pre-spawn-environ"
"""Where dask keeps the variables of the environment that its workers start with."""


def start(workers: int, memory: str, environment: dict[str, int] | None = None) -> Any:
    """A cluster of processes of one thread, with these variables of the environment (``KEPT`` where
    there is memory for the largest results twice).

    A worker writes results to disk only when it is near its memory limit: the one that is left when
    the other is killed has to hold all, and would otherwise wait for ever. The cluster waits five
    minutes for the killed one to start again, as a busy machine needs more than the usual 15 s.
    """
    dask.config.set(
        {
            "distributed.worker.memory.target": False,  # by the memory of the process alone
            "distributed.worker.memory.spill": 0.88,
            "distributed.worker.memory.pause": 0.93,
            "distributed.worker.memory.terminate": 0.98,
            "distributed.deploy.lost-worker-timeout": "5 minutes",
            "distributed.admin.large-graph-warning-threshold": "1GB",
            **{f"{NANNY}.{name}": value for name, value in (environment or {}).items()},
        }
    )
    return LocalCluster(
        n_workers=workers, processes=True, threads_per_worker=1, memory_limit=memory,
        dashboard_address=None,
    )  # fmt: skip


def held(client: Client) -> list[int]:
    """The bytes of the results that each worker holds."""

    def size(dask_worker: Any) -> int:
        tasks = dask_worker.state.tasks
        return sum(tasks[key].nbytes or 0 for key in dask_worker.data if key in tasks)

    found = client.run(size)
    return list(found.values())


def run_all(client: Client, entries: int, blocks: int) -> None:
    """All parts, each compared with what it must give."""
    n = entries // ROW
    rows = -(-n // blocks)
    with Moved(client, "the matrix is made by the workers"):
        A = random_matrix(n, n, (rows, n)).persist()
        wait(A)
    parts = [size / 1e6 for size in held(client)]
    print(f"{n} x {n}, held by the workers: {', '.join(f'{x:.0f} MB' for x in parts)}")

    x = np.linspace(0, 1, n)
    with Moved(client, "A @ x by rows"):
        y = np.asarray((A @ x).compute())
    with Moved(client, "A @ X by rows, four columns"):
        Y = np.asarray((A @ np.stack([x, -x, x * x, x + 1], axis=1)).compute())
    assert np.allclose(y, Y[:, 0])
    assert np.allclose(Y[:, 0] + np.asarray(A.sum(axis=1).compute()), Y[:, 3])
    with Moved(client, "a kernel on each block"):
        found = A.map_blocks(squares, drop_axis=1, dtype=float, meta=Tensor(VECTOR)).compute()
    assert found.shape == (n,)

    with Moved(client, "PageRank, 10 rounds"):
        rank = np.asarray(pagerank(A).compute())
    assert rank.min() > 0
    assert rank.sum() < 1 + 1e-9

    m = max(n // 8, 16)
    B = random_matrix(m, m, (-(-m // 3), -(-m // 3)), row=8).persist()  # the product has 64 a row
    wait(B)
    with Moved(client, "B @ B, by blocks of rows and columns"):
        C = (B @ B).persist()
        wait(C)
    v = np.linspace(-1, 1, m)
    assert np.allclose(np.asarray((C @ v).compute()), np.asarray((B @ (B @ v)).compute()))
    del B, C  # the workers forget them

    side = int(m**0.5) * 2
    K = grid_matrix(side, 8).persist()
    wait(K)
    b = np.ones(side * side)
    with Moved(client, "conjugate gradients"):
        solution, rounds = conjugate_gradients(K, b)
    assert np.allclose(np.asarray((K @ solution).compute()), b, atol=1e-5)
    print(f"{rounds} rounds")
    del K

    with Moved(client, "A @ x, and a worker is killed in the midst"):
        threading.Timer(0.05, kill_one, [client]).start()
        again = [np.asarray((A @ (k * x)).compute()) for k in range(1, 6)]
    assert all(np.allclose(z, k * y) for k, z in enumerate(again, 1))
    print("all results agree")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("entries", type=int, nargs="?", default=86_000_000)
    parser.add_argument("--memory", default="1020MB", help="the memory limit of a worker")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--blocks", type=int, default=32, help="blocks of rows of the matrix")
    given = parser.parse_args()
    with start(given.workers, given.memory) as cluster, Client(cluster) as client:
        run_all(client, given.entries, given.blocks)


if __name__ == "__main__":
    main()
