"""Bound calls through inline caches (see ``interface.inline_cache``)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from finch_core.errors import FinchError
from finch_core.interface.inline_cache import MISSED, InlineCache
from finch_core.runtime.inline_caches import inline_cache
from finch_core.runtime.storage import TensorStorage
from finch_core.runtime.tensor_records import Blank
from finch_core.runtime.tracebacks import shortened

if TYPE_CHECKING:
    from finch_core.runtime.bound import BoundArguments, BoundCall

MOST_TIMES = 4
"""How often a bound call gets an inline cache: a new one where buffers have moved."""


def cached_caller(
    bound: BoundCall, binding: BoundArguments, otherwise: Callable[[], Any]
) -> Callable[[], Any] | None:
    """A caller of ``bound`` through an inline cache, once there is one, and by ``otherwise`` where
    that misses; None where there can be none."""
    own = _BoundCache(bound, binding)
    if not own.begin():
        return None

    def call() -> Any:
        try:
            result = own.call(own.args)
            if result is not MISSED:
                return result
            own.follow()
        except FinchError as error:
            raise shortened(error) from error.__cause__
        result = otherwise()
        if own.waits:
            own.ask()
        return result

    return call


class _BoundCache:
    """The inline cache of a bound call: ``call(args)`` calls through it."""

    __slots__ = (
        "_binding", "_bound", "_cache", "_followed", "_left", "_owner", "_turns", "args", "call",
        "waits",
    )  # fmt: skip

    def __init__(self, bound: BoundCall, binding: BoundArguments) -> None:
        self._bound, self._binding = bound, binding
        self._owner = threading.get_ident()
        self._cache: InlineCache | None = None
        self._left = MOST_TIMES
        self._followed = 0
        """The calls through the cache after which ``bound`` was told what they have left."""
        self._turns = self.waits = 0
        """While there is no cache yet: the calls since it was asked for, and the number of them
        before it is asked for again."""
        self.args = tuple(binding.given)
        self.call: Callable[[tuple[Any, ...]], Any] = _missed

    def begin(self) -> bool:
        """Begin with an inline cache for the arguments as they are, if there is one already.
        Whether there can be one, where tensors that were made without a shape have got memory."""
        places, names = self._binding.places()
        watched = np.zeros((2, len(names)), np.uint64)
        watched[0], watched[1] = places[: len(names)], self._binding.dimensions()
        specialized, values = self._binding.specialized, self._binding.values
        self._cache = inline_cache(
            specialized, self.args, values, end=self._end, same=True, watched=watched
        )
        self._followed = 0
        if self._cache is None and not any(map(_is_blank, values)):
            return False
        call = None if self._cache is None else specialized.compiled.inline_cache(self._cache)
        if call is None:
            self.waits, self._turns = max(2 * self.waits, 1), 0
        else:
            self._left -= 1
            self.waits = 0
            self.call = call
        return True

    def ask(self) -> None:
        """Ask again for the inline cache that there was not yet. The call has just been made, so
        that the arguments are those that were bound, as it has left them."""
        self._turns += 1
        if self._turns >= self.waits and threading.get_ident() == self._owner:
            self.begin()

    def follow(self) -> None:
        """Tell the bound call what calls through the inline cache have left, and begin with another
        cache."""
        cache = self._cache
        if cache is None or self._followed == cache.calls[0]:
            return
        if threading.get_ident() != self._owner:
            return
        if not all(guard.holds() for guard in self._binding.guards):
            return  # an array is not what it was, which the other caller refuses
        self._bound.follow(cache.watched[1].tolist())
        self._followed = int(cache.calls[0])
        if self._left:
            self.call = _missed
            self.begin()

    def _end(self) -> None:
        self.call = _missed


def _is_blank(value: Any) -> bool:
    return isinstance(value, TensorStorage) and type(value.state) is Blank


def _missed(_args: tuple[Any, ...]) -> Any:
    return MISSED
