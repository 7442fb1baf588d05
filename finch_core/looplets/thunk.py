"""Thunk: a looplet with code before and after it, to cache values and to finish effects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from finch_core.errors import MISTAKES, FinchError, PluginError, mistaken
from finch_core.interface.looplet import Looplet, Precedence
from finch_core.interface.run import Part, as_looplet, place_of
from finch_core.looplets.covering import owned
from finch_core.records import evolve, frozen

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.looplets.region import Region


@frozen
class Thunk(Looplet):
    """A looplet inside emitted code.

    ``code`` is a generator function of the context: it emits the preamble, yields the looplet
    (or subtensor) that is the body, and emits the epilogue. The body of a ``steady`` thunk is
    the same wherever the region ends.
    """

    code: Callable[[Context], Iterator[Part]]
    cut: bool = False
    steady: bool = False
    precedence: ClassVar[Precedence] = Precedence.THUNK

    def lower(self, ctx: Context, region: Region, slot: int) -> None:
        steps = self.code(ctx)
        with owned(region, slot):
            body = yielded(self, steps)
        region.put(slot, body.truncated() if self.cut else body).lower(ctx)
        with owned(region, slot):
            finish(self, steps)

    def body(self, ctx: Context) -> Looplet:
        """What the code yields, to be looked at: no code is kept."""
        return ctx.look(lambda: yielded(self, self.code(ctx)))

    def truncated(self) -> Looplet:
        return self if self.cut or self.steady else evolve(self, cut=True)


def yielded(thunk: Thunk, steps: Iterator[Part]) -> Looplet:
    """The body that a thunk's code yields after its preamble; ``PluginError`` if it yields
    nothing."""
    found: Any = _next(thunk, steps) if hasattr(steps, "__next__") else _END
    if found is _END:
        raise PluginError(
            f"the code of a Thunk, {place_of(thunk.code)}, does not yield",
            hint="it emits what comes first, yields a looplet or subtensor, and emits what follows",
        )
    return as_looplet(found, thunk.code)


def finish(thunk: Thunk, steps: Iterator[Part]) -> None:
    """Emit a thunk's epilogue; ``PluginError`` if its code yields again."""
    if _next(thunk, steps) is not _END:
        raise PluginError(f"the code of a Thunk, {place_of(thunk.code)}, yields twice")


_END: Any = object()
"""The result of ``next`` on an exhausted generator."""


def _next(thunk: Thunk, steps: Iterator[Part]) -> Any:
    try:
        return next(steps, _END)
    except FinchError:
        raise
    except MISTAKES as error:
        raise mistaken(f"the code of a Thunk, {place_of(thunk.code)},", error) from error
