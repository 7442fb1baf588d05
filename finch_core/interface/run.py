"""Run: the same value, or subtensor, at every index of the region."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from finch_core.errors import MISTAKES, FinchError, PluginError, mistaken
from finch_core.interface.looplet import Looplet, Precedence
from finch_core.interface.tensorlike import Fiber, TensorLike
from finch_core.records import frozen

if TYPE_CHECKING:
    from finch_core.interface.context import Context


@frozen
class Run(Looplet):
    """``body`` at every index. Its rule replaces the slot by the value and simplifies.

    Runs of what is stored are replaced together, as it is constants that simplify a statement: one
    after another, each would be simplified with all before it.
    """

    body: TensorLike
    precedence: ClassVar[Precedence] = Precedence.RUN

    def lower(self, ctx: Context, region: Any, slot: int) -> None:
        filled = {slot: self.body}
        if isinstance(self.body, Fiber):
            runs = {k: x for k, x in region.looplets.items() if isinstance(x, Run)}
            filled |= {k: run.body for k, run in runs.items() if isinstance(run.body, Fiber)}
        region.filled(ctx, filled).lower(ctx)

    @property
    def fails(self) -> bool:
        return self.body.is_out_of_bounds


Part = TensorLike | Looplet
"""What a looplet may contain: a subtensor, or a looplet over the same region."""


def as_looplet(part: Part, maker: Any = None) -> Looplet:
    """``part`` as a looplet: a subtensor becomes a ``Run``.

    Raises ``PluginError`` for anything else, naming the function ``maker`` that returned it.
    """
    return part if isinstance(part, Looplet) else Run(as_subtensor(part, maker))


def made(function: Callable[..., Part], *args: Any) -> Looplet:
    """The looplet that a function of a looplet returns.

    Raises ``PluginError`` if it fails, or returns neither a looplet nor a subtensor.
    """
    try:
        part = function(*args)
    except FinchError:
        raise
    except MISTAKES as error:
        raise mistaken(place_of(function), error) from error
    return as_looplet(part, function)


def nothing(function: Callable[..., object], *args: Any) -> None:
    """Call a function of a looplet that emits; ``PluginError`` if it gives anything."""
    found = function(*args)
    if found is not None:
        raise PluginError(
            f"{place_of(function)} gives {found!r:.60}, and None is expected",
            hint="it emits code, as ctx.assign(position, ...)",
        )


def as_subtensor(part: Any, maker: Any = None) -> TensorLike:
    """``part`` as a subtensor; ``PluginError`` if it is none."""
    if isinstance(part, TensorLike):
        return part
    given = f"{part!r} stands" if maker is None else f"{place_of(maker)} gives {part!r}"
    raise PluginError(
        f"{given} where a looplet or a subtensor is expected",
        hint="fiber.subfiber(q) and fiber.filled() are subtensors, Run, Lookup and Thunk looplets",
    )


def place_of(function: Any) -> str:
    """A function's name and source location, for a message."""
    code = getattr(function, "__code__", None)
    if code is None:
        return repr(function)
    return f"{function.__qualname__} (line {code.co_firstlineno} of {code.co_filename})"
