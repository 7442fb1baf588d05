"""The backends that the suites run on, and kernels on a chosen backend."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import pytest

from finch_core.runtime import lists
from finch_core.runtime.backends import VARIABLE, backend
from finch_core.runtime.kernel import Kernel, kernel

Function = Callable[..., Any]

ANY_ORDER = pytest.mark.filterwarnings("ignore::finch_core.errors.PerformanceWarning")
"""A mark that silences ``PerformanceWarning`` in suites that read against the storage order."""


def backend_names(names: Iterable[str | None] = ("interpreter", None)) -> tuple[str, ...]:
    """The names of the backends that tests run on, without duplicates; None stands for the default
    backend (``FINCH_BACKEND``, else the best that is available).

    Raises ``BackendError`` if the default backend does not work.
    """
    return tuple(dict.fromkeys(backend().name if name is None else name for name in names))


FULL = "FINCH_TESTS_FULL"
"""The environment variable by which suites run all combinations instead of a random part."""

SHARE = "FINCH_TESTS_SHARE"
"""The environment variable with the part of the pairs with other formats that suites take."""


def share_of_pairs() -> float:
    """The part of the pairs with other formats that suites take: all of their own share, unless
    ``FINCH_TESTS_SHARE`` says less."""
    return float(os.environ.get(SHARE, "1"))


@cache
def on(backend: str | None, function: Function) -> Kernel[..., Any]:
    """``function`` as a kernel on this backend (None: the default one); cached."""
    made: Kernel[..., Any] = kernel(backend=backend)(function)
    return made


@contextlib.contextmanager
def using(backend: str | None) -> Iterator[None]:
    """A context in which ``backend`` is the default, for conversions too; None changes nothing."""
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


@contextlib.contextmanager
def by_kernels() -> Iterator[None]:
    """A context in which kernels convert tensors of few elements, too."""
    most, lists.MOST = lists.MOST, 0
    try:
        yield
    finally:
        lists.MOST = most


class RunsOnBackends:
    """A suite whose tests take ``backend``: all that they run, conversions for comparison too, runs
    on it. What an author's level does wrong ends in a message of the interpreter's, not in a
    crash of the process."""

    @pytest.fixture(autouse=True)
    def _on_the_backend(self, request: pytest.FixtureRequest) -> Iterator[None]:
        params = getattr(request.node, "callspec", None)
        with using(params.params.get("backend") if params is not None else None):
            yield


__all__ = ["FULL", "Function", "backend_names", "by_kernels", "on", "share_of_pairs", "using"]
