"""The example over ``dask.distributed``: two processes, products, PageRank, a worker that dies."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import dask
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


@pytest.mark.parametrize("blocks", [2, 20])
def test_pagerank_is_that_of_numpy_over_few_blocks_and_many(
    blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE.parent))
    beyond = importlib.import_module("beyond")
    n, rounds = 400, 4
    with dask.config.set(scheduler="synchronous"):
        A = beyond.random_matrix(n, n, (n // blocks, n), row=8).persist()
        ranks = beyond.pagerank(A, rounds=rounds)
        found, dense = ranks.compute(), np.asarray(A.compute())
    outgoing = dense.sum(axis=0)
    share = np.divide(1.0, outgoing, out=np.zeros(n), where=outgoing > 0)
    expected = np.full(n, 1.0 / n)
    for _round in range(rounds):
        expected = 0.85 * (dense @ (expected * share)) + 0.15 / n
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    joins = rounds if blocks > beyond.FEW else 0
    assert len(dask.optimize(ranks)[0].__dask_graph__()) <= rounds * blocks + joins + 5 * blocks


def test_the_process_without_dask_that_workers_are_measured_by_computes_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE.parents[2]))
    cluster = importlib.import_module("bench.cluster")
    with dask.config.set(scheduler="synchronous"):
        A = cluster.beyond.random_matrix(400, 400, (200, 400), row=8)
        expected = cluster.beyond.pagerank(A, rounds=3).compute()
    found = cluster.pagerank(cluster.blocks_of(400, 8), rounds=3)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_array_equal(
        np.concatenate([block.to_numpy() for block in cluster.blocks_of(400, 8)]),
        np.asarray(A.compute(scheduler="synchronous")),
    )


def test_one_program_of_the_benchmark_runs_by_its_name(tmp_path: Path) -> None:
    found = tmp_path / "found.json"
    command = [sys.executable, "-m", "bench", "cluster", "--quick", "--only", "64 links"]
    subprocess.run(
        [*command, "--json", str(found)], check=True, timeout=300, cwd=EXAMPLE.parents[2]
    )
    ((row,),) = json.loads(found.read_text())
    assert row["program"] == "PageRank, 64 links"
    assert row["over one"] > 0
