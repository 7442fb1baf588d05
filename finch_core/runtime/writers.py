"""Tensors that are being written: one call at a time may write a tensor whose structure grows, and
none writes the structure of another object.

Calls release the global interpreter lock. Of two that insert into one tensor each would go on in
memory that the other has given back.

Handlers of signals may raise at any call of a function. So a call marks a tensor by an assignment,
and what ends it is one assignment, too: no lock stays held. That one thread at a time tests and
sets the mark follows from CPython's lock, which changes hands at calls and jumps back alone.

Other objects may be over the buffers of a tensor: arrays of SciPy, and tensors made of them. They
were checked once, with their own shape. A call that may build the structure anew gives the tensor
memory of its own first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from finch_core.errors import LifecycleError, Span
from finch_core.interface.signatures import Signature, TensorSignature
from finch_core.records import frozen
from finch_core.runtime.lending import NOBODY, Writer
from finch_core.runtime.storage import TensorStorage

Caller = Callable[..., Any]


@frozen
class Growing:
    """An output whose structure may grow: its place among the arguments, its name, where it is
    written, and whether the program ``keeps`` its structure, of which it changes values alone."""

    place: int
    name: str
    span: Span | None
    keeps: Callable[[], bool]

    def refuse(self) -> NoReturn:
        """Raise ``LifecycleError``: another call is writing the output."""
        _refuse(self.name, self.span)

    def own_memory(self, tensor: TensorStorage, own: Writer) -> None:
        """Copy the buffers of an output that are lent, unless their structure stays as it is. The
        mark is that of all outputs of the call."""
        others, own.lent = own.lent, True
        if not self.keeps():
            tensor.adopt_copy(tensor)
            own.lent = others


def _refuse(name: str, span: Span | None = None) -> NoReturn:
    raise LifecycleError(
        f"{name} is being written by another call, of another thread",
        span=span,
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


def begin_writing(tensor: TensorStorage, own: Writer) -> None:
    """Mark a tensor as written by other means than a kernel; the caller ends its mark, also where
    this is interrupted. Raises ``LifecycleError`` where a call is writing the tensor."""
    tensor = marked(tensor)
    before = tensor.writer
    if not before.ended:
        _refuse("the array")
    own.lent = before.lent
    tensor.writer = own


def one_at_a_time(call: Caller, outputs: Sequence[Growing]) -> Caller:
    """``call``, which takes words, the arguments as given and their values, and writes these
    outputs: it raises ``LifecycleError`` where another call writes one of them."""
    if len(outputs) > 1:
        return _several(call, outputs)
    (only,) = outputs
    place, refuse, own_memory = only.place, only.refuse, only.own_memory

    def alone(words: Any, given: Any, values: Any = None) -> Any:
        tensor, own = (given if values is None else values)[place], Writer()
        try:
            tensor.writer  # noqa: B018 (whether it has one)
        except AttributeError:
            tensor = marked(tensor)
        try:
            before = tensor.writer
            if not before.ended:
                refuse()
            tensor.writer = own
            if before.lent:
                own_memory(tensor, own)
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
                before = tensor.writer
                if not before.ended:
                    output.refuse()
                tensor.writer = own
                if before.lent:
                    output.own_memory(tensor, own)
            return call(words, given, values)
        finally:
            own.ended = True

    return alone


__all__ = ["Growing", "Writer", "begin_writing", "grows", "marked", "one_at_a_time"]
