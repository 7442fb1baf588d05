"""Kernels on disk, and what the environment may ask for."""

from __future__ import annotations

import os
import stat
from importlib import metadata
from pathlib import Path

import pytest
from finch_backend_llvm import backend
from finch_backend_llvm.compiler import LlvmBackend

from finch_core.errors import BackendError
from finch_core.interface.abi import DONE
from finch_core.ir.assembly import Assign
from finch_core.testing import Bench


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FINCH_CACHE_DIR", str(tmp_path))
    return tmp_path / "finch-llvm"


def compiled(key: str) -> Bench:
    bench = Bench(LlvmBackend())
    count = bench.variable("count", 4)
    bench.compiled = bench.backend.compile(bench.kernel(Assign(count, count + count)), key=key)
    return bench


def test_what_was_compiled_is_loaded_by_the_next(folder: Path) -> None:
    bench = compiled("a key")
    source = bench.compiled.source
    bench.compiled = LlvmBackend().load("a key", 1)
    assert bench.call() == DONE
    assert bench.value(bench.slots[0].target) == 8
    assert bench.compiled.source == source
    assert "define i64" in source


def test_only_what_fits_is_loaded(folder: Path) -> None:
    compiled("a key")
    assert LlvmBackend().load("another key", 1) is None
    assert LlvmBackend().load("a key", 2) is None
    assert LlvmBackend().load("", 1) is None
    assert LlvmBackend(level=1).load("a key", 1) is None


def test_without_a_key_nothing_is_kept(folder: Path) -> None:
    compiled("")
    assert not folder.exists()


def test_the_folder_is_private_and_holds_whole_files_only(folder: Path) -> None:
    compiled("a key")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    (file,) = folder.iterdir()
    assert file.suffix == ".kernel"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("harm", ["cut", "empty", "flipped"])
def test_a_damaged_file_is_no_kernel(folder: Path, harm: str) -> None:
    compiled("a key")
    (file,) = folder.iterdir()
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    whole = file.read_bytes()
    file.write_bytes({"cut": whole[:-20], "empty": b"", "flipped": bytes(content)}[harm])
    assert LlvmBackend().load("a key", 1) is None
    assert compiled("a key").call() == DONE
    assert LlvmBackend().load("a key", 1) is not None


def test_a_named_folder_that_others_may_write_is_refused(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(BackendError, match="may be written by others"):
        compiled("a key")


def test_a_default_folder_that_others_may_write_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FINCH_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "finch-llvm").mkdir()
    (tmp_path / "finch-llvm").chmod(0o777)
    assert compiled("a key").call() == DONE
    assert LlvmBackend().load("a key", 1) is None
    assert not os.listdir(tmp_path / "finch-llvm")


def test_it_is_the_backend_called_llvm_and_can_be_used_here() -> None:
    (entry,) = metadata.entry_points(group="finch.backends", name="llvm")
    for _ in range(2):  # nothing that the first one loads stands in the way of the second
        made = entry.load()()
        assert made.name == "llvm"
        assert made.available() == ""


def test_the_environment_sets_how_much_is_optimised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FINCH_LLVM_OPT", "0")
    assert compiled("").call() == DONE
    monkeypatch.setenv("FINCH_LLVM_OPT", "fast")
    with pytest.raises(BackendError, match="FINCH_LLVM_OPT=fast"):
        compiled("")


def test_it_tells_of_itself_and_forgets_its_kernels(folder: Path) -> None:
    compiled("a key")
    compiled("another key")
    told = backend().describe()
    assert set(told) == {"optimisation", "LLVM", "processor", "cache"}
    assert told["cache"].startswith(f"{folder}, 2 files, ")
    assert backend().clear_cache() == 2
    assert LlvmBackend().load("a key", 1) is None
    assert backend().describe()["cache"] == f"{folder}, 0 files, 0 bytes"
