"""Quick C compiles for rooms of many kernels: -O1, and one cache for all workers of a run."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def quick_compiles(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    with pytest.MonkeyPatch.context() as patch:
        if "FINCH_CFLAGS" not in os.environ:
            patch.setenv("FINCH_CFLAGS", "-O1")
        if "FINCH_CACHE_DIR" not in os.environ:
            path = shared / "finch-cache"
            path.mkdir(mode=0o700, exist_ok=True)
            patch.setenv("FINCH_CACHE_DIR", str(path))
        yield
