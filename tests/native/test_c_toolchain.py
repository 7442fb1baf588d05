"""Which compiler is used, and what is said when there is none or it fails."""

import os
import platform
import shutil
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from c_support import Record, call, kernel_of

from finch_backend_c import backend, interrupts, support, toolchain
from finch_backend_c.cbackend import CBackend
from finch_core import Tensor, _, kernel
from finch_core.errors import BackendError
from finch_core.ir import assembly as asm
from finch_core.ir.expressions import lift
from finch_levels import Dense, Element, SparseList


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("FINCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.delenv("FINCH_CFLAGS", raising=False)


def script(path, text):
    path.write_text(f"#!{shutil.which('sh')}\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def simple():
    record, found = Record("r"), np.zeros(1, dtype=np.int64)
    kernel = kernel_of([record], [asm.Store(record.buffer("b", found), lift(0), lift(42))])
    return record, found, kernel


def works(made):
    record, found, kernel = simple()
    assert call(made.compile(kernel), [record])[0] == 0
    return found[0] == 42


def test_the_entry_point_makes_the_backend():
    made = backend()
    assert made.name == "c"
    assert made.available() == ""
    assert works(made)
    assert works(backend())


def test_no_compiler_is_a_refusal_that_says_what_was_tried(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(toolchain, "find_spec", lambda name: None)
    with pytest.raises(BackendError) as caught:
        CBackend().compile(simple()[2])
    assert str(caught.value) == (
        "no C compiler was found; tried cc, gcc, clang, the package ziglang\n"
        "  hint: install gcc or clang, or `pip install ziglang`, or set CC to a compiler's path"
    )
    assert CBackend().available() == caught.value.message
    assert CBackend().load("key", 1) is None


def test_a_compiler_named_by_cc_is_used_or_refused(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler -x")
    with pytest.raises(BackendError, match="no C compiler was found; tried CC=no-such-compiler -x"):
        CBackend().compile(simple()[2])


def test_cc_is_honoured_with_its_arguments(monkeypatch, tmp_path):
    log = tmp_path / "log"
    wrapper = script(tmp_path / "my cc", f'echo "$@" >> "{log}"\nexec {shutil.which("cc")} "$@"')
    monkeypatch.setenv("CC", f"'{wrapper}' -DMINE")
    monkeypatch.setenv("FINCH_CFLAGS", "-O1 -DTHEIRS")
    assert works(CBackend())
    (line,) = log.read_text().splitlines()
    assert line.startswith("-DMINE -O3 ")
    assert "-O1 -DTHEIRS kernel.c" in line


def test_a_broken_compiler_is_quoted(monkeypatch, tmp_path):
    broken = script(tmp_path / "cc", "echo 'internal error: out of ideas' >&2\nexit 3")
    monkeypatch.setenv("CC", str(broken))
    with pytest.raises(BackendError) as caught:
        CBackend().compile(simple()[2])
    lines = str(caught.value).splitlines()
    assert lines[0].startswith(f"the C compiler failed: {broken} -O3")
    assert lines[1] == "    internal error: out of ideas"
    assert lines[2] == "  hint: set CC to another compiler, or check FINCH_CFLAGS if you set it"


def test_a_compiler_that_says_nothing_is_told_by_its_status(monkeypatch, tmp_path):
    monkeypatch.setenv("CC", str(script(tmp_path / "cc", "exit 7")))
    with pytest.raises(BackendError, match="exit status 7"):
        CBackend().compile(simple()[2])


def picky(tmp_path, log):
    """A compiler that knows no ``-march=native``, and what is said of gathers by any name."""
    text = f"""
echo run >> "{log}"
for argument in "$@"; do
    shift
    case "$argument" in
        -march=native) echo 'unknown value native' >&2; exit 1;;
        *gather*) ;;
        *) set -- "$@" "$argument";;
    esac
done
exec {shutil.which("cc")} "$@"
"""
    return script(tmp_path / "picky", text)


def test_flags_that_a_compiler_refuses_are_left_out_and_remembered(monkeypatch, tmp_path):
    log = tmp_path / "log"
    monkeypatch.setenv("CC", str(picky(tmp_path, log)))
    assert works(CBackend())
    first = len(log.read_text().splitlines())
    assert first == 2 + len(toolchain.OPTIONAL_FLAGS)
    assert works(CBackend())
    assert len(log.read_text().splitlines()) == first + 1


@pytest.mark.parametrize("refused", ["-mtune-ctrl", "-mno-gather"])
def test_a_flag_is_tried_by_the_name_that_another_compiler_has_for_it(
    monkeypatch, tmp_path, refused
):
    text = f"""
for argument in "$@"; do
    shift
    case "$argument" in
        {refused}*) echo 'unknown option' >&2; exit 1;;
        *gather*) ;;
        *) set -- "$@" "$argument";;
    esac
done
exec {shutil.which("cc")} "$@"
"""
    monkeypatch.setenv("CC", str(script(tmp_path / "cc", text)))
    found = [flag for flag in toolchain.accepted(toolchain.find()) if "gather" in flag]
    tuned = [toolchain.NO_GATHERS, toolchain.INTEGERS_APART]
    assert found == (["-mno-gather"] if refused == "-mtune-ctrl" else tuned)


@pytest.mark.parametrize(("processor", "apart"), [("AMD EPYC", True), ("Intel(R) Xeon(R)", False)])
def test_integers_stay_in_general_registers_where_moves_look_cheap(monkeypatch, processor, apart):
    monkeypatch.setattr(toolchain, "_processor", lambda: f"model name : {processor}")
    toolchain.moves_look_cheap.cache_clear()
    try:
        flags = [
            toolchain.suitable(toolchain.OPTIONAL_FLAGS, windows=False, vectors=vectors)
            for vectors in (False, True)
        ]
    finally:
        toolchain.moves_look_cheap.cache_clear()
    assert [toolchain.INTEGERS_APART in chosen for chosen in flags] == [apart, False]
    assert all(toolchain.NO_GATHERS in chosen for chosen in flags)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="gathers are of x86")
def test_no_load_through_an_index_becomes_part_of_a_gather():
    def rows(y, A, x):
        y[...] = 0
        for i, j in _:
            y[i] += A[i, j] * x[j]

    def mapped(y, a, table):
        for i in _:
            y[i] = table[a[i]]

    def programs():
        for index in (np.int32, np.int64):
            csr = Dense(SparseList(Element(0.0), index=index))
            yield rows, (np.zeros(3), Tensor(csr, np.ones((3, 64))), np.ones(64))
        yield mapped, (np.zeros(64), np.zeros(64, np.uint8), np.ones(256))

    made = toolchain.find()
    flags = (*toolchain.BASE_FLAGS, *toolchain.accepted(made), "-S")
    for function, arguments in programs():
        source = kernel(function).lower(*arguments).compile().source
        assembly = toolchain.run(made, flags, source).library
        assert assembly is not None
        assert b"gather" not in assembly


def test_the_package_ziglang_stands_in(monkeypatch, tmp_path):
    """A package of that name on the path, whose ``cc`` is the system's compiler."""
    package = tmp_path / "ziglang"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(
        "import os, sys\n"
        "assert sys.argv[1] == 'cc'\n"
        f"os.execv({shutil.which('cc')!r}, ['cc', *sys.argv[2:]])\n"
    )
    path = os.environ["PATH"]
    monkeypatch.setattr(toolchain, "_which", lambda name: None)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PATH", path)
    compiler = toolchain.find()
    assert compiler.command == (sys.executable, "-m", "ziglang", "cc")
    assert works(CBackend())


def test_flags_that_instrument_get_their_libraries(monkeypatch):
    assert toolchain.OWN_LIBRARIES in CBackend()._flags(toolchain.find())
    monkeypatch.setenv("FINCH_CFLAGS", "-fsanitize=undefined")
    assert toolchain.OWN_LIBRARIES not in CBackend()._flags(toolchain.find())
    assert works(CBackend())


def test_results_are_those_of_ieee(monkeypatch):
    """The flags allow no contraction and no reassociation."""
    flags = " ".join((*toolchain.BASE_FLAGS, *toolchain.OPTIONAL_FLAGS))
    assert "-ffp-contract=off" in flags
    assert "fast" not in flags
    assert "associative" not in flags


def logging_compiler(monkeypatch, tmp_path, refused="nothing"):
    """A compiler that logs what it is called with for kernels, and refuses an argument."""
    interrupts.guard()  # what all kernels share is compiled before
    log = tmp_path / "log"
    known = f'case "$*" in *{refused}*) exit 4;; esac\nexec {shutil.which("cc")} "$@"'
    monkeypatch.setenv("CC", str(script(tmp_path / "cc", f'echo "$@" >> "{log}"\n{known}')))
    return log


def test_the_math_library_is_linked_where_it_is_called(monkeypatch, tmp_path):
    log = logging_compiler(monkeypatch, tmp_path)

    @kernel(backend="c")
    def sines(y, x):
        for i in _:
            y[i] = np.sin(x[i])

    sines.lower(Tensor(Dense(Element(0.0))), np.ones(3)).compile()
    assert works(CBackend())
    words = [line.split() for line in log.read_text().splitlines()]
    assert ["-lm" in line for line in words] == [True, False]
    assert all("-lgcc" in line for line in words)


def boxes(y, x):
    for i in range(len(x) - 2):
        y[i] = x[i] + x[i + 1] + x[i + 2]


def rows_that_differ(y, A):
    for i in _:
        y[i] = A[0, i] + A[1, i]


def sums(y, A):
    y[...] = 0
    for i, j in _:
        y[i] += A[i, j] * A[i, j + 1]


@pytest.mark.parametrize(
    ("function", "shape", "halves"),
    [(boxes, (9,), True), (rows_that_differ, (2, 9), False), (sums, (3, 9), False)],
)
def test_kernels_that_read_windows_have_shorter_vectors(
    monkeypatch, tmp_path, function, shape, halves
):
    log = logging_compiler(monkeypatch, tmp_path)
    made = kernel(backend="c")(function)
    made.lower(Tensor(Dense(Element(0.0))), np.ones(shape)).compile()
    (line,) = log.read_text().splitlines()
    assert (toolchain.HALF_REGISTERS in line) == halves
    assert (toolchain.FULL_REGISTERS in line) == (not halves and toolchain.have_full_registers())


def rows_between_pointers(C, A, B):
    C[...] = 0
    for i, j, k in _:
        C[i, k] += A[i, j] * B[j, k]


def test_pointers_of_rows_are_no_windows(monkeypatch, tmp_path):
    """A loop over rows reads where each begins and ends, side by side, and is no vector."""
    log = logging_compiler(monkeypatch, tmp_path)
    A = Tensor(Dense(SparseList(Element(0.0))), np.eye(3))
    made = kernel(backend="c")(rows_between_pointers)
    made.lower(np.zeros((3, 3)), A, np.ones((3, 3))).compile()
    (line,) = log.read_text().splitlines()
    assert toolchain.HALF_REGISTERS not in line


@pytest.mark.parametrize("full", [True, False])
def test_longer_vectors_are_for_processors_that_they_do_not_slow_down(monkeypatch, tmp_path, full):
    monkeypatch.setattr(toolchain, "have_full_registers", lambda: full)
    log = logging_compiler(monkeypatch, tmp_path)
    kernel(backend="c")(sums).lower(Tensor(Dense(Element(0.0))), np.ones((3, 9))).compile()
    (line,) = log.read_text().splitlines()
    assert (toolchain.FULL_REGISTERS in line) == full
    assert toolchain.HALF_REGISTERS not in line


def test_temporary_folders_are_those_that_can_be_written(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "none"))
    monkeypatch.setenv("TEMP", str(tmp_path))
    assert toolchain.places()[0] == str(tmp_path)
    with toolchain.scratch() as folder:
        assert os.path.dirname(folder) == str(tmp_path)
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        os.makedirs(os.path.join(folder, "deep", "er"))
    assert os.listdir(tmp_path) == []
    for variable in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(variable, raising=False)
    assert toolchain.places()[0] == "/tmp"
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(FileNotFoundError, match="set TMPDIR"):
        toolchain.places()


def test_compiling_imports_no_archives():
    """``tempfile`` and ``shutil`` load what reads compressed files."""
    program = """
import sys
import numpy as np
from finch_core import Tensor
from finch_levels import Dense, Element, SparseByteMap
before = set(sys.modules)
Tensor(Dense(SparseByteMap(Element(0.0))), np.eye(3))
assert "subprocess" in sys.modules
print({"tempfile", "shutil", "lzma", "random"} & (set(sys.modules) - before))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stderr


def test_what_interrupts_is_linked_as_compilers_can(monkeypatch, tmp_path):
    """It is compiled in less time where a compiler takes the flags for that, and otherwise, too."""
    for refused, calls in (("nothing", 1), ("-nostdlib", 2)):
        monkeypatch.setenv("FINCH_CACHE_DIR", str(tmp_path / refused))
        log = logging_compiler(monkeypatch, tmp_path, refused)
        found = support.library("trial", "int finch_trial;\n", os.path.exists, support.QUICK)
        assert found
        assert len(log.read_text().splitlines()) == calls
        log.unlink()


@pytest.mark.parametrize("cached", [True, False])
def test_what_kernels_share_is_compiled_beside_them(monkeypatch, tmp_path, cached):
    """``get`` waits for it, in a forked child, too, and it is compiled once: where nothing can be
    kept it is not begun."""
    monkeypatch.setenv("FINCH_CACHE_DIR", str(tmp_path if cached else "/proc/none"))
    log = logging_compiler(monkeypatch, tmp_path, "nothing")
    running, go, run = threading.Event(), threading.Event(), toolchain.run

    def waiting(*args):
        running.set()
        assert go.wait(60)
        return run(*args)

    monkeypatch.setattr(toolchain, "run", waiting)
    shared = support.Shared("trial", "int finch_trial;\n", os.path.exists)
    shared.begin()
    shared.begin()
    assert running.wait(60 if cached else 0) == cached
    child = os.fork()
    if child == 0:
        go.set()
        os._exit(shared.get() is not True)
    go.set()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert shared.get() is True
    assert len(log.read_text().splitlines()) == (1 if cached else 2)


def test_what_cannot_be_compiled_beside_a_kernel_is_done_without(monkeypatch, tmp_path):
    monkeypatch.setenv("FINCH_CACHE_DIR", str(tmp_path))
    shared = support.Shared("trial", "no C", os.path.exists)
    shared.begin()
    assert shared.get() is None


def test_a_first_call_compiles_what_interrupts_beside_it(tmp_path):
    """It is begun before the kernel is lowered."""
    program = """
import numpy as np
from finch_backend_c import toolchain
from finch_core import Tensor, _, kernel
from finch_levels import Dense, Element

@kernel
def double(x):
    for i in _:
        x[i] *= 2

sources, run = [], toolchain.run
def logged(compiler, flags, source):
    sources.append("timer_create" in source)
    return run(compiler, flags, source)
toolchain.run = logged
double(np.ones(3))
print(sources)
"""
    (tmp_path / "program.py").write_text(program)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "program.py")],
        env={
            **os.environ,
            "FINCH_CACHE_DIR": str(tmp_path / "cache"),
            "FINCH_DRAFTS": "1",
            "PYTHONPATH": str(Path(__file__).parents[2]),
        },
        capture_output=True,
        text=True,
    )
    assert done.stdout == "[True, False]\n", done.stderr
