"""Kernels that the tests of inline caches share, and inline caches from the second call on."""

import pytest

from finch_backend_c import inline_cache
from finch_core import kernel
from finch_core.runtime import inline_caches

NEEDED = pytest.mark.skipif(not inline_cache.is_supported(), reason="another Python")


def begin_at_once(monkeypatch):
    """Let kernels have an inline cache from their second call on."""
    monkeypatch.setattr(inline_caches, "CALLS", 1)
    monkeypatch.setattr("finch_backend_c.support.Shared.is_ready", lambda _: True)
    monkeypatch.setenv("FINCH_DRAFTS", "0")


def in_python(run):
    """The number of calls of a kernel that were not made through an inline cache."""
    return sum(s._counts.in_python for s in run._specializations.values())


def scaling():
    @kernel(backend="c")
    def scaled(y, x, by):
        for i in range(x.shape[0]):
            y[i] = by * x[i]
        return y

    return scaled


def copying():
    @kernel(backend="c")
    def copied(y, A):
        y[...] = 0
        for i in _:
            y[i] = A[i]
        return y

    return copied


def summing():
    @kernel(backend="c")
    def summed(y, A):
        for i in _:
            for j in _:
                y[i] += A[i, j]
        return y

    return summed
