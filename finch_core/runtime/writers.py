"""Tensors that are being written: one call at a time may write a tensor whose structure grows.

Calls release the global interpreter lock. Of two that insert into one tensor each would go on in
memory that the other has given back.

Handlers of signals may raise at any call of a function. So a call marks a tensor by an assignment,
and what ends it is one assignment, too: no lock stays held. That one thread at a time tests and
sets the mark follows from CPython's lock, which changes hands at calls and jumps back alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from finch_core.errors import LifecycleError, Span
from finch_core.interface.signatures import Signature, TensorSignature
from finch_core.records import frozen
from finch_core.runtime.storage import TensorStorage

Caller = Callable[..., Any]


class Writer:
    """A call that writes tensors, until it has ``ended``."""

    __slots__ = ("ended",)

    def __init__(self) -> None:
        self.ended = False


NOBODY = Writer()
NOBODY.ended = True


@frozen
class Growing:
    """An output whose structure may grow: its place among the arguments, its name, and where it is
    written."""

    place: int
    name: str
    span: Span | None

    def refuse(self) -> NoReturn:
        """Raise ``LifecycleError``: another call is writing the output."""
        raise LifecycleError(
            f"{self.name} is being written by another call, of another thread",
            span=self.span,
            hint="give each thread a tensor of its own, or hold a lock around the calls",
        )


def grows(signature: Signature) -> bool:
    """Whether the structure of an output may grow: it is no array, and not dense."""
    while not isinstance(signature, TensorSignature):
        inner = getattr(signature, "inner", None)
        if inner is None:
            return False
        signature = inner
    levels = signature.format.levels()
    return not signature.fixed and any(level.fields for level in levels if not level.is_leaf)


def marked(value: Any) -> TensorStorage:
    """The tensor, or the one inside of wrappers, on which calls that write it leave a mark."""
    while not isinstance(value, TensorStorage):
        value = value.tensor
    try:
        value.writer  # noqa: B018 (``hasattr`` is a call, after which another thread may run)
    except AttributeError:
        value.writer = NOBODY
    return value


def one_at_a_time(call: Caller, outputs: Sequence[Growing]) -> Caller:
    """``call``, which takes words, the arguments as given and their values, and writes these
    outputs: it raises ``LifecycleError`` where another call writes one of them."""
    if len(outputs) > 1:
        return _several(call, outputs)
    (only,) = outputs
    place, refuse = only.place, only.refuse

    def alone(words: Any, given: Any, values: Any = None) -> Any:
        tensor, own = (given if values is None else values)[place], Writer()
        try:
            tensor.writer  # noqa: B018 (whether it has one)
        except AttributeError:
            tensor = marked(tensor)
        try:
            if not tensor.writer.ended:
                refuse()
            tensor.writer = own
            return call(words, given, values)
        finally:
            own.ended = True

    return alone


def _several(call: Caller, outputs: Sequence[Growing]) -> Caller:
    def alone(words: Any, given: Any, values: Any = None) -> Any:
        tensors, own = given if values is None else values, Writer()
        try:
            for output in outputs:
                tensor = marked(tensors[output.place])
                if not tensor.writer.ended:
                    output.refuse()
                tensor.writer = own
            return call(words, given, values)
        finally:
            own.ended = True

    return alone


__all__ = ["Growing", "Writer", "grows", "marked", "one_at_a_time"]
