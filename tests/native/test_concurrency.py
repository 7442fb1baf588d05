"""Kernels called from several threads and processes at once."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from concurrent_program import MATRIX, THREADS, new_kernel, run_all, together, wanted

from finch_core import Tensor, _, kernel
from finch_core.runtime import arrays, storage
from finch_levels import Dense, Element, Scalar, SparseList

PROGRAM = Path(__file__).with_name("concurrent_program.py")


def test_eight_threads_compile_one_kernel():
    spmv = run_all()
    assert spmv.stats()["calls"] == THREADS


def start(environment, *arguments):
    """A process that is ready to call the kernel."""
    process = subprocess.Popen(
        [sys.executable, str(PROGRAM), *arguments],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n", process.stderr.read()
    return process


def finish(processes):
    """Let processes go on at once; what they print."""
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate(timeout=120) for process in processes]
    return [out or err for out, err in said]


def test_two_processes_compile_one_kernel(tmp_path):
    """With an empty cache, which both fill. A third process finds the kernel there."""
    environment = {
        **os.environ,
        "FINCH_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": str(PROGRAM.parents[2]),
    }
    started = [start(environment) for _process in range(2)]
    assert finish(started) == ["agree\n"] * 2
    assert finish([start(environment, "third")]) == ["agree, from disk\n"]


def test_one_kernel_on_many_tensors_at_once():
    """Different signatures and different tensors, over and over, in eight threads."""
    spmv = new_kernel()
    matrices = [
        Tensor(Dense(SparseList(Element(0.0))), MATRIX),
        Tensor(SparseList(SparseList(Element(0.0))), MATRIX),
        MATRIX,
    ]

    def work(k):
        rng = np.random.default_rng(k)
        y = Tensor(Dense(Element(0.0)))
        for n in range(50):
            x = rng.integers(0, 9, 7).astype(float)
            np.testing.assert_allclose(spmv(y, matrices[(k + n) % 3], x).to_numpy(), wanted(x))
        return True

    assert all(together(work))
    assert spmv.stats()["signatures"] == 3


def test_outputs_that_grow_in_many_threads():
    @kernel
    def evens(C, A):
        C[...] = 0
        for i in _:
            if i % 2 == 0:
                C[i] = A[i]
        return C

    def work(k):
        C = Tensor(SparseList(Element(0.0)))
        for n in (1, 10, 1000, 10 * k, 20_000):
            data = np.arange(1.0, n + 1) * (k + 1)
            kept = np.where(np.arange(n) % 2 == 0, data, 0)
            np.testing.assert_array_equal(evens(C, data).to_numpy(), kept)
        return True

    assert all(together(work))


def test_conversions_in_many_threads():
    """Conversions are kernels that all threads share."""

    def work(k):
        data = np.roll(MATRIX, k)
        tensor = Tensor(SparseList(SparseList(Element(0.0))), data)
        return np.array_equal(tensor.to(Dense(SparseList(Element(0.0)))).to_numpy(), data)

    assert all(together(work))


def test_python_runs_while_a_kernel_does():
    @kernel(strict=True)
    def slow(s, n):
        s[...] = 0
        for i in range(0, n):
            s[()] += i * i % 1000003
        return s

    def seconds(n):
        started = time.perf_counter()
        slow(Scalar(0), n)
        return time.perf_counter() - started

    seconds(1)
    n = int(10**6 * 0.5 / max(seconds(10**6), 1e-4))
    worker = threading.Thread(target=seconds, args=(n,))
    worker.start()
    ticks = 0
    while worker.is_alive():
        time.sleep(0.005)
        ticks += 1
    worker.join()
    assert ticks > 10


@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_tensors_are_made_while_another_thread_makes_more_memory(kind, monkeypatch):
    """Both take from memory for several tensors; a thread is stopped where an address is found."""
    if kind == "sparse":
        module, make = storage, Tensor.maker(Dense(SparseList(Element(0.0))))
    else:
        module, make = arrays, arrays.dense_makers(Dense(Element(0.0)), Tensor)((3,))
    address_of, others, running = module.address_of, [], []

    def stopped(array):
        if not running:
            running.append("another thread")  # which is not stopped there
            others.append(make())
            running.clear()
        return address_of(array)

    monkeypatch.setattr(module, "address_of", stopped)
    made = [*[make() for _turn in range(20)], *others]
    assert others
    assert len({tensor.address for tensor in made}) == len(made)
    assert all(tensor.record[0] == (3 if kind == "dense" else 0) for tensor in made)
