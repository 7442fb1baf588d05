"""What this room runs on: quick C compiles, and the backends.

The room runs on the interpreter and on the backend that kernels take which name none: with
``FINCH_BACKEND=llvm``, say, on that one. ``FINCH_TESTS_CASES=n`` leaves at most so many cases of
each test, on the compiled backend, where a share will do; 0.4 leaves one case of two tests in five.
"""

from __future__ import annotations

import os
import random
import zlib
from collections import defaultdict

import pytest
from quick_compiles import quick_compiles
from uncached import uncached

from finch_core.testing import backend_names

CASES = "FINCH_TESTS_CASES"

__all__ = ["pytest_collection_modifyitems", "quick_compiles", "uncached"]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    share = float(os.environ.get(CASES, "0"))
    if not share:
        return
    most = max(int(share), 1)
    compiled, cases = backend_names()[-1], defaultdict[tuple[str, str], list[pytest.Item]](list)
    for item in items:
        if getattr(item, "callspec", None) is None or _backend(item) in (None, compiled):
            cases[str(item.path), getattr(item, "originalname", item.name)].append(item)
    kept = {
        id(item)
        for key, found in cases.items()
        if zlib.crc32(key[1].encode()) < share * 2**32
        for item in random.Random(key[1]).sample(found, min(most, len(found)))
    }
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept])
    items[:] = [item for item in items if id(item) in kept]


def _backend(item: pytest.Item) -> str | None:
    """The backend of a case, if it names one."""
    backend: str | None = item.callspec.params.get("backend")
    return backend
