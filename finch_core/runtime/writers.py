"""Tensors that are being written: one call at a time may write a tensor whose structure grows.

Calls release the global interpreter lock. Of two that insert into one tensor each would go on in
memory that the other has given back.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from finch_core.errors import LifecycleError, Span
from finch_core.interface.signatures import Signature, TensorSignature
from finch_core.locks import Lock
from finch_core.records import frozen
from finch_core.runtime.storage import TensorStorage

Caller = Callable[..., Any]

_making = Lock()


@frozen
class Growing:
    """An output whose structure may grow: its place among the arguments, its name, and where it is
    written."""

    place: int
    name: str
    span: Span | None

    def held(self, values: Sequence[Any]) -> _Held:
        """What holds the lock of the output for the time of a call. Raises ``LifecycleError`` where
        another call holds it."""
        lock = lock_of(values[self.place])
        if not lock.acquire(False):
            self.refuse()
        return _Held(lock)

    def refuse(self) -> None:
        """Raise ``LifecycleError``: another call is writing the output."""
        raise LifecycleError(
            f"{self.name} is being written by another call, of another thread",
            span=self.span,
            hint="give each thread a tensor of its own, or hold a lock around the calls",
        )


class _Held:
    """A lock that is held, and let go at the end."""

    __slots__ = ("_lock",)

    def __init__(self, lock: Any) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        self._lock.release()


def grows(signature: Signature) -> bool:
    """Whether the structure of an output may grow: it is no array, and not dense."""
    while not isinstance(signature, TensorSignature):
        inner = getattr(signature, "inner", None)
        if inner is None:
            return False
        signature = inner
    levels = signature.format.levels()
    return not signature.fixed and any(level.fields for level in levels if not level.is_leaf)


def lock_of(value: Any) -> Any:
    """The lock of a tensor, or of that inside of wrappers, which a call that writes it holds."""
    while not isinstance(value, TensorStorage):
        value = value.tensor
    try:
        return value.writing
    except AttributeError:
        with _making:
            if not hasattr(value, "writing"):
                value.writing = threading.Lock()
        return value.writing


def one_at_a_time(call: Caller, outputs: Sequence[Growing]) -> Caller:
    """``call``, which takes words, the arguments as given and their values, and writes these
    outputs: it raises ``LifecycleError`` where another call writes one of them."""
    if len(outputs) > 1:
        return _several(call, outputs)
    (only,) = outputs
    place, refuse = only.place, only.refuse

    def alone(words: Any, given: Any, values: Any = None) -> Any:
        tensor = (given if values is None else values)[place]
        try:
            lock = tensor.writing
        except AttributeError:
            lock = lock_of(tensor)
        if not lock.acquire(False):
            refuse()
        try:
            return call(words, given, values)
        finally:
            lock.release()

    return alone


def _several(call: Caller, outputs: Sequence[Growing]) -> Caller:
    def alone(words: Any, given: Any, values: Any = None) -> Any:
        with ExitStack() as stack:
            for output in outputs:
                stack.enter_context(output.held(given if values is None else values))
            return call(words, given, values)

    return alone


__all__ = ["Growing", "grows", "lock_of", "one_at_a_time"]
