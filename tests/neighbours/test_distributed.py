"""The example over ``dask.distributed``: two processes, products, PageRank, a worker that dies."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pytest

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "beyond.py"


def test_the_example_runs_on_two_processes_and_survives_a_kill(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLE), "100000", "--memory", "1GB", "--blocks", "6"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "a worker is killed in the midst" in done.stdout
    assert "all results agree" in done.stdout
    assert "MB moved" in done.stdout


PROGRAM = """
import numpy as np
from finch_core import Tensor, _, kernel
from finch_levels import Dense, Element, SparseList

@kernel
def added(y, A):
    y[...] = 0
    for i, j in _:
        y[i] += A[i, j]
    return y

A = Tensor(Dense(SparseList(Element(0.0))), np.eye(4))
print(added(Tensor(Dense(Element(0.0))), A).to_numpy().tolist())
"""


def test_processes_that_start_together_compile_a_kernel_once(tmp_path: Path) -> None:
    script, log, compiler = tmp_path / "program.py", tmp_path / "log", tmp_path / "cc"
    script.write_text(PROGRAM)
    compiler.write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec cc "$@"\n')
    compiler.chmod(0o700)
    cache = tmp_path / "cache"
    cache.mkdir(0o700)
    given = {**os.environ, "CC": str(compiler), "FINCH_CACHE_DIR": str(cache)}
    started = [
        subprocess.Popen(
            [sys.executable, str(script)], env=given, stdout=subprocess.PIPE, text=True
        )
        for _process in range(3)
    ]
    told = [process.communicate(timeout=300)[0] for process in started]
    assert told == ["[1.0, 1.0, 1.0, 1.0]\n"] * 3
    compiled = [line for line in log.read_text().splitlines() if "-shared" in line]
    kernels = [entry for entry in cache.iterdir() if entry.suffix == ".so"]
    assert len(compiled) == len(kernels)
    assert not [entry for entry in cache.iterdir() if entry.suffix == ".lock"]


@pytest.mark.parametrize("columns", [400, 150, 30])
@pytest.mark.parametrize("blocks", [2, 20])
def test_pagerank_is_that_of_numpy_over_few_blocks_and_many(
    blocks: int, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE.parent))
    beyond = importlib.import_module("beyond")
    n, rounds = 400, 4
    with dask.config.set(scheduler="synchronous"):
        A = beyond.random_matrix(n, n, (n // blocks, columns), row=8).persist()
        ranks = beyond.pagerank(A, rounds=rounds)
        found, dense = ranks.compute(), np.asarray(A.compute())
    outgoing = dense.sum(axis=0)
    share = np.divide(1.0, outgoing, out=np.zeros(n), where=outgoing > 0)
    expected = np.full(n, 1.0 / n)
    for _round in range(rounds):
        expected = 0.85 * (dense @ (expected * share)) + 0.15 / n
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    joins = rounds if blocks > beyond.FEW else 0
    sums = 5 * A.npartitions
    assert len(dask.optimize(ranks)[0].__dask_graph__()) <= rounds * blocks + joins + sums


@pytest.mark.parametrize("columns", [400, 150])
def test_the_process_without_dask_that_workers_are_measured_by_computes_the_same(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE.parents[2]))
    cluster = importlib.import_module("bench.cluster")
    with dask.config.set(scheduler="synchronous"):
        A = cluster.beyond.random_matrix(400, 400, (200, columns), row=8)
        ranks, dense = cluster.beyond.pagerank(A, rounds=3).compute(), np.asarray(A.compute())
        x = np.linspace(0, 1, 400)
        product = cluster.beyond.product(A, da.from_array(x, chunks=columns)).compute()
    blocks = cluster.blocks_of(400, 8, columns)
    np.testing.assert_allclose(cluster.pagerank(blocks, rounds=3), ranks, rtol=1e-12)
    found = [np.concatenate([block.to_numpy() for block in row], axis=1) for row in blocks]
    np.testing.assert_array_equal(np.concatenate(found), dense)
    np.testing.assert_allclose(product, dense @ x, rtol=1e-12)
    sums = np.concatenate([np.asarray(part) for part in cluster.plain_square(400 * 2 * 64)()])
    square = cluster.blocks_of(400, cluster.SQUARED, 400)
    whole = np.concatenate([row[0].to_numpy() for row in square])
    np.testing.assert_allclose(sums, (whole @ whole).sum(axis=1), rtol=1e-12)


def test_one_program_of_the_benchmark_runs_by_its_name(tmp_path: Path) -> None:
    found = tmp_path / "found.json"
    command = [sys.executable, "-m", "bench", "cluster", "--quick", "--only", "64 links"]
    subprocess.run(
        [*command, "--json", str(found)], check=True, timeout=300, cwd=EXAMPLE.parents[2]
    )
    ((row,),) = json.loads(found.read_text())
    assert row["program"] == "PageRank, 64 links"
    assert row["over one"] > 0
