"""What the C backend tells the doctor, and that its cache is cleared on request."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from finch_backend_c.cbackend import CBackend
from finch_core import _, kernel


def test_the_compiler_its_flags_and_the_cache_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FINCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("FINCH_CFLAGS", "-O1")
    backend = CBackend()
    told = backend.describe()
    assert Path(told["compiler"].split()[0]).exists()
    assert told["flags"].split()[-1] == "-O1"
    assert told["cache"] == f"{tmp_path / 'cache'}, 0 files, 0 bytes"

    @kernel(backend="c")
    def double(y, x):
        for i in _:
            y[i] += x[i]

    double(np.zeros(2), np.ones(2))
    before = int(backend.describe()["cache"].split(", ")[1].split()[0])
    assert before >= 2
    assert backend.clear_cache() == before
    assert backend.describe()["cache"].endswith(", 0 files, 0 bytes")


def test_without_a_compiler_the_cache_is_still_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    assert set(CBackend().describe()) == {"cache"}
