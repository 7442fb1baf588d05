"""A child process that was forked while other threads compile does not wait for them."""

import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from finch_backend_c import analysis, toolchain
from finch_core.locks import cached_property
from finch_core.runtime import pipeline

ROOT = Path(__file__).parents[2]


def ran(program, tmp_path, *args, **environment):
    """A program of its own, which has ended."""
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(program))
    return subprocess.run(
        [sys.executable, str(path), *args],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore", **environment},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )


PROGRAM = """
    import os, signal, sys, threading, time
    import numpy as np
    from finch_core import Tensor, _, kernel
    from finch_core.runtime.kernel import Kernel
    from finch_levels import Dense, Element, RunList, Scalar, SparseBand, SparseList

    @kernel
    def total(s, A):
        s[...] = 0
        for i, j in _:
            s[()] += A[i, j]
        return s

    def run(fmt):
        return float(total(Scalar(0.0), Tensor(fmt, np.eye(20))).value)

    FORMATS = [a(b(Element(float(k)))) for k in range(9) for a in (Dense, SparseList)
               for b in (RunList, SparseList)]
    compiling = threading.Thread(target=lambda: [run(fmt) for fmt in FORMATS])
    if "warm" in sys.argv:
        run(Dense(Dense(Element(0.0))))
    compiling.start()
    hung = 0
    for k in range(6):
        time.sleep(0.003 * 4**k)
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            assert run(Dense(SparseBand(Element(0.0)))) == 20
            if k % 2:
                os._exit(0)
            sys.exit(0)
        hung += os.waitpid(child, 0)[1] != 0
    compiling.join()
    print("children that failed:", hung)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.parametrize("state", ["warm", "cold"])
def test_a_child_compiles_while_its_parent_does(tmp_path, state):
    """From a process that has compiled before, and from one that is importing what compiles."""
    done = ran(PROGRAM, tmp_path, state, FINCH_CACHE_DIR=str(tmp_path / "cache"))
    assert done.stdout == "children that failed: 0\n", done.stderr


def test_locks_are_ours():
    """A lock of ``threading`` stays held in a child."""
    words = "threading.Lock", "threading.RLock", "@functools.cached_property"
    wrong = [
        str(file.relative_to(ROOT))
        for package in ("finch_core", "finch_levels", "finch_wrappers", "finch_backend_c")
        for file in (ROOT / package).rglob("*.py")
        if file.name != "locks.py" and any(word in file.read_text() for word in words)
    ]
    assert wrong == []


def test_a_property_is_computed_without_a_lock():
    """``functools.cached_property`` of Python 3.11 has one lock for all objects of a class."""
    begun, go = threading.Event(), threading.Event()

    class Slow:
        def __init__(self, work):
            self.work = work

        @cached_property
        def value(self):
            return self.work()

    def wait():
        begun.set()
        return go.wait(60)

    first, second = Slow(wait), Slow(lambda: 3)
    threads = [threading.Thread(target=lambda slow=slow: slow.value) for slow in (first, second)]
    threads[0].start()
    assert begun.wait(60)
    threads[1].start()
    threads[1].join(20)
    assert vars(second).get("value") == 3
    go.set()
    for thread in threads:
        thread.join()
    assert first.value is True
    for module in (pipeline, analysis, toolchain):
        assert module.cached_property is cached_property


IMPORTS = """
    import sys
    import numpy as np
    from finch_core import Tensor, _, kernel
    from finch_core.runtime.pipeline import _compiler
    from finch_levels import Dense, Element, RunList, SparseList

    @kernel(backend="interpreter")
    def stencil(y, A, x):
        y[...] = 0
        for i, j in _:
            if i <= j:
                y[i] += A[i, j] * coalesce(x[~(j + 1)], 2)
        return y

    _compiler()
    before = set(sys.modules)
    E = Element(0.0)
    matrix, vector = Tensor(Dense(SparseList(E)), np.eye(3)), Tensor(RunList(E), np.ones(3))
    stencil(Tensor(Dense(E)), matrix, vector)
    floors = {f"finch_core.{name}" for name in ("looplets", "lower", "optimize", "symbolic")}
    new = set(sys.modules) - before
    print(sorted(n for n in new if n.rpartition(".")[0] in floors or n.startswith("numpy")))
"""


LATE = """
    import sys
    import numpy as np
    from finch_core import Tensor, _, kernel
    from finch_core.locks import importing
    from finch_levels import Dense, Element, RunList, Scalar, SparseList

    free = set()

    def imports(event, args):
        if event == "import" and not importing._is_owned():
            free.add(args[0])

    sys.addaudithook(imports)

    @kernel
    def total(s, A):
        s[...] = 0
        for i, j in _:
            s[()] += A[i, j]
        return s

    @kernel
    def sums(y, A):
        y[...] = 0
        for i in parallel(_):
            for j in _:
                y[i] += A[i, j]
        return y

    E = Element(0.0)
    A = Tensor(Dense(SparseList(E)), np.eye(20))
    total(Scalar(0.0), A)
    total.bind(Scalar(0.0), A)()
    sums(Tensor(Dense(E), np.zeros(20)), A)
    assert A.to(RunList(RunList(E)))[1, 1] == 1
    print(sorted(free))
"""


def test_what_calls_import_a_fork_waits_for(tmp_path):
    """A module that another thread imports is never whole in a child. At first all is compiled,
    then all comes from the disk."""
    for flags in ("-O1", "-O1", ""):
        cache = str(tmp_path / "cache")
        done = ran(LATE, tmp_path, FINCH_CACHE_DIR=cache, FINCH_CFLAGS=flags)
        assert done.stdout == "[]\n", done.stdout + done.stderr


def test_what_lowers_is_imported_at_once(tmp_path):
    """Where a fork waits for it: no import of what lowers is left for later."""
    done = ran(IMPORTS, tmp_path)
    assert done.stdout == "[]\n", done.stdout + done.stderr
