"""The base of all looplets, and the precedence in which their rules apply (paper, Figure "Looplet
evaluation semantics")."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, ClassVar

from finch_core.binding import TensorLike

if TYPE_CHECKING:
    from finch_core.context import Context
    from finch_core.looplets.region import Region


class Precedence(enum.IntEnum):
    """Which looplet of a loop is lowered first: the one with the highest precedence."""

    THUNK = 9
    PHASE = 8
    SWITCH = 7
    RUN = 6
    SPIKE = 5
    SEQUENCE = 4
    JUMPER = 3
    STEPPER = 2
    LOOKUP = 1
    ACCEPT_RUN = 0


class Looplet:
    """A description of a tensor along one loop.

    ``lower(ctx, region, slot)`` emits the region in which this looplet has precedence.
    """

    __slots__ = ()
    precedence: ClassVar[Precedence]

    def lower(self, ctx: Context, region: Region, slot: int) -> None:
        raise NotImplementedError

    def truncated(self) -> Looplet:
        """This looplet in a region that ends before its own end."""
        return self


Part = TensorLike | Looplet
"""What a looplet may be made of: a subtensor, or a looplet over the same region."""


def as_looplet(part: Part) -> Looplet:
    """``part`` over a region: a subtensor is the same throughout."""
    from finch_core.looplets.run import Run

    return part if isinstance(part, Looplet) else Run(part)
