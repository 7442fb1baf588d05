"""Kernels that are compiled beside their drafts, in a process of the compiler's own."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from finch_backend_c import beside, cache, cbackend, toolchain
from finch_core import Tensor, _, kernel, parallel
from finch_core.errors import DimensionMismatch, PerformanceWarning
from finch_core.interface.abi import POOL
from finch_core.runtime import drafts
from finch_core.runtime.options import ALONG_DATA
from finch_levels import Dense, Element, Scalar, SparseList


@pytest.fixture(autouse=True)
def _drafts(monkeypatch, tmp_path):
    monkeypatch.setenv("FINCH_DRAFTS", "1")
    monkeypatch.setenv("FINCH_BACKEND", "c")
    monkeypatch.setenv("FINCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("FINCH_CFLAGS", raising=False)
    monkeypatch.setattr(drafts, "DRAFT_CALLS", 3)
    monkeypatch.setattr(drafts, "DRAFT_SECONDS", float("inf"))
    yield
    beside._wait()


def made():
    @kernel
    def twice(y, x):
        y[...] = 0
        for i in _:
            y[i] += 2 * x[i]

    return twice


def summing():
    @kernel
    def total(s, x):
        s[...] = 0
        for i in parallel(_):
            s[()] += x[i]

    return total


def the_one(twice):
    (entry,) = twice._specializations.values()
    return entry


def until(says, seconds=60.0):
    end = time.monotonic() + seconds
    while not says():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_the_draft_runs_until_the_compiler_has_ended():
    twice, x, y = made(), np.arange(5.0), np.zeros(5)
    for _call in range(4):
        twice(y, x)
    entry = the_one(twice)
    assert entry.is_draft
    assert len(beside._at_work) == 1

    def called():
        x[...] += 1
        twice(y, x)
        assert np.array_equal(y, 2 * x)
        return not entry.is_draft

    until(called)
    assert not beside._at_work
    assert not entry.lowered.is_draft
    assert twice.stats()["from_disk"] == 0
    again = made()
    again(y, x)
    assert not the_one(again).is_draft
    assert again.stats()["from_disk"] == 1


def test_much_data_runs_in_the_draft_meanwhile():
    """Where the work is in proportion to the data: elementwise functions of arrays."""
    x = np.arange(2.0 * ALONG_DATA.extent)
    x[::3] = 0
    A = Tensor(SparseList(Element(0.0)), x)

    def called():
        assert np.array_equal((A + A).to_numpy(), 2 * x)
        return bool(beside._at_work)

    until(called)
    until(lambda: not called())


def test_more_data_waits_for_the_compiler():
    twice = made()
    y, x = np.zeros(3), np.arange(3.0)
    for _call in range(4):
        twice(y, x)
    entry = the_one(twice)
    assert entry.is_draft
    n = 2**20
    y, x = np.zeros(n), np.arange(float(n))
    twice(y, x)
    assert not entry.is_draft
    assert not beside._at_work
    assert np.array_equal(y, 2 * x)


def test_one_compiler_at_a_time_leaves_a_processor(monkeypatch):
    monkeypatch.setattr(beside, "MOST", 1)
    kernels, y = [made() for _kernel in range(3)], np.zeros(3)
    data = [np.arange(3, dtype=dtype) for dtype in ("f4", "f8", "i8")]
    for twice, x in zip(kernels, data, strict=True):
        for _call in range(4):
            twice(y, x)
        assert len(beside._at_work) == 1

    def called():
        for twice, x in zip(kernels, data, strict=True):
            twice(y, x)
            assert np.array_equal(y, 2 * x)
        assert len(beside._at_work) <= 1
        return not any(the_one(twice).is_draft for twice in kernels)

    until(called)


def test_a_compiler_that_fails_leaves_the_draft(monkeypatch):
    twice, y, x = made(), np.zeros(3), np.arange(3.0)
    twice(y, x)
    monkeypatch.setattr(toolchain, "BASE_FLAGS", (*toolchain.BASE_FLAGS, "-no-such-flag"))

    def called():
        twice(y, x)
        assert np.array_equal(y, 2 * x)
        return not the_one(twice).is_draft

    with pytest.warns(PerformanceWarning, match="twice stays as it was compiled first"):
        until(called)


def test_without_a_cache_the_call_compiles(monkeypatch):
    twice, y, x = made(), np.zeros(3), np.arange(3.0)
    twice(y, x)
    monkeypatch.setattr(cache, "directory", lambda: None)
    for _call in range(3):
        twice(y, x)
    assert not the_one(twice).is_draft


def test_threads_replace_a_draft_while_others_call_it():
    twice, x = made(), np.arange(4.0)
    wrong, stop = [], threading.Event()

    def work():
        y = np.zeros(4)
        while not stop.is_set():
            y[...] = 0
            twice(y, x)
            if not np.array_equal(y, 2 * x):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _thread in range(4)]
    for thread in threads:
        thread.start()
    try:
        until(lambda: twice._specializations and not the_one(twice).is_draft)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not wrong


def test_the_kernel_has_threads_though_the_draft_has_none():
    total, s, x = summing(), Scalar(0), np.arange(10)

    def called():
        total(s, x)
        assert s.value == 45
        return not the_one(total).is_draft

    until(called)
    assert the_one(total).control_block()[POOL]


def by_rows():
    @kernel
    def product(y, A, x):
        y[...] = 0
        for i in parallel(_):
            for j in _:
                y[i] += A[i, j] * x[j]

    return product


def rows():
    rng = np.random.default_rng(3)
    A = rng.random((40, 30)) * (rng.random((40, 30)) < 0.4)
    return np.zeros(40), Tensor(Dense(SparseList(Element(0.0))), A), rng.random(30)


def test_the_draft_of_a_parallel_loop_is_a_plain_loop():
    """Where its parts compute the same bits: it takes less time to lower and to compile."""
    product, (y, A, x) = by_rows(), rows()
    product(y, A, x)
    first, entry = y.copy(), the_one(product)
    assert "parallel_run" not in entry._compiled.source
    assert "parallel_run" in product.lower(y, A, x).as_text("source")

    def called():
        product(y, A, x)
        assert y.tobytes() == first.tobytes()
        return not entry.is_draft

    until(called)
    assert "parallel_run" in entry._compiled.source
    assert entry.control_block()[POOL]


def test_the_draft_of_a_process_before_is_replaced_beside_the_calls():
    product, (y, A, x) = by_rows(), rows()
    product(y, A, x)
    again = by_rows()
    for _call in range(5):
        again(y, A, x)
    entry = the_one(again)
    assert again.stats()["from_disk"] == 1
    assert entry.is_draft or entry.control_block()[POOL]
    until(lambda: again(y, A, x) is None and not entry.is_draft)
    assert "parallel_run" in entry._compiled.source
    np.testing.assert_allclose(y, A.to_numpy() @ x)


def test_sums_of_floats_keep_their_parts():
    """Those of a plain loop round elsewhere."""

    total, s, x = summing(), Scalar(0.0), np.arange(10.0)
    total(s, x)
    assert the_one(total).is_draft
    assert "parallel_run" in the_one(total)._compiled.source


def test_a_large_kernel_is_compiled_with_its_parts(monkeypatch):
    """Where the backend makes no draft."""
    monkeypatch.setattr(cbackend, "LARGE", 100)
    product, (y, A, x) = by_rows(), rows()
    product(y, A, x)
    assert not the_one(product).is_draft
    assert "parallel_run" in the_one(product)._compiled.source


PROGRAM = """
import os, sys
import numpy as np
from finch_core import kernel
from finch_core.runtime import drafts
from finch_backend_c import beside
drafts.DRAFT_CALLS = 0
@kernel
def total(s, x):
    for i in _:
        s[i] += x[i]
s = np.zeros(3)
total(s, np.ones(3))
(entry,) = total._specializations.values()
print(entry.is_draft, total.stats()["from_disk"], flush=True)
"""
FORK = """
child = os.fork()
if not child:
    total(s, np.ones(3))
    print(s.tolist(), entry.is_draft, len(beside._at_work), flush=True)
    os._exit(0)
os.waitpid(child, 0)
total(s, np.ones(3))
print(s.tolist())
"""


def process(path, text):
    path.write_text(text)
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout.splitlines()


def test_the_end_of_python_waits_for_the_compiler(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    assert process(tmp_path / "first.py", PROGRAM) == ["True 0"]
    assert not os.listdir(tmp_path / "scratch")
    assert process(tmp_path / "first.py", PROGRAM) == ["False 1"]


def test_a_child_compiles_for_itself(tmp_path):
    """It cannot wait for its parent's compiler."""
    said = process(tmp_path / "forks.py", PROGRAM + FORK)
    assert said == ["True 0", "[2.0, 2.0, 2.0] False 0", "[2.0, 2.0, 2.0]"]


def test_a_draft_tells_its_own_failures():
    """Plain loops have other checks than parallel ones, and so other numbers of these."""
    product, (y, A, x) = by_rows(), rows()
    product(y, A, x)
    again = by_rows()
    again(y, A, x)  # from the disk
    for entry in (the_one(product), the_one(again)):
        lowered, draft = entry.lowered, entry._compiled
        assert lowered.sites(draft) is lowered._simpler.sites
        entry.finish()
        assert lowered.sites(entry._compiled) is lowered.kernel.sites
        assert lowered.sites(draft) is lowered._simpler.sites  # of a call that still runs
    with pytest.raises(DimensionMismatch):
        by_rows()(y, A, x[:3])
