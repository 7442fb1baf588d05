"""Which backends the suites run on, and kernels on a backend of one's choice."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import pytest

from finch_core.runtime.backends import VARIABLE, backend
from finch_core.runtime.kernel import Kernel, kernel

Function = Callable[..., Any]

ANY_ORDER = pytest.mark.filterwarnings("ignore::finch_core.errors.PerformanceWarning")
"""Marks a suite whose programs read against the order of the storage on purpose."""


def backend_names(names: Iterable[str | None] = ("interpreter", None)) -> tuple[str, ...]:
    """The names of the backends that tests run on, each once: by default the interpreter, and the
    one that kernels take which name none (``FINCH_BACKEND``, else the best that is available).

    None stands for the latter. Raises ``BackendError`` where it cannot be used here.
    """
    return tuple(dict.fromkeys(backend().name if name is None else name for name in names))


@cache
def on(backend: str | None, function: Function) -> Kernel:
    """``function`` as a kernel of this backend (None: the default one), the same at each call."""
    made: Kernel = kernel(backend=backend)(function)
    return made


@contextlib.contextmanager
def using(backend: str | None) -> Iterator[None]:
    """Kernels that name no backend (conversions among them) compile with this one meanwhile; None
    leaves them what they had."""
    before = os.environ.get(VARIABLE)
    if backend is not None:
        os.environ[VARIABLE] = backend
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = before


__all__ = ["Function", "backend_names", "on", "using"]
