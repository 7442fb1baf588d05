"""Bound calls through inline caches (see ``interface.inline_cache``)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from finch_core.errors import FinchError
from finch_core.interface.inline_cache import MISSED, InlineCache
from finch_core.runtime.inline_caches import inline_cache
from finch_core.runtime.tracebacks import shortened

if TYPE_CHECKING:
    from finch_core.runtime.bound import BoundArguments, BoundCall

MOST_TIMES = 4
"""How often a bound call gets an inline cache: a new one where buffers have moved."""


def cached_caller(
    bound: BoundCall, binding: BoundArguments, otherwise: Callable[[], Any]
) -> Callable[[], Any] | None:
    """A caller of ``bound`` through an inline cache, and by ``otherwise`` where that misses; None
    where there can be none."""
    args, made, owner = tuple(binding.given), 0, threading.get_ident()
    cache: InlineCache | None = None
    followed = 0  # the calls through the cache after which `bound` was told what they left
    cached: Callable[[tuple[Any, ...]], Any] = _missed

    def end() -> None:
        nonlocal cached
        cached = _missed

    def begin() -> Callable[[tuple[Any, ...]], Any] | None:
        nonlocal cache, made, followed
        made += 1
        specialized, (places, names) = binding.specialized, binding.places()
        watched = np.zeros((2, len(names)), np.uint64)
        watched[0] = places[: len(names)]
        watched[1] = binding.dimensions()
        cache = inline_cache(specialized, args, binding.values, end=end, same=True, watched=watched)
        followed = 0
        return None if cache is None else specialized.compiled.inline_cache(cache, True)

    def follow() -> None:
        """Tell ``bound`` what calls through the inline cache have left, and begin with another."""
        nonlocal cached, followed
        if cache is None or followed == cache.calls[0] or threading.get_ident() != owner:
            return
        if not all(guard.holds() for guard in binding.guards):
            return  # an array is not what it was, which ``otherwise`` refuses
        bound.follow(cache.watched[1].tolist())
        followed = int(cache.calls[0])
        if made < MOST_TIMES:
            cached = begin() or _missed

    found = begin()
    if found is None:
        return None
    cached = found

    def call() -> Any:
        try:
            result = cached(args)
            if result is not MISSED:
                return result
            follow()
        except FinchError as error:
            raise shortened(error) from error.__cause__
        return otherwise()

    return call


def _missed(_args: tuple[Any, ...]) -> Any:
    return MISSED
