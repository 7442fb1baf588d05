"""The level interface: five functions by which a format joins the compiler (paper, Table "The five
functions that define a level").

A *level* is a pool of fibers, each named by its *position*; a leaf level holds scalars. A format is
one immutable object (attrs, frozen, hashable) that names the buffers and scalars of its level and
emits the code that works on them. The compiler binds those to variables; no method runs on data
except ``sizes`` and ``validate``, which look at a tensor's arrays from Python.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, ClassVar

from finch_core.errors import FormatError
from finch_core.interface.abilities import Abilities
from finch_core.interface.storage import Storage

if TYPE_CHECKING:
    import numpy as np

    from finch_core.interface.context import Context
    from finch_core.interface.looplet import Alternatives, Looplet
    from finch_core.interface.tensorlike import BoundLevel, Fiber
    from finch_core.ir.expressions import Expr
    from finch_core.ir.operators import Operator


class Mode(enum.Enum):
    """Whether an access reads a frozen tensor or updates a thawed one."""

    READ = "read"
    UPDATE = "update"


class Format(Storage, Abilities):
    """Base of all level formats.

    Subclasses are attrs-frozen classes with a field ``lvl`` (the child format) unless they are
    leaves. They have the five functions (a leaf ``unwrap`` in place of ``unfurl``), ``fields`` and
    ``sizes`` (see ``Storage``), and say what else they can do (see ``Abilities``).
    """

    name: ClassVar[str] = ""
    is_leaf: ClassVar[bool] = False

    @property
    def child(self) -> Format | None:
        """The format of the subfibers; None in a leaf."""
        return getattr(self, "lvl", None)

    def levels(self) -> tuple[Format, ...]:
        """This level and all below, outermost first."""
        below = () if self.child is None else self.child.levels()
        return (self, *below)

    # -- the five functions -------------------------------------------------------------

    def declare(self, ctx: Context, lvl: BoundLevel, init: Expr) -> None:
        """Make the level empty and ready for updates: no position is assembled afterwards."""
        raise NotImplementedError

    def assemble(self, ctx: Context, lvl: BoundLevel, start: Expr, stop: Expr) -> None:
        """Allocate the fibers at positions ``start`` up to ``stop``, empty. Positions below
        ``start`` are assembled already."""
        raise NotImplementedError

    def freeze(self, ctx: Context, lvl: BoundLevel, stop: Expr) -> None:
        """End the updates; positions up to ``stop`` are assembled before, and readable after."""
        raise NotImplementedError

    def thaw(self, ctx: Context, lvl: BoundLevel, stop: Expr) -> None:
        """Take up updates again; positions up to ``stop`` are frozen before, assembled after."""
        raise NotImplementedError

    def unfurl(self, ctx: Context, fiber: Fiber, mode: Mode, protocol: str) -> Looplet:
        """The looplet over one fiber: of subfibers to read, or of subfibers to update."""
        raise NotImplementedError

    # -- a leaf has this in place of ``unfurl`` -----------------------------------------

    def unwrap(
        self, ctx: Context, fiber: Fiber, mode: Mode, op: Operator | None, value: Expr | None
    ) -> Expr | None:
        """A leaf's scalar: its value (``READ``), or emit ``leaf = op(leaf, value)`` (``UPDATE``,
        plain assignment where ``op`` is None) and mark the fiber dirty if it was written."""
        raise NotImplementedError

    # -- only some formats have these ----------------------------------------------------

    def reset(self, ctx: Context, lvl: BoundLevel, start: Expr, stop: Expr) -> None:
        """Make the fibers at positions ``start`` up to ``stop``, which are assembled, empty again.
        Only levels that say so with ``resets`` are asked to."""
        raise NotImplementedError

    def cases(self, ctx: Context, fiber: Fiber) -> Alternatives | None:
        """A leaf: the two things that it may be (see ``TensorLike.cases``)."""
        return None

    def settled(
        self, ctx: Context, fiber: Fiber, op: Operator, dtype: np.dtype[Any]
    ) -> Expr | None:
        """A leaf: when updates change nothing any more (see ``TensorLike.settled``)."""
        return None


def check_child(child: Any) -> Format:
    """``child`` if it is a level format (attrs converter); ``FormatError`` otherwise."""
    if isinstance(child, type) and issubclass(child, Format):
        child = child()
    if not isinstance(child, Format):
        raise FormatError(
            f"a level's child must be a level format, not {child!r}",
            hint="nest formats down to a leaf, as in Dense(SparseList(Element(0.0)))",
        )
    if child.is_leaf and child.fields and not any(field.is_buffer for field in child.fields):
        raise FormatError(
            f"a {child.name} holds one value, which all positions of a level would share",
            hint="use Element, which has a value for each position",
        )
    return child


__all__ = ["Format", "Mode", "check_child"]
