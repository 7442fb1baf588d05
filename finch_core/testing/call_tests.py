"""The tests of ``BackendSuite`` on calls: arguments, threads, the disk cache."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from finch_core.interface.abi import DONE, MOVED
from finch_core.ir import primitives as prim
from finch_core.ir.assembly import Assign, For, Grow, Statement, Store
from finch_core.ir.dtypes import SUPPORTED
from finch_core.ir.expressions import Call
from finch_core.testing.bench import Bench, block, n, var
from finch_core.testing.subject import Subject


def scalar_of(dtype: np.dtype[Any]) -> Any:
    """A value of this dtype, as a number of Python: of integers the one farthest from zero."""
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.min or limits.max
    return {"b": True, "f": -0.1, "c": -0.1 + 3j}[dtype.kind]


SCALARS = [scalar_of(dtype) for dtype in SUPPORTED]


class CallTests(Subject):
    """How kernels are called, from one thread and from several."""

    def test_it_can_be_used_here(self) -> None:
        assert self.made().available() == ""
        assert self.made().name == self.name

    def test_a_kernel_has_the_text_that_was_compiled(self) -> None:
        bench = Bench(self.made())
        count = bench.variable("count", 0)
        assert bench.run(Assign(count, count + n(1))) == DONE
        assert bench.compiled.source

    def test_what_was_never_compiled_is_not_loaded(self) -> None:
        assert self.made().load("a key of which nobody has heard", 1) is None

    def test_arguments_arrive_in_their_dtypes_and_scalars_of_records_come_back(self) -> None:
        bench = Bench(self.made())
        arguments = [var(f"arg_{t}", t) for t in SUPPORTED]
        slots = [bench.variable(f"slot_{t}", 0, t) for t in SUPPORTED]
        kept = bench.variable("kept", 5, written=False)
        passed: list[Any] = []
        for value in SCALARS:
            passed += (value.real, value.imag) if isinstance(value, complex) else (value,)
        body = [Assign(slot, arg) for slot, arg in zip(slots, arguments, strict=True)]
        assert bench.run(*body, arguments=arguments, passed=passed) == DONE
        found = [bench.value(slot) for slot in slots]
        assert found == [t.type(v) for t, v in zip(SUPPORTED, SCALARS, strict=True)]
        assert bench.value(kept) == 5

    def test_a_kernel_is_called_again_and_again(self) -> None:
        bench, step = Bench(self.made()), var("step")
        count = bench.variable("count", 0)
        assert bench.run(Assign(count, count + step), arguments=[step], passed=[1]) == DONE
        for k in range(20):
            bench.values[count] = k
            assert bench.call(3) == DONE
            assert bench.value(count) == k + 3

    def test_other_threads_run_meanwhile(self) -> None:
        """A long-running kernel releases the interpreter's lock: this thread goes on counting. On a
        busy machine a longer kernel is tried."""
        bench, i = Bench(self.made()), var("i")
        total, turns = bench.variable("total", 1), bench.variable("turns", 0)
        step = Assign(total, Call(prim.bitxor, (total * n(3), i)))
        assert bench.run(For(i, n(0), turns, block(step))) == DONE
        counts, count = list[int](), 1000
        while max(counts, default=0) <= 5:
            bench.values[turns] = count
            counts.append(_counted(bench))
            assert bench.value(turns) == count
            count *= 4
            assert count < 10**10, f"this thread came to {counts}, beside ever longer kernels"

    def test_kernels_are_compiled_and_run_in_many_threads(self) -> None:
        results: list[tuple[int, int]] = []

        def work(k: int) -> None:
            bench = Bench(self.made())
            out = bench.variable("out", 0)
            status = bench.run(Assign(out, out + n(k)))
            results.append((status, int(bench.value(out))))

        _together(work, 6)
        assert sorted(results) == [(DONE, k) for k in range(6)]

    def test_one_kernel_keeps_its_calls_apart(self) -> None:
        """Each thread grows buffers to a different size."""
        first, results = Bench(self.made()), dict[int, list[Any]]()
        data, stop, i = first.buffer("data", [], growable=True), first.variable("stop", 0), var("i")
        body: tuple[Statement, ...] = (Grow(data, i + n(1)), Store(data, i, i.cast(data.dtype)))
        first.run(For(i, n(0), stop, block(*body)))

        def work(k: int) -> None:
            for _ in range(20):
                bench = Bench(first.backend)
                bench.buffer("data", [], growable=True)
                bench.variable("stop", 20 + k)
                bench.values[stop] = 20 + k
                bench.compiled = first.compiled
                assert bench.call() == MOVED
                results.setdefault(k, []).append(bench.arrays["data"][: 20 + k].tolist())

        _together(work, 4)
        assert results == {k: [list(range(20 + k))] * 20 for k in range(4)}

    def test_what_is_kept_on_disk_does_the_same(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A kernel that is loaded by a key is the one compiled with it; a backend may keep none."""
        monkeypatch.setenv("FINCH_CACHE_DIR", str(tmp_path))
        bench = Bench(self.made())
        count = bench.variable("count", 4)
        bench.backend.compile(bench.kernel(Assign(count, count + count)), key="a key")
        assert self.made().load("a key", 2) is None
        found = self.made().load("a key", 1)
        if found is not None:
            bench.compiled = found
            assert bench.call() == DONE
            assert bench.value(count) == 8


def _counted(bench: Bench) -> int:
    """How far this thread counts while another thread runs a kernel."""
    thread = threading.Thread(target=bench.call)
    thread.start()
    counted = 0
    while thread.is_alive():
        time.sleep(0.001)
        counted += 1
    return counted


def _together(work: Any, count: int) -> None:
    """Run ``work(k)`` for each k in ``range(count)``, in ``count`` threads."""
    threads = [threading.Thread(target=work, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
