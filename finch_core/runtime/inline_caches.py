"""Calls of kernels through inline caches (see ``interface.inline_cache``): for which arguments, and
from which call on (``docs/decisions/286-inline-caches.md``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from finch_core.interface.inline_cache import ArrayGuard, InlineCache, NumberGuard, TensorGuard
from finch_core.runtime.arguments import SIMPLE_NUMBERS, Number, as_value
from finch_core.runtime.lending import Writer
from finch_core.runtime.storage import TensorStorage

if TYPE_CHECKING:
    from finch_core.runtime.specialization import Specialization

CALLS = 500
"""The calls of a kernel on arguments of the same signatures before it gets an inline cache: a
library may have to be compiled for that."""
MOST = 4
"""The most inline caches of a kernel, each for a specialisation of its own."""

Guards = list[NumberGuard | ArrayGuard | TensorGuard]


def guards_of(
    given: Sequence[Any],
    values: Sequence[Any],
    written: Sequence[int],
    growing: Sequence[int],
    *,
    same: bool = False,
) -> Guards | None:
    """What knows arguments like these again, or the ``same`` arguments; None where one is of a kind
    that is looked at in Python alone. ``written`` and ``growing`` are places of outputs."""
    found: Guards = []
    for k, (argument, value) in enumerate(zip(given, values, strict=True)):
        kind, is_written = type(argument), k in written
        if isinstance(value, Number):
            if kind not in SIMPLE_NUMBERS:
                return None
            found.append(NumberGuard(kind))
        elif kind is np.ndarray:
            dtype, flags = argument.dtype, argument.flags
            if dtype.kind not in "biufc" or not (flags.c_contiguous and flags.aligned):
                return None
            shape = argument.shape if same else None
            found.append(ArrayGuard(dtype, argument.ndim, shape, is_written))
        elif value is argument and isinstance(value, TensorStorage) and type(value.state) is object:
            found.append(
                TensorGuard(
                    kind,
                    value.state,
                    value.signature,
                    value.address,
                    value.memory,
                    same or is_written,
                    is_written,
                    k in growing,
                )
            )
        else:
            return None
    return found


def inline_cache(
    specialized: Specialization,
    given: Sequence[Any],
    values: Sequence[Any],
    *,
    end: Callable[[], None],
    same: bool = False,
    watched: np.ndarray[Any, np.dtype[np.uint64]] | None = None,
) -> InlineCache | None:
    """What calls with arguments like these, or with the ``same``, are compared with, if they can be
    compared by compiled code. ``values`` are the arguments as objects with a signature. ``end`` is
    called when it is of no use any more; ``watched`` as in ``InlineCache``. ``specialized`` is no
    draft."""
    if not specialized.is_cacheable:
        return None
    growing = [output.place for output in specialized.growing]
    guards = guards_of(given, values, specialized.outputs, growing, same=same)
    seen = specialized.lowered.program.seen
    names = [] if seen is None else [*seen.names.values()]
    if not guards or not all(type(scope) is dict for scope, _, _ in names):
        return None
    attributes = [] if seen is None else [*seen.attributes.values()]
    compiled, control = specialized.compiled, specialized.control_block()
    locals_, workspace = specialized.made_workspace() if specialized.has_locals else ((), [])
    read = specialized.number_reader(locals_)

    def gather(args: tuple[Any, ...]) -> Any:
        return specialized.gather(args, locals_) if read is None else read()

    def settle(status: int, args: tuple[Any, ...]) -> BaseException | None:
        values = [as_value(arg) for arg in args]
        failure = specialized.handle_status(status, compiled, values, locals_, control)
        if failure is not None and locals_:  # what they hold is not known
            end()
        return failure

    def leave(args: tuple[Any, ...]) -> None:
        if locals_:
            end()
        specialized.leave(compiled, [as_value(arg) for arg in args], locals_)

    place = specialized.given_result()
    gathers = gather if place is None and specialized.has_results else None
    if watched is None:
        watched = np.zeros((2, 0), np.uint64)
    writer = Writer()
    writer.ended = True
    return InlineCache(
        guards, names, attributes, watched, workspace, control, np.zeros(1, np.uint64), place,
        gathers, settle, leave, writer,
    )  # fmt: skip


class CallCounts:
    """The calls of a specialisation: those that are made in Python, those through its inline
    caches, and the number of the former at which it gets one."""

    __slots__ = ("_before", "_counter", "at", "in_python")

    def __init__(self) -> None:
        self.at, self.in_python = CALLS, 0
        self._before, self._counter = 0, np.zeros(1, np.uint64)

    @property
    def all(self) -> int:
        """The number of all calls."""
        return self.in_python + self._before + int(self._counter[0])

    def try_soon(self) -> None:
        """Let the next call be the one at which an inline cache is made, if there were enough."""
        self.at = max(CALLS, self.in_python + 1)

    def count_in(self, cache: InlineCache) -> None:
        """Count the calls through an inline cache, the only one from here on."""
        self._before, self._counter = self._before + int(self._counter[0]), cache.calls
