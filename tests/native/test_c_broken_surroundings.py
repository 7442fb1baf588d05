"""File systems that run no code, compilers that write no library, and settings that say nothing."""

import gc
import sys
from pathlib import Path

import numpy as np
import pytest

from finch_backend_c import cache, loader
from finch_backend_c.cbackend import CBackend
from finch_core import Tensor, _, kernel
from finch_core.errors import BackendError
from finch_core.runtime.backends import Backends
from finch_levels import Dense, Element, Scalar, SparseList


def total(s, A):
    s[...] = 0
    for i, j in _:
        s[()] += A[i, j]
    return s


def run():
    return kernel(total, backend="c")(
        Scalar(0.0), Tensor(Dense(SparseList(Element(0.0))), np.eye(3))
    )


@pytest.fixture
def folder(monkeypatch, tmp_path):
    path = tmp_path / "cache"
    monkeypatch.setenv("FINCH_CACHE_DIR", str(path))
    return path


def runs_no_code_below(monkeypatch, *places):
    """Make the loader refuse libraries there, as the system does on file systems without code."""
    opened = loader.open_library

    def refusing(path):
        if any(Path(path).is_relative_to(place) for place in places):
            raise OSError(f"{path}: failed to map segment from shared object")
        return opened(path)

    monkeypatch.setattr(loader, "open_library", refusing)


def test_a_cache_that_runs_no_code_keeps_libraries(monkeypatch, folder):
    runs_no_code_below(monkeypatch, folder)
    assert run().value == 3
    again = kernel(total, backend="c")
    assert again(Scalar(0.0), Tensor(Dense(SparseList(Element(0.0))), np.eye(3))).value == 3
    assert again.stats()["from_disk"] == 1


def test_no_place_that_runs_code_is_told(monkeypatch, folder):
    runs_no_code_below(monkeypatch, "/")
    with pytest.raises(BackendError, match="cannot be loaded.*\n.*failed to map") as error:
        run()
    assert "TMPDIR" in error.value.hint


def test_a_library_that_is_none_is_told_and_not_kept(monkeypatch, folder, tmp_path):
    script = tmp_path / "cc"
    script.write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\necho nonsense > "$2"\n')
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))
    with pytest.raises(BackendError, match="wrote a library that cannot be loaded"):
        run()
    assert list(folder.glob("*.so")) == []


@pytest.mark.parametrize("variable", ["CC", "FINCH_CFLAGS"])
def test_quotes_that_do_not_close_are_told(monkeypatch, folder, variable):
    monkeypatch.setenv(variable, "gcc '-O2")
    monkeypatch.delenv("FINCH_BACKEND", raising=False)
    with pytest.raises(BackendError, match=f"{variable} cannot be split into words"):
        Backends().choose()


def test_a_compiler_that_is_named_and_not_there_is_an_error(monkeypatch):
    """The interpreter does not take its place in silence."""
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.delenv("FINCH_BACKEND", raising=False)
    with pytest.raises(BackendError, match="tried CC=no-such-compiler"):
        Backends().choose()


def test_what_the_doctor_says_of_a_cache_that_runs_no_code(monkeypatch, folder):
    monkeypatch.setattr(cache, "runs_no_code", lambda path: True)
    assert "where no code can be run" in CBackend().describe()["cache"]


# -- libraries --------------------------------------------------------------------------------


def maps(folder):
    """The maps of this process that are of files there."""
    return [
        line for line in Path("/proc/self/maps").read_text().splitlines() if str(folder) in line
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells of maps on Linux alone")
def test_libraries_of_kernels_that_are_gone_are_closed(folder):
    tensor = Tensor(Dense(SparseList(Element(1.0))), np.eye(3))
    before = maps(folder)  # kernels of conversions stay
    made = [kernel(total, backend="c") for _k in range(2)]
    for one in made:
        one(Scalar(0.0), np.eye(3))
        one(Scalar(0.0), tensor)
    assert len(maps(folder)) - len(before) == 2 * 2
    kept = made[0]
    del one, made[:]
    gc.collect()
    assert len(maps(folder)) - len(before) == 2 * 2
    assert kept(Scalar(0.0), np.eye(4)).value == 4
    del kept
    gc.collect()
    assert maps(folder) == before


def test_a_tensor_outlives_the_kernel_that_made_its_memory(folder):
    @kernel(backend="c")
    def copied(C, A):
        C[...] = 0
        for i in _:
            C[i] = A[i]
        return C

    C = copied(Tensor(SparseList(Element(0.0))), np.arange(1.0, 5.0))
    del copied
    gc.collect()
    assert C.to_numpy().tolist() == [1, 2, 3, 4]
