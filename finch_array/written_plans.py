"""Plans of programs that are written out, not made from a request."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from finch_array.listed import widened
from finch_array.operands import MOST
from finch_array.orders import Order
from finch_array.plans import Plan
from finch_array.ready import Ready, blank_of
from finch_array.requests import Indices, Request
from finch_array.run import as_seen
from finch_core.errors import IndexOverflow
from finch_core.interface.level import Format
from finch_core.interface.plugins import when_plugins_change
from finch_core.ir.program import Program
from finch_core.records import frozen
from finch_core.runtime.kernel import Kernel
from finch_core.runtime.options import LINEAR
from finch_core.runtime.tensor import Tensor


def plan_of(
    program: Program, loops: Indices, format: Format, extended: Sequence[str] = (),
    several: Program | None = None,
) -> Plan:  # fmt: skip
    """The plan of a program whose result has these indices, and this format. Its parameters are
    ``out``, the operands, and the sizes ``extended``. ``several`` is the program whose loops run on
    several cores, where there are many turns."""
    count = len(program.params) - 1 - len(extended)
    request = Request(program.name, lambda *x: x[0], (loops,) * count, loops)
    full = all(level.layout == "dense" for level in format.levels()[:-1])
    return Plan(
        request, Order(loops, ()), {}, Kernel.of_program(program, LINEAR, quiet=True),
        None if several is None else Kernel.of_program(several, LINEAR, quiet=True),
        format=format, stored=loops, extended=tuple(extended), plain=not extended,
        blank=blank_of(format), watched=full,
    )  # fmt: skip


def result_of(
    key: Any, make: Callable[[Callable[[Format], Format]], Plan], sizes: Mapping[str, int],
    shape: tuple[int, ...], sources: Sequence[Any], call: Known | None = None,
) -> Any:  # fmt: skip
    """The result, of this shape, of a plan that is written once for operands of one ``key``, from
    sources with these sizes. ``make`` is given what its format is passed through: where the indices
    of the result do not fit, they have 64 bits. ``call`` is what the caller may ask ``again``."""
    whole = (key, shape, tuple(sizes.values()))
    ready = _calls.get(whole)
    if ready is None:
        ready = _ready(whole, key, make, sizes, shape, _as_it_is)
    try:
        result = ready(sources)
    except IndexOverflow:
        return _ready(whole, (key, "wide"), make, sizes, shape, widened)(sources)
    if call is not None:
        if len(_known) >= MOST:
            _known.clear()
        _known[call.key] = ready, call.places, call.axes
    return result


@frozen(eq=False)
class Known:
    """A call of an array function that is one kernel. ``key`` has all that its plan depends on: the
    signatures and shapes of the operands, and which of them are the same. The kernel reads those at
    ``places``, and the dimensions of its result are those of ``axes``."""

    key: Any
    places: tuple[int, ...]
    axes: tuple[int, ...]


def again(key: Any, operands: Sequence[Any]) -> Any:
    """The result of a call that came before with other operands of this key; None if none did."""
    known = _known.get(key)
    if known is None:
        return None
    ready, places, axes = known
    try:
        return as_seen(ready([operands[k] for k in places]), axes)
    except IndexOverflow:  # which depends on what the operands store
        return None


def told(name: str, arrays: Sequence[Any], *options: Any) -> Any:
    """The key of calls of a function on tensors, with options that are integers or tuples of them;
    None for others."""
    for option in options:
        if option.__class__ is not int and option.__class__ is not tuple:
            return None
    key: list[Any] = [name, *options]
    ids = [id(x) for x in arrays]
    for k, x in enumerate(arrays):
        if x.__class__ is not Tensor:
            return None
        known = ids.index(ids[k])
        if known == k:
            key += (x.signature, x.shape)
        else:
            key.append(known)
    return tuple(key)


def _as_it_is(format: Format) -> Format:
    return format


def _ready(
    whole: Any, key: Any, make: Callable[[Callable[[Format], Format]], Plan],
    sizes: Mapping[str, int], shape: tuple[int, ...], through: Callable[[Format], Format],
) -> Ready:  # fmt: skip
    plan = _plans.get(key)
    if plan is None:
        if len(_plans) >= MOST:
            _plans.clear()
        plan = _plans[key] = make(through)
    if len(_calls) >= MOST:
        _calls.clear()
    ready = _calls[whole] = plan.ready(
        sizes, tuple([n.bit_length() for n in shape]), math.prod(shape)
    )
    return ready


_plans: dict[Any, Plan] = {}
_calls: dict[Any, Ready] = {}
_known: dict[Any, tuple[Ready, tuple[int, ...], tuple[int, ...]]] = {}
when_plugins_change(_plans.clear)
when_plugins_change(_calls.clear)
when_plugins_change(_known.clear)


__all__ = ["Known", "again", "plan_of", "result_of", "told"]
