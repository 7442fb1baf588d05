"""Dask arrays of tensors on one worker process and on two, and what a task costs.

Both clusters run at the same time and hold the same data; each program runs on them in turn,
several times, and the least times count. ``work`` is the processor time of both workers as a
multiple of that of one: 2 divided by it is what an idle machine of two cores could gain. The load
stands beside the figures, as what else the machine does counts. The second table has the cost of a
task that does almost nothing, on chunks that are tensors and on chunks of NumPy, whose cost is
dask's own.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "docs" / "examples"))  # the workers' path, too

import beyond
import dask.array as da
import numpy as np
from dask.distributed import Client, wait

ASKED = 1.5
"""How many times faster two workers should be on work of more than a second."""
Programs = dict[str, Callable[[], Any]]


def run(entries: int, repeats: int = 3) -> list[list[dict[str, Any]]]:
    """The gain of a second worker for each program, and the cost of a task."""
    with (
        beyond.start(1, "12GB") as single, beyond.start(2, "12GB") as double,
        Client(single, set_as_default=False) as one, Client(double, set_as_default=False) as two,
    ):  # fmt: skip
        return [gains({one: 1, two: 2}, entries, repeats), costs(one, repeats)]


def gains(clients: dict[Client, int], entries: int, repeats: int) -> list[dict[str, Any]]:
    """A row for each program: seconds on one worker and on two, least of those alternating."""
    programs = {}
    for client in clients:
        with client.as_current():
            programs[client] = made(entries)
    rows = []
    for name in next(iter(programs.values())):
        found = alternating({client: programs[client][name] for client in clients}, repeats)
        (one, alone), (two, both) = found.values()
        rows.append(
            {"program": name, "one (s)": one, "two (s)": two, "gain": one / two, "asked": ASKED,
             "work": both / alone, "load": os.getloadavg()[0]}
        )  # fmt: skip
    return rows


def made(entries: int, blocks: int = 8) -> Programs:
    """The programs, over data that the workers of the present client hold."""
    n = entries // beyond.ROW
    A = beyond.random_matrix(n, n, (-(-n // blocks), n)).persist()
    x = da.from_array(np.linspace(0, 1, n), chunks=-1).persist()
    m = n // 2
    B = beyond.random_matrix(m, m, (-(-m // blocks), m), row=16).persist()
    whole = B.rechunk(m).persist()
    wait([A, x, B, whole])
    return {
        "SpMV, 20 times": lambda: da.stack([A @ (k * x) for k in range(20)]).sum(axis=1).compute(),
        "SpGEMM": lambda: (B @ whole).sum(axis=1).compute(),
        "PageRank, 10 rounds": lambda: beyond.pagerank(A, rounds=10).compute(),
    }


def alternating(
    programs: dict[Client, Callable[[], Any]], repeats: int
) -> dict[Client, tuple[float, float]]:
    """The least seconds of each client's program, and the least of its workers' processors."""
    found: dict[Client, list[tuple[float, float]]] = {client: [] for client in programs}
    for _round in range(repeats + 1):
        for client, program in programs.items():
            with client.as_current():
                before, start = worked(client), time.perf_counter()
                program()
                found[client].append((time.perf_counter() - start, worked(client) - before))
    warm = {client: zip(*times[1:], strict=True) for client, times in found.items()}
    return {client: tuple(map(min, columns)) for client, columns in warm.items()}  # type: ignore[misc]


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
