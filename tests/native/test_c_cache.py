"""Kernels on disk: found by a second process, never half-written, done without where need be."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from c_support import Record, call, kernel_of

from finch_backend_c import cache, interrupts, toolchain
from finch_backend_c.cbackend import CBackend
from finch_core import PerformanceWarning, Tensor, _
from finch_core import kernel as finch_kernel
from finch_core.ir import assembly as asm
from finch_core.ir.expressions import lift
from finch_levels import Dense, Element, Scalar, SparseList

ROOM = Path(__file__).parent


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    path = tmp_path / "cache"
    monkeypatch.setenv("FINCH_CACHE_DIR", str(path))
    monkeypatch.setenv("FINCH_CFLAGS", "-O1")
    return path


def storing(number=42):
    record, found = Record("r"), np.zeros(1, dtype=np.int64)
    kernel = kernel_of([record], [asm.Store(record.buffer("b", found), lift(0), lift(number))])
    return kernel, record, found


def works(compiled, record, found):
    return call(compiled, [record])[0] == 0 and found[0] == 42


def forbid(monkeypatch):
    def run(*args):
        raise AssertionError("the compiler was run")

    interrupts.GUARDED.get()  # which a thread may still be compiling
    monkeypatch.setattr(toolchain, "run", run)
    monkeypatch.setattr(subprocess, "run", run)


def test_a_compiled_kernel_is_loaded_without_a_compiler_run(monkeypatch):
    kernel, record, found = storing()
    compiled = CBackend().compile(kernel, key="k1")
    forbid(monkeypatch)
    loaded = CBackend().load("k1", 1)
    assert loaded is not None
    assert loaded.source == compiled.source
    assert works(loaded, record, found)
    assert CBackend().load("k2", 1) is None
    assert CBackend().load("k1", 5) is None, "five parameters are another kernel"


def test_loading_runs_no_compiler(monkeypatch):
    kernel, _, _ = storing()
    CBackend().compile(kernel, key="k1")
    monkeypatch.setattr(subprocess, "Popen", None)
    assert CBackend().load("k1", 1) is not None


def test_without_a_key_nothing_is_kept(folder):
    CBackend().compile(storing()[0])
    assert not folder.exists() or not list(folder.iterdir())


def test_options_and_compilers_have_entries_of_their_own(monkeypatch):
    CBackend().compile(storing()[0], key="k1")
    assert CBackend(flags=("-DX",)).load("k1", 1) is None
    assert CBackend(fail_alloc=1).load("k1", 1) is None
    monkeypatch.setenv("FINCH_CFLAGS", "-O2")
    assert CBackend().load("k1", 1) is None
    monkeypatch.setenv("FINCH_CFLAGS", "-O1")
    assert CBackend().load("k1", 1) is not None
    monkeypatch.setattr(toolchain, "_processor", lambda: "another machine")
    assert CBackend().load("k1", 1) is None


def replace(path, data):
    """As a new file: this process has the old one mapped."""
    path.unlink()
    path.write_bytes(data)


def half(path):
    replace(path, path.read_bytes()[: path.stat().st_size // 2])


def garbage(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    replace(path, bytes(data))


def empty(path):
    replace(path, b"")


DAMAGES = [half, garbage, empty, Path.unlink]


@pytest.mark.parametrize("damage", DAMAGES, ids=["half", "garbage", "empty", "missing"])
@pytest.mark.parametrize("ending", [".so", ".txt"])
def test_a_damaged_entry_is_compiled_again(folder, damage, ending):
    kernel, record, found = storing()
    backend = CBackend()
    backend.compile(kernel, key="k1")
    (file,) = folder.glob(f"*{ending}")
    damage(file)
    assert backend.load("k1", 1) is None
    again = backend.compile(kernel, key="k1")
    assert works(again, record, found)
    assert backend.load("k1", 1).source == again.source


SHAPES = [b"", b"\n", b"one line", b"two\nlines", b"\n\n\n", b"\xff\xfe\n\n", b"\0\nr\n",
          b"a/../b\nr\n", b"no such library\nr\nsource"]  # fmt: skip


@pytest.mark.parametrize("text", SHAPES)
def test_a_text_of_another_shape_is_damaged_too(folder, text):
    """Whole by its checksum, yet no entry."""
    kernel, record, found = storing()
    backend = CBackend()
    backend.compile(kernel, key="k1")
    (file,) = (
        f for f in folder.glob("*.txt") if f.stem == backend._entry(toolchain.find(), "k1", False)
    )
    replace(file, cache._digest(text).encode() + b"\n" + text)
    assert cache.load(file.stem) is None
    assert backend.load("k1", 1) is None
    assert works(backend.compile(kernel, key="k1"), record, found)
    assert backend.load("k1", 1) is not None


@pytest.mark.parametrize("text", [b"", b"\xff\xfe", b"\n\n"])
def test_remembered_words_of_another_shape(folder, text):
    cache.remember("words", ("-O3", "-march=native"))
    replace(folder / "words.txt", cache._digest(text).encode() + b"\n" + text)
    assert cache.recall("words") in (None, ())


def test_a_library_that_is_none_is_not_loaded(folder):
    """Whole by its checksum, yet no library."""
    backend = CBackend()
    entry = backend._entry(toolchain.find(), "k1", False)
    assert cache.store(entry, b"no library", "", "r") is not None
    assert backend.load("k1", 1) is None


CHILD = """
import sys
sys.path[:0] = {paths!r}
import test_c_cache as t
from finch_backend_c.cbackend import CBackend
kernel, record, found = t.storing()
backend = CBackend()
for _ in range({rounds}):
    compiled = backend.load("shared", 1) or backend.compile(kernel, key="shared")
    assert t.works(compiled, record, found)
    assert t.works(backend.compile(kernel, key="shared"), record, found)
print("fine")
"""


def child(rounds=1, **environment):
    script = CHILD.format(paths=[str(ROOM), str(ROOM.parent.parent)], rounds=rounds)
    return subprocess.Popen(
        [sys.executable, "-c", script],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_two_processes_at_once():
    processes = [child(rounds=4) for _ in range(2)]
    outputs = [process.communicate(timeout=120)[0] for process in processes]
    assert [output.strip() for output in outputs] == ["fine", "fine"]


def test_threads_at_once():
    kernel, record, found = storing()
    backend, results = CBackend(), []

    def work():
        compiled = backend.load("k1", 1) or backend.compile(kernel, key="k1")
        results.append(works(compiled, record, found))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 4


def test_the_directory_is_private(folder):
    CBackend().compile(storing()[0], key="k1")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_directory_that_others_may_write_to_is_not_used(folder):
    folder.mkdir()
    folder.chmod(0o777)
    kernel, record, found = storing()
    assert works(CBackend().compile(kernel, key="k1"), record, found)
    assert list(folder.iterdir()) == []
    assert CBackend().load("k1", 1) is None
    assert cache.info() == (None, 0, 0)


def test_a_cache_that_takes_no_files_is_done_without(monkeypatch, folder):
    """Read-only or full: writing fails, the kernel runs all the same."""

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache, "_write", full)
    kernel, record, found = storing()
    assert works(CBackend().compile(kernel, key="k1"), record, found)
    assert list(folder.iterdir()) == []


def test_a_path_that_is_no_directory_is_done_without(folder):
    folder.write_text("a file")
    kernel, record, found = storing()
    assert works(CBackend().compile(kernel, key="k1"), record, found)
    assert CBackend().load("k1", 1) is None


def test_a_write_that_fails_leaves_nothing_behind(monkeypatch, folder):
    def broken(source, target):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(cache.os, "replace", broken)
    kernel, record, found = storing()
    assert works(CBackend().compile(kernel, key="k1"), record, found)
    assert list(folder.iterdir()) == []


def test_info_and_clear(folder):
    assert cache.info()[1:] == (0, 0)
    kernel, record, found = storing()
    compiled = CBackend().compile(kernel, key="k1")
    info = cache.info()
    assert info.path == str(folder)
    assert info.files == 2
    assert info.bytes == sum(f.stat().st_size for f in folder.iterdir())
    assert cache.clear() == 2
    assert list(folder.iterdir()) == []
    assert works(compiled, record, found)


def test_what_was_not_used_for_longest_goes(monkeypatch, folder):
    for number in range(4):
        cache.store(f"k{number}", bytes([number]) * 1000, "text", "r")
        for path in folder.iterdir():
            status = path.stat()
            os.utime(path, (status.st_atime - 10, status.st_mtime - 10))
    assert cache.load("k0") is not None, "used again"
    monkeypatch.setattr(cache, "MOST_BYTES", 4000)
    monkeypatch.setattr(cache, "_STORES_A_CHECK", 1)
    cache.store("k4", bytes([4]) * 1000, "text", "r")
    assert [n for n in range(5) if cache.load(f"k{n}") is not None] == [0, 4]
    assert cache.info().bytes <= 4000


def test_few_stores_look_at_the_size(monkeypatch, folder):
    looked = []
    monkeypatch.setattr(cache, "_trim", lambda: looked.append(1))
    for number in range(320):
        cache.store(f"k{number}", number.to_bytes(2, "little"), "text", "r")
    assert 1 <= len(looked) <= 40


def test_the_default_is_the_users_cache_directory(monkeypatch, tmp_path):
    monkeypatch.delenv("FINCH_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.location() == str(tmp_path / "finch-python")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.location() == str(tmp_path / ".cache" / "finch-python")


def test_a_kernel_from_disk_warns_as_when_it_was_compiled():
    """Of the line where the read is now."""

    def columns(s, A):
        s[...] = 0
        for j, i in _:
            s[()] += A[i, j]
        return s

    A, found = Tensor(Dense(SparseList(Element(0.0))), np.eye(3)), []
    for _turn in range(2):
        run = finch_kernel(columns, backend="c")
        with pytest.warns(PerformanceWarning, match="goes against the order") as caught:
            run(Scalar(0.0), A)
        found.append((str(caught[0].message), caught[0].lineno, run.stats()["from_disk"]))
    assert found[0][:2] == found[1][:2]
    assert found[0][1] == columns.__code__.co_firstlineno + 3
    assert [kept for _message, _line, kept in found] == [0, 1]


def test_a_kernel_from_disk_is_not_lowered_where_it_allocates():
    """Neither to load it, nor to adopt the memory of its output."""

    def doubled(y, x):
        y[...] = 0
        for i in _:
            y[i] = 2 * x[i]
        return y

    for turn in range(2):
        run = finch_kernel(doubled, backend="c")
        y = run(Tensor(SparseList(Element(0.0))), np.array([0.0, 3.0]))
        assert y.to_numpy().tolist() == [0, 6]
        assert run.stats()["from_disk"] == turn
        assert ("lower" in run.stats()["seconds"]) == (turn == 0)
