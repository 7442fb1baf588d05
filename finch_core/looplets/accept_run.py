"""AcceptRun: an output that stores a whole run of equal values at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from finch_core.interface.looplet import Looplet, Precedence
from finch_core.interface.run import Part, made
from finch_core.ir.expressions import Expr
from finch_core.looplets.invariant import lower_invariant
from finch_core.records import frozen

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.looplets.region import Region


@frozen
class AcceptRun(Looplet):
    """``body(ctx, start, stop)`` is the subtensor that stores values at all of ``start`` up to
    ``stop``.

    It is lowered when nothing else varies along the loop; next to a Lookup it takes single
    indices.
    """

    body: Callable[[Context, Expr, Expr], Part]
    precedence: ClassVar[Precedence] = Precedence.ACCEPT_RUN

    def lower(self, ctx: Context, region: Region, slot: int) -> None:
        lower_invariant(ctx, region, frozenset(region.looplets))

    def at(self, ctx: Context, index: Expr) -> Looplet:
        """A run of length one at ``index``."""
        return made(self.body, ctx, index, index + 1)

    def over(self, ctx: Context, start: Expr, stop: Expr) -> Looplet:
        return made(self.body, ctx, start, stop)
