"""The threads of parallel loops: under the thread sanitizer, in forked children, under several
callers, under Ctrl-C and where a part fails."""

import gc
import os
import subprocess
import sys
import textwrap
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from parallel_kernels import spgemm
from test_c_interrupts import interrupted

from finch_backend_c import entry, toolchain
from finch_backend_c import threads as pool
from finch_backend_c.cbackend import CBackend
from finch_core import BackendError, Tensor, _, parallel, set_threads
from finch_core.errors import OutOfBounds, OutOfMemory
from finch_core.runtime import threads
from finch_core.runtime.kernel import Kernel
from finch_core.runtime.options import Options
from finch_core.runtime.validation import validate
from finch_levels import Dense, Element, Scalar, SparseByteMap, SparseList

ROOM = Path(__file__).parent
CSR = Dense(SparseList(Element(0)))


@pytest.fixture(autouse=True)
def _threads():
    yield
    set_threads(None)


def compiled(function, work=64):
    return Kernel(function, Options(backend="c", least_work=work))


def total(s, x):
    s[...] = 0
    for i in parallel(_):
        s[()] += x[i]


def histogram(h, x):
    for i in parallel(_):
        h[x[i]] += 1


def counting(s, n):
    for i in parallel(range(n)):
        s[()] += i * i % 1000003


# -- the thread sanitizer ---------------------------------------------------------------------


def sanitized(*arguments):
    command = toolchain.find().command
    name = "libclang_rt.tsan.so" if "clang" in command[0] else "libtsan.so"
    asked = subprocess.run([*command, f"-print-file-name={name}"], capture_output=True, text=True)
    library = asked.stdout.strip()
    assert os.path.isabs(library), f"{command[0]} has no thread sanitizer"
    return subprocess.run(
        [sys.executable, str(ROOM / "parallel_program.py"), *arguments],
        env={
            **os.environ,
            "FINCH_BACKEND": "c",
            "FINCH_CFLAGS": "-O1 -g -fsanitize=thread",
            "FINCH_THREADS": "4",
            "LD_PRELOAD": library,
            "TSAN_OPTIONS": "report_signal_unsafe=0:exitcode=66",
            "PYTHONPATH": os.pathsep.join(map(str, ROOM.parents[:2])),
        },
        capture_output=True,
        text=True,
        timeout=600,
    )


def test_the_programs_have_no_race():
    done = sanitized()
    assert done.stdout.strip() == "right", done.stderr[-3000:]
    assert "data race" not in done.stderr, done.stderr[-3000:]


def test_a_race_is_found_by_the_sanitizer():
    """It is at work: a kernel whose proof is switched off."""
    assert "data race" in sanitized("race").stderr


# -- forks and callers ------------------------------------------------------------------------

FORKING = """
    import os, signal, sys
    import numpy as np
    from finch_core import _, parallel, set_threads
    from finch_core.runtime import threads
    from finch_core.runtime.kernel import Kernel
    from finch_core.runtime.options import Options
    from finch_levels import Scalar

    def total(s, x):
        s[...] = 0
        for i in parallel(_):
            s[()] += x[i]

    call, x = Kernel(total, Options(least_work=64)), np.arange(100_000)
    def begun():
        return len(os.listdir("/proc/self/task")) if sys.platform == "linux" else 0
    def check():
        for count in (3, 1, 2):
            set_threads(count)
            s = Scalar(0)
            call(s, x)
            assert s.value == x.sum()
    check()
    failed = 0
    child = os.fork()
    if child == 0:  # more threads than cores are not begun
        os.environ["FINCH_OVERSUBSCRIBE"], threads.cores = "0", lambda: 2
        set_threads(7)
        before = begun()
        call(Scalar(0), x)
        assert begun() <= before + 1
        os.environ["FINCH_OVERSUBSCRIBE"] = "1"
        set_threads(7)
        call(Scalar(0), x)
        assert begun() == before + 6 or not before
        os._exit(0)
    failed += os.waitpid(child, 0)[1] != 0
    for k in range(4):
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            check()
            if k == 2:
                grandchild = os.fork()
                check()
                if grandchild:
                    assert os.waitpid(grandchild, 0)[1] == 0
            os._exit(0)
        check()
        failed += os.waitpid(child, 0)[1] != 0
    print("children that failed:", failed)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_has_threads_of_its_own(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(FORKING))
    done = subprocess.run(
        [sys.executable, str(program)],
        env={**os.environ, "PYTHONPATH": str(ROOM.parents[1]), "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout == "children that failed: 0\n", done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads by /proc")
def test_callers_share_the_threads():
    set_threads(3)
    call, x = compiled(total), np.arange(200_000)
    wrong = []

    def work():
        for _again in range(30):
            s = Scalar(0)
            call(s, x)
            wrong.extend([s.value] * int(s.value != x.sum()))

    work()
    before = len(os.listdir("/proc/self/task"))
    callers = [threading.Thread(target=work) for _k in range(6)]
    for caller in callers:
        caller.start()
    most = len(os.listdir("/proc/self/task"))
    for caller in callers:
        caller.join()
    assert wrong == []
    assert most <= before + len(callers)


def test_a_kernel_without_parallel_loops_knows_no_threads():
    def plain(s, x):
        for i in _:
            s[()] += x[i]

    s, x = Scalar(0), np.arange(9)
    assert "parallel" not in compiled(plain).lower(s, x).as_text("source")
    assert "parallel_run" in compiled(total).lower(s, x).as_text("source")


def test_loops_run_without_a_pool(monkeypatch):
    """Where the library of threads cannot be made, on the calling thread."""
    monkeypatch.setattr(pool.POOL, "made", None)
    monkeypatch.setattr(pool.support, "library", lambda *_: (_ for _ in ()).throw(OSError()))
    set_threads(3)
    s = Scalar(0)
    compiled(total)(s, np.arange(10_000))
    assert s.value == 49_995_000


# -- signals and failures ---------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="there is a timer on Linux alone")
@pytest.mark.parametrize("count", [1, 2, 3])
def test_ctrl_c_ends_a_parallel_loop(count):
    set_threads(count)
    call, s = compiled(counting), Scalar(0)
    call(s, 1000)
    assert interrupted(lambda: call(s, 20_000_000_000))
    s = Scalar(0)
    call(s, 1000)
    assert s.value == sum(i * i % 1000003 for i in range(1000))


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_the_first_failure_is_told_on_any_number_of_threads(count):
    set_threads(count)
    call, x = compiled(histogram), np.zeros(5000, int)
    x[[700, 701, 4000]] = 9, 11, 12
    for _again in range(20):
        h = np.zeros(8, int)
        with pytest.raises(OutOfBounds, match="index 9 is out of bounds"):
            call(h, x)
        assert h[0] <= 700
        assert set(h[1:]) == {0}


@pytest.mark.parametrize(("count", "step", "least"), [(1, 1, 5), (3, 2, 7)])
def test_memory_that_runs_out_in_a_part_leaves_valid_outputs(
    count, step, least, monkeypatch, tmp_path
):
    """One thread asks for less memory: it appends to the output itself."""
    set_threads(count)
    monkeypatch.setattr(CBackend, "load", lambda *_: None)
    data = np.arange(400).reshape(20, 20) % 3
    A, failed = Tensor(CSR, data), 0
    for number in range(1, 17 * step, step):
        failing = partial(entry.translate, fail_alloc=number)
        monkeypatch.setenv("FINCH_CACHE_DIR", str(tmp_path / str(number)))  # a library of its own
        with monkeypatch.context() as patch:
            patch.setattr(entry, "translate", lambda k, fail_alloc, f=failing, **rest: f(k, **rest))
            call = compiled(spgemm)
            C = Tensor(CSR, data)
            call.lower(C, A, A)
        for _again in range(20):
            try:
                call(C, A, A)
            except OutOfMemory:
                failed += 1
                validate(C)
                call(C, A, A)
                break
        assert np.array_equal(C.to_numpy(), data @ data)
    assert failed >= least


# -- the number of threads --------------------------------------------------------------------


def test_numbers_of_threads(monkeypatch):
    monkeypatch.setattr(threads, "cores", lambda: 4)
    set_threads(5)
    assert (threads.threads(), threads.running()) == (5, 5)
    for beyond in ("0", "", None):
        monkeypatch.setenv("FINCH_OVERSUBSCRIBE", beyond or "")
        if beyond is None:
            monkeypatch.delenv("FINCH_OVERSUBSCRIBE")
        set_threads(5)
        assert (threads.threads(), threads.running()) == (5, 4)
        set_threads(3)
        assert (threads.threads(), threads.running()) == (3, 3)
    monkeypatch.setenv("FINCH_THREADS", "3")
    set_threads(None)
    assert threads.threads() == 3
    monkeypatch.delenv("FINCH_THREADS")
    set_threads(None)
    assert threads.threads() == min(threads.cores(), threads.MOST)
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="1 or more"):
            set_threads(wrong)
    monkeypatch.setenv("FINCH_THREADS", "many")
    with pytest.raises(BackendError, match="which is no number of threads"):
        set_threads(None)


def test_cores_are_limited_by_affinity_and_control_groups(monkeypatch, tmp_path):
    limit = tmp_path / "cpu.max"
    monkeypatch.setattr(threads, "_LIMITS", ((str(limit),),))
    allowed = len(os.sched_getaffinity(0))
    for text, cores in (("max 100000", allowed), ("100000 100000", 1), ("50000 100000", 1)):
        limit.write_text(text)
        assert threads.cores() == cores
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(12)))
    limit.write_text("350000 100000")
    assert threads.cores() == 3


def test_workspaces_of_threads_live_on_between_calls():
    """Calls of one caller after another find them; two at a time have their own."""
    call, made = compiled(spgemm), []
    data = np.arange(900).reshape(30, 30) % 3
    text = call.lower(Tensor(CSR, data), Tensor(CSR, data), Tensor(CSR, data)).as_text("source")
    assert "static struct parallel_kept" in text

    def often(size):
        held = np.arange(size * size).reshape(size, size) % 3
        A, C = Tensor(CSR, held), Tensor(CSR, held)
        for _again in range(30):
            call(C, A, A)
            made.append(np.array_equal(C.to_numpy(), held @ held))

    set_threads(3)
    for size in (30, 7, 41, 1):
        often(size)
    callers = [threading.Thread(target=often, args=(size,)) for size in (30, 11, 23)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert made == [True] * 210


def memory():
    """The resident memory of the process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_workspaces_of_threads_are_freed_with_the_kernel():
    def rows(C, A):
        w = Tensor(SparseByteMap(Element(0.0)))
        C[...] = 0
        for i in parallel(_):
            w[...] = 0
            for j in _:
                w[j] += A[i, j]
            for j in _:
                C[i, j] = w[j]

    format = Dense(SparseList(Element(0.0)))
    call, C = compiled(rows), Tensor(format)
    set_threads(1)
    # glibc may keep freed blocks of up to 32 MB; the values of this workspace are 48 MB
    call(C, Tensor(format, sp.eye_array(40, 6_000_000).tocsr()))
    held = memory()
    del call
    gc.collect()
    assert held - memory() > 40_000_000


def test_a_short_loop_costs_little_more():
    """Of 1,000 elements: far less than a thread takes to begin."""

    def plain(y, x):
        for i in _:
            y[i] += x[i]

    def shared(y, x):
        for i in parallel(_):
            y[i] += x[i]

    set_threads(2)
    y, x, best = np.zeros(1000), np.ones(1000), [1.0, 1.0]
    calls = [Kernel(f, Options(backend="c")).bind(y, x) for f in (plain, shared)]
    for _again in range(2000):
        for k, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[k] = min(best[k], time.perf_counter() - start)
    assert best[1] - best[0] < 5e-6


def test_a_number_of_threads_is_an_integer():
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        set_threads(2.5)  # type: ignore[arg-type]
