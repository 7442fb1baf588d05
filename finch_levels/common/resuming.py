"""Helpers for levels of order *once* that several loops write one behind the other: the last fiber
that stores something goes on behind what it stores (``Format.resumes``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from finch_core.errors import FormatError
from finch_core.interface.tensorlike import BoundLevel, Fiber
from finch_core.ir.expressions import Expr, Var

if TYPE_CHECKING:
    from finch_core.interface.context import Context


def declare_last(ctx: Context, lvl: BoundLevel) -> None:
    """Emit the variable that has the last fiber that stores something, if several loops write."""
    lvl.state.pop("last", None)
    if lvl.resumed:
        lvl.state["last"] = ctx.var(f"{lvl.name}_last", -1)


def last_of(lvl: BoundLevel) -> Var | None:
    """The last fiber that stores something; None if one loop writes all of it."""
    return lvl.state.get("last")


def mark_last(ctx: Context, fiber: Fiber, stores: Expr) -> None:
    """Emit that ``fiber`` is the last that stores something, if it ``stores``."""
    last = last_of(fiber.lvl)
    if last is not None:
        with ctx.if_(stores):
            ctx.assign(last, fiber.pos)


def copy_last(ctx: Context, target: BoundLevel, stored: Var, splits: Expr) -> None:
    """Emit a copy of the leaf at the last of the ``stored`` positions to the next one, if a write
    ``splits`` its run."""

    def copy() -> None:
        value = Fiber(target, stored - 1).read(ctx)
        Fiber(target, stored).update(ctx, None, value)

    ctx.fork(splits, copy)


def require_behind(ctx: Context, fiber: Fiber, behind: Expr, i: Expr) -> None:
    """Emit a failure unless index ``i`` comes ``behind`` what the last fiber stores."""
    last = last_of(fiber.lvl)
    if last is None:
        return
    ctx.require(
        (last <= fiber.pos).and_(behind),
        FormatError,
        f"index {{0}} of {fiber} is not after all that its {fiber.lvl.format.name} stores",
        i,
        span=ctx.spans.get(fiber.tensor),
        hint="append in order, or use SparseHash, which takes writes in any order",
    )
