"""Helpers for levels that store the entries of fiber ``p`` at positions ``ptr[p]`` up to
``ptr[p + 1]``, in the order of their indices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from finch_core.ir.dtypes import INTP
from finch_core.ir.expressions import Buffer, Expr, Load, Var
from finch_core.level import Field, Mode
from finch_core.looplets import Jumper, Stepper, Thunk
from finch_core.looplets.routines import search
from finch_core.looplets.walk_ends import Seek
from finch_core.records import frozen

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.interface.tensorlike import Fiber
    from finch_core.looplets import Looplet, Part, Stepper


def pointers(dtype: np.dtype[Any], role: str) -> Field:
    """The field of where fibers start."""
    return Field("ptr", dtype, role, ascending=True, nonnegative=True)


def indices(name: str, dtype: np.dtype[Any], role: str) -> Field:
    """A field of indices of a level's dimension, or of its size."""
    return Field(name, dtype, role, nonnegative=True, indices=True)


def bounds_of(ctx: Context, fiber: Fiber) -> tuple[Expr, Expr]:
    """The first position of a fiber's entries, and the position after the last."""
    ptr, name = fiber.lvl.buffer("ptr"), fiber.lvl.name
    start = ctx.let(f"{name}_q", Load(ptr, fiber.pos), INTP)
    return start, ctx.let(f"{name}_q_stop", Load(ptr, fiber.pos + 1), INTP)


def steps(
    ctx: Context,
    fiber: Fiber,
    kind: type[Stepper],
    order: Buffer,
    body: Callable[[Context, Expr], Part],
    tail: Part | None,
    *,
    base: Expr | None = None,
    past: int = 1,
    anchored: bool = False,
    bounds: tuple[Expr, Expr] | None = None,
) -> Stepper:
    """A step for each that a fiber stores: step ``q`` ends ``past`` the index that ``order`` has at
    ``q``, counted from ``base``. ``bounds`` are the first position and the one after the last, if
    not those of ``bounds_of``. Without a ``tail`` the last ends with the fiber, of which the
    format makes sure. The rest is as for ``Stepper``, which ``kind`` is one of."""
    start, stop = bounds or bounds_of(ctx, fiber)
    walk = ctx.walk(fiber.lvl, fiber.pos)
    listed = _Listed(ctx.var(f"{fiber.lvl.name}_p", start), stop, order, base, past)
    return kind(
        position=listed.q,
        end=stop,
        stop=listed.end_of,
        body=body,
        seek=Seek(listed.seek, partial(listed.until, name=f"{fiber.lvl.name}_end")),
        bound=fiber.lvl.shape,
        tail=tail,
        start=ctx.lift(0),
        anchored=anchored,
        whole=tail is None,
        walked=walk,
        fiber=walk,
    )


@frozen
class _Listed:
    """The steps that end ``past`` what ``order`` has at the positions from ``q`` up to ``stop``."""

    q: Var
    stop: Expr
    order: Buffer
    base: Expr | None
    past: int

    def end_of(self, q: Expr) -> Expr:
        """Where step ``q`` ends."""
        index = Load(self.order, q).cast(INTP)
        return (index if self.base is None else index - self.base) + self.past

    def seek(self, ctx: Context, i: Expr) -> None:
        """Set ``q`` to the first step that ends after index ``i``: the next one, most often."""
        key = self._key_of(i)
        behind = (self.q < self.stop).and_(Load(self.order, self.q).cast(INTP) < key)
        with ctx.if_(behind):
            ctx.assign(self.q, self.q + 1)
            with ctx.if_(behind):
                ctx.assign(self.q, search(ctx, self.order, self.q, self.stop, key))

    def until(self, ctx: Context, i: Expr, name: str) -> Expr:
        """A position such that all steps before it end by index ``i``: the end less none, one or
        two steps, else ``q``."""
        key, end = self._key_of(i), ctx.var(name, self.stop)
        beyond = (self.q < end).and_(Load(self.order, end - 1).cast(INTP) >= key)
        with ctx.if_(beyond):
            ctx.assign(end, end - 1)
            with ctx.if_(beyond):
                ctx.assign(end, end - 1)
                with ctx.if_(beyond):
                    ctx.assign(end, self.q)
        return end

    def _key_of(self, i: Expr) -> Expr:
        """What ``order`` has at least where a step ends after index ``i``."""
        return (i if self.base is None else self.base + i) + (1 - self.past)


def find(
    ctx: Context, fiber: Fiber, order: Buffer, start: Expr, stop: Expr, i: Expr, *, past: int = 1
) -> Expr:
    """The first of the steps from ``start`` up to ``stop`` that ends after index ``i``, or
    ``stop``; the steps are those of ``steps``.

    It is searched for between the places to which walks of the fiber have come.
    """
    name, key = f"{fiber.lvl.name}_p", i + (1 - past)
    known = ctx.arrivals.get(ctx.walk(fiber.lvl, fiber.pos), ())
    for reached, position in reversed(known):
        if ctx.prover.equal(reached, i):
            return position
    for reached, position in reversed(known):
        if ctx.prover.equal(reached, i + 1):
            q = ctx.var(name, position)
            with ctx.if_((start < position).and_(Load(order, position - 1).cast(INTP) >= key)):
                ctx.assign(q, position - 1)
            return _found(ctx, fiber, i, q)
        if ctx.prover.le(reached, i):
            if ctx.prover.le(i, reached + 1):
                q = ctx.var(name, position)
                with ctx.if_((position < stop).and_(Load(order, position).cast(INTP) < key)):
                    ctx.assign(q, position + 1)
                return _found(ctx, fiber, i, q)
            start = position
            break
        if ctx.prover.le(i, reached):
            stop = position
    return _found(ctx, fiber, i, search(ctx, order, start, stop, key))


def _found(ctx: Context, fiber: Fiber, i: Expr, position: Expr) -> Expr:
    """``position``, which is kept: a later walk of the fiber to index ``i`` begins there."""
    found = ctx.let(f"{fiber.lvl.name}_p", position)
    ctx.arrive(ctx.walk(fiber.lvl, fiber.pos), i, found)
    return found


def unfurled(
    fiber: Fiber,
    mode: Mode,
    protocol: str,
    *,
    update: Callable[[Context, Fiber], Iterator[Part]],
    follow: Callable[[Context, Fiber], Iterator[Part]],
    walk: Callable[[Context, Fiber, type[Stepper]], Iterator[Part]],
) -> Looplet:
    """The looplet of a fiber for a mode and a protocol; ``walk`` is called with ``Stepper``, or
    with ``Jumper`` for the protocol ``gallop``."""
    if mode is Mode.UPDATE:
        return Thunk(lambda ctx: update(ctx, fiber))
    if protocol == "follow":
        return Thunk(lambda ctx: follow(ctx, fiber))
    kind = Jumper if protocol == "gallop" else Stepper
    return Thunk(lambda ctx: walk(ctx, fiber, kind))
