"""Thunk: code around a looplet, for values to cache and effects to clean up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, ClassVar

import attrs

from finch_core.looplets.base import Looplet, Precedence
from finch_core.looplets.run import Part, as_looplet
from finch_core.records import frozen

if TYPE_CHECKING:
    from finch_core.context import Context
    from finch_core.looplets.region import Region


@frozen
class Thunk(Looplet):
    """``code`` is a generator function of the context: what it emits before its one ``yield`` is
    the preamble, the looplet (or subtensor) it yields is the body, the rest is the epilogue.

    A ``steady`` one's body is the same wherever the region ends.
    """

    code: Callable[[Context], Iterator[Part]]
    cut: bool = False
    steady: bool = False
    precedence: ClassVar[Precedence] = Precedence.THUNK

    def lower(self, ctx: Context, region: Region, slot: int) -> None:
        steps = self.code(ctx)
        body = as_looplet(next(steps))
        region.put(slot, body.truncated() if self.cut else body).lower(ctx)
        for _ in steps:
            raise AssertionError("a thunk yields once")

    def truncated(self) -> Looplet:
        return self if self.cut or self.steady else attrs.evolve(self, cut=True)
