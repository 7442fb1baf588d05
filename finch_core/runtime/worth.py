"""When kernels are worth their compilation: counts of the elements that calls of a kind took."""

from __future__ import annotations

from typing import Any

CALL, WORTH = 1 << 10, 1 << 18
"""A kernel is compiled for calls of one kind that have taken ``WORTH`` elements together; each
counts for ``CALL`` more, as NumPy's functions take as long to begin."""
WORTH_OF_RUNS = 1 << 24
"""The same of kernels that write runs around runs, which take a second to compile: about as long as
NumPy's functions on so many elements."""
WORTH_OF_VALUES = WORTH
"""The same of kernels that compute values at single elements."""
ONE_FUNCTION = 1 << 16
"""The most values that one function of NumPy always computes: it goes over them once, as a kernel
does, which several cores share only if there are more."""
MOST = 4096


def are_few(key: Any, count: int, worth: int | None = None) -> bool:
    """Whether all calls of this kind, and one of so many elements, have taken at most ``worth``
    (None: ``WORTH``)."""
    if len(_done) >= MOST:
        _done.clear()
    total = _done[key] = _done.get(key, 0) + count + CALL
    return total <= (WORTH if worth is None else worth)


def are_many(key: Any) -> bool:
    """Whether calls of this kind have taken many elements before."""
    return _done.get(key, 0) > WORTH


_done: dict[Any, int] = {}


__all__ = ["CALL", "ONE_FUNCTION", "WORTH_OF_RUNS", "WORTH_OF_VALUES", "are_few", "are_many"]
