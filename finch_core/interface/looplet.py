"""The base class of all looplets, and the precedence of their lowering rules (paper, Figure
"Looplet evaluation semantics")."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.ir.expressions import Expr


class Precedence(enum.IntEnum):
    """The order in which the looplets of a loop are lowered: the highest precedence first."""

    THUNK = 10
    PHASE = 9
    SWITCH = 8
    RUN = 7
    SPIKE = 6
    SEQUENCE = 5
    JUMPER = 4
    STEPPER = 3
    PACKED = 2
    LOOKUP = 1
    ACCEPT_RUN = 0


class Looplet:
    """A description of a tensor along one loop.

    ``lower(ctx, region, slot)`` emits the region (``looplets.region.Region``) in which this
    looplet has the highest precedence. A plugin's looplet puts looplets of other kinds in its
    slot there, and lowers the resulting regions; one with the precedence of ``LOOKUP`` or below
    has ``at(ctx, index)``.
    """

    __slots__ = ()
    precedence: ClassVar[Precedence]

    def lower(self, ctx: Context, region: Any, slot: int) -> None:
        raise NotImplementedError

    def truncated(self) -> Looplet:
        """This looplet in a region that ends before the looplet's own end."""
        return self

    @property
    def fails(self) -> bool:
        """Whether a loop over this looplet fails as soon as it begins."""
        return False


class Alternatives(Protocol):
    """Two tensors or looplets, one of which applies by a condition, as in a ``Switch``."""

    @property
    def cond(self) -> Expr: ...
    @property
    def head(self) -> Any: ...
    @property
    def tail(self) -> Any: ...
