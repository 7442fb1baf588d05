"""Drafts: kernels that are compiled with fewer optimisations while they have little to do."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest

from finch_backend_c import cbackend, loader
from finch_backend_c.cbackend import CBackend
from finch_core import Tensor, _, kernel, parallel
from finch_core.errors import BackendError, FinchError, PerformanceWarning
from finch_core.interface.abi import POOL
from finch_core.runtime import drafts as entries
from finch_core.runtime import specialization
from finch_core.runtime.options import Options
from finch_levels import Dense, Element, Scalar, SparseList
from finch_wrappers import swizzle


@pytest.fixture(autouse=True)
def _drafts(monkeypatch, tmp_path):
    monkeypatch.setenv("FINCH_DRAFTS", "1")
    monkeypatch.setenv("FINCH_BACKEND", "c")
    monkeypatch.setenv("FINCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("FINCH_CFLAGS", raising=False)
    monkeypatch.setattr(entries, "DRAFT_CALLS", 5)
    monkeypatch.setattr(entries, "DRAFT_SECONDS", float("inf"))
    # these are of backends that compile in the call; test_c_beside.py has the others
    monkeypatch.setattr(CBackend, "_beside", lambda *_: None)


SMALL = Options().small


def made():
    @kernel
    def spmv(y, A, x):
        y[...] = 0
        for i, j in _:
            y[i] += A[i, j] * x[j]

    return spmv


def arguments(n=3, width=3):
    A = np.arange(n * width, dtype=float).reshape(n, width)
    return Tensor(Dense(Element(0.0))), Tensor(Dense(SparseList(Element(0.0))), A), np.ones(width)


def is_draft(spmv):
    (entry,) = spmv._specializations.values()
    assert entry.lowered.is_draft == entry.is_draft
    return entry.is_draft


def test_a_draft_runs_so_often_and_then_the_kernel_does():
    spmv, (y, A, x) = made(), arguments()
    found = []
    for _call in range(8):
        x = x + 1  # another array: no call is as one before
        spmv(y, A, x)
        assert np.array_equal(y.to_numpy(), A.to_numpy() @ x)
        found.append(is_draft(spmv))
    assert found == [True] * 5 + [False] * 3
    assert spmv.stats()["calls"] == 8


def test_calls_that_are_remembered_count_too():
    spmv, args = made(), arguments()
    for _call in range(5):
        spmv(*args)
    assert is_draft(spmv)
    assert spmv._calls
    spmv(*args)
    assert not is_draft(spmv)
    assert not spmv._calls
    for _call in range(3):
        spmv(*args)
    assert np.array_equal(args[0].to_numpy(), args[1].to_numpy() @ args[2])
    assert spmv._calls
    assert spmv.stats()["calls"] == 9


@pytest.mark.parametrize(
    ("n", "width"), [(3, SMALL.extent + 1), (SMALL.extent + 1, 1), (64, SMALL.bytes // 8 // 64)]
)
def test_much_data_ends_the_draft(n, width):
    spmv = made()
    spmv(*arguments())
    assert is_draft(spmv)
    y, A, x = arguments(n, width)
    spmv(y, A, x)
    assert not is_draft(spmv)
    assert np.array_equal(y.to_numpy(), A.to_numpy() @ x)


def test_much_data_makes_no_draft():
    spmv = made()
    spmv(*arguments(3, SMALL.extent + 1))
    assert not is_draft(spmv)


def test_large_numbers_make_no_draft():
    @kernel
    def counted(s, n):
        s[...] = 0
        for i in range(n):
            s[()] += i

    for n, draft in ((10, True), (SMALL.integer + 1, False)):
        counted._specializations.clear()
        counted._quick.clear()
        s = Scalar(0)
        counted(s, n)
        assert s.value == n * (n - 1) // 2
        assert is_draft(counted) == draft


def test_a_repeated_call_with_a_large_number_ends_the_draft():
    """A draft is for small numbers, which a repeated call does not look at."""

    @kernel
    def counted(s, n):
        for i in range(n):
            s[()] += i % 2

    s = Scalar(0)
    for _time in range(3):
        counted(s, 10)
    assert is_draft(counted)
    counted(s, 10**6)
    assert not is_draft(counted)
    assert s.value == 15 + 500_000


def test_a_draft_that_ran_long_enough_is_replaced_in_that_call(monkeypatch):
    spmv, (y, A, x), now = made(), arguments(), [0.0]
    monkeypatch.setattr(entries, "DRAFT_SECONDS", 2.5)

    def later():
        now[0] += 0.5  # each call looks twice
        return now[0]

    monkeypatch.setattr(specialization, "perf_counter", later)
    monkeypatch.setattr(entries, "DRAFT_CALLS", 100)
    found = []
    for _call in range(8):
        spmv(y, A, x)
        assert np.array_equal(y.to_numpy(), A.to_numpy() @ x)
        found.append(is_draft(spmv))
    assert found == [True] * 5 + [False] * 3


def test_the_call_that_compiled_a_draft_does_not_compile_the_kernel_too(monkeypatch):
    """However long it ran: the next does, or the first of a process that found the draft."""
    monkeypatch.setattr(entries, "DRAFT_SECONDS", -1)
    spmv, args = made(), arguments()
    spmv(*args)
    assert is_draft(spmv)
    again = made()
    again(*args)
    assert not is_draft(again)
    spmv(*args)
    assert not is_draft(spmv)


def test_wrappers_are_as_small_as_what_they_wrap():
    @kernel
    def total(s, A):
        s[...] = 0
        for j, i in _:
            s[()] += A[j, i]

    s = Scalar(0.0)
    total(s, swizzle(arguments()[1], (1, 0)))
    assert s.value == 36
    assert is_draft(total)


def test_a_draft_of_parallel_loops_has_no_threads_and_the_kernel_has():
    @kernel
    def total(s, x):
        s[...] = 0
        for i in parallel(_):
            s[()] += x[i]

    s, x = Scalar(0), np.arange(10)
    for _call in range(7):
        total(s, x)
        assert s.value == 45
        (entry,) = total._specializations.values()
        assert bool(entry.control_block()[POOL]) != is_draft(total)


def test_what_is_lowered_is_no_draft():
    spmv, args = made(), arguments()
    spmv(*args)
    draft = spmv.lower(*args)
    assert draft.is_draft
    source = draft.as_text("source")
    assert draft.is_draft
    draft.compile()
    assert not draft.is_draft
    spmv(*args)
    other = made().lower(*args)
    assert not other.is_draft
    assert other.as_text("source") == source


def test_the_variable_turns_drafts_off(monkeypatch):
    monkeypatch.setenv("FINCH_DRAFTS", "0")
    spmv = made()
    spmv(*arguments())
    assert not is_draft(spmv)


def test_levels_of_ones_own_are_kept(monkeypatch):
    """Where how much is optimised has been said, there is nothing to draft."""
    monkeypatch.setenv("FINCH_CFLAGS", "-O1")
    spmv = made()
    spmv(*arguments())
    assert not is_draft(spmv)


def test_a_large_kernel_is_no_draft(monkeypatch):
    monkeypatch.setattr(cbackend, "LARGE", 100)
    spmv = made()
    spmv(*arguments())
    assert not is_draft(spmv)


def test_later_processes_take_the_draft_until_there_is_the_kernel():
    args = arguments()
    spmv = made()
    spmv(*args)
    again = made()
    again(*args)
    assert is_draft(again)
    assert again.stats()["from_disk"] == 1
    for _call in range(5):
        again(*args)
    assert not is_draft(again)
    third = made()
    third(*args)
    assert not is_draft(third)
    assert third.stats()["from_disk"] == 1


def test_fewer_optimisations_are_asked_for(monkeypatch):
    asked = []
    run = cbackend.toolchain.run

    def noted(compiler, flags, source):
        asked.append([flag for flag in flags if flag.startswith("-O")])
        return run(compiler, flags, source)

    monkeypatch.setattr(cbackend.toolchain, "run", noted)
    spmv, args = made(), arguments()
    for _call in range(6):
        spmv(*args)
    assert asked == [["-O3", "-Og"], ["-O3"]]


def test_failures_are_those_of_the_kernel():
    @kernel
    def bad(y, x):
        for i in range(4):
            y[i] = x[i]

    messages = set()
    for _call in range(8):
        with pytest.raises(FinchError) as error:
            bad(np.zeros(4), np.zeros(3))
        messages.add(str(error.value))
    assert len(messages) == 1


def test_results_of_a_draft_outlive_it():
    """Memory that a draft allocated, and workspaces that it kept, are used by the kernel."""

    @kernel
    def doubled(B, A):
        w = Tensor(Dense(Element(0.0)))
        B[...] = 0
        for i in _:
            w[...] = 0
            for j in _:
                w[j] += A[i, j]
            for j in _:
                B[i, j] = 2 * w[j]

    B = Tensor(Dense(SparseList(Element(0.0))))
    kept = []
    for n in range(1, 10):
        A = np.arange(n * n, dtype=float).reshape(n, n)
        doubled(B, A)
        kept.append((A, B.copy()))
    for A, found in kept:
        assert np.array_equal(found.to_numpy(), 2 * A)


def test_results_are_the_same_to_the_last_bit():
    """Sums in lanes, and what the mathematics library gives."""

    @kernel
    def program(y, s, A, x):
        y[...] = 0
        s[...] = 0
        for i, j in _:
            y[i] += A[i, j] * np.exp(x[j]) - A[i, j] / 3
        for i in _:
            s[()] += y[i] * y[i]

    random = np.random.default_rng(5)
    A = Tensor(Dense(Dense(Element(0.0))), random.standard_normal((20, 100)))
    x = random.standard_normal(100)
    found = set()
    for _call in range(7):
        y, s = Tensor(Dense(Element(0.0))), Scalar(0.0)
        program(y, s, A, x)
        found.add((y.to_numpy().tobytes(), s.value))
    assert not is_draft(program)
    assert len(found) == 1


def test_threads_finish_a_draft_once(monkeypatch):
    loaded = []
    load = loader.load
    monkeypatch.setattr(
        loader, "load", lambda *args, **more: loaded.append(1) or load(*args, **more)
    )
    spmv, (_, A, x) = made(), arguments()
    wrong = []

    def work():
        y = Tensor(Dense(Element(0.0)))
        for _call in range(50):
            spmv(y, A, x)
            if not np.array_equal(y.to_numpy(), A.to_numpy() @ x):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _thread in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert not is_draft(spmv)
    assert len(loaded) == 2


def test_backends_without_drafts_compile_as_ever(monkeypatch):
    monkeypatch.delattr(CBackend, "draft")
    spmv, args = made(), arguments()
    spmv(*args)
    assert not is_draft(spmv)


def test_a_process_takes_the_draft_of_another(tmp_path):
    path = tmp_path / "program.py"
    path.write_text("""
import numpy as np
from finch_core import kernel
@kernel
def total(s, x):
    for i in _:
        s[i] += x[i]
s = np.zeros(3)
total(s, np.ones(3))
(entry,) = total._specializations.values()
print(s.tolist(), entry.lowered.is_draft, total.stats()["from_disk"])
""")
    said = [
        subprocess.run([sys.executable, str(path)], stdout=subprocess.PIPE, text=True, check=True)
        for _process in range(2)
    ]
    assert [done.stdout for done in said] == [f"[1.0, 1.0, 1.0] True {k}\n" for k in (0, 1)]


@pytest.mark.parametrize("large", [False, True])
def test_a_draft_stays_where_the_kernel_cannot_be_compiled(monkeypatch, large):
    spmv, args = made(), arguments()
    for _call in range(5):
        spmv(*args)
    monkeypatch.setattr(CBackend, "compile", failing("no space left on device"))
    if large:
        args = arguments(SMALL.extent + 1, 1)
    with pytest.warns(PerformanceWarning, match="spmv stays as it was compiled first.*no space"):
        spmv(*args)
    for _call in range(3):
        assert np.array_equal(args[0].to_numpy(), args[1].to_numpy() @ args[2])
        args[2][0] += 1
        spmv(*args)
    (entry,) = spmv._specializations.values()
    assert not entry.is_draft
    assert entry.lowered.is_draft


def failing(words):
    def compile(self, *args, **options):
        raise BackendError(f"the compiler failed: {words}")

    return compile
