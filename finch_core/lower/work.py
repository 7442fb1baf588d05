"""The work of a parallel loop, and its division into parts.

A turn costs some constant, and what tensors store at its index, where their levels know that
(``Format.stored_before``). A part begins at the first turn at which an equal share of the work has
been done. Nothing here depends on the number of threads.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from finch_core.interface.tensorlike import ZERO, BoundTensor, Fiber
from finch_core.ir.expressions import Access, Expr, Index, Literal
from finch_core.ir.program import Loop, Stmt, While
from finch_core.lower.strides import is_unit

if TYPE_CHECKING:
    from finch_core.interface.context import Context

MOST = 1024
"""The largest number of parts: enough for many cores, and for Ctrl-C in long loops."""
TURN = 8
"""The work of a turn beside what it reads; that of an entry is 1."""
LOOP, MOST_OF_A_TURN = 16, 1 << 14
"""What a loop in a turn costs of which nothing is known, and a turn at most."""
COPY, FEW_COPIES, FEW = 512, 32, 8
"""A copy of a tensor is made for at least so much work for each of its values; and for less, if
there are few copies."""


class Work:
    """The work of ``loop`` from ``start`` up to ``stop``, which writes the tensors ``written``."""

    def __init__(
        self, ctx: Context, loop: Loop, start: Expr, stop: Expr, written: set[BoundTensor]
    ) -> None:
        self.ctx, self.loop, self.start, self.stop = ctx, loop, start, stop
        self.written = written
        known = self._known()
        self.turn: Expr | int = _cost(self.loop.body, {fiber.tensor for fiber in known})
        self.fibers = [fiber for fiber in known if fiber.ndim > 1 and not _is_even(fiber)]
        for fiber in known:
            if fiber.ndim > 1 and _is_even(fiber):
                self.turn = self.turn + _row(fiber)
        self.turns = ctx.let(
            f"{self.loop.index.name}_turns", ctx.prover.maximum(stop - start, ZERO)
        )
        self.turn = ctx.let("work_turn", ctx.lift(self.turn))
        self.total: Expr = self.turns * self.turn
        if self.fibers:
            self.first = self.ctx.let("work_first", self._entries(self.start))
            last = self._entries(self.start + self.turns)
            self.total = self.ctx.let("work", self.total + (last - self.first))

    def parts(self, copies: list[Expr]) -> Expr:
        """The number of parts, of which each makes copies of these sizes."""
        count = (self.total // self.ctx.least_work).min(MOST)
        for size in copies:
            if not isinstance(size, Literal):
                few = (self.total // (size * FEW_COPIES + 1)).min(FEW)
                count = count.min(few.max(self.total // (size * COPY + 1)))
        return count.max(1)

    def bounds(self, part: Expr, parts: Expr) -> tuple[Expr, Expr]:
        """Emit the first turn of a part, and the first of the next."""
        ctx, name = self.ctx, self.loop.index.name
        share = self.total if self.fibers else self.turns
        each = ctx.let("each", share // parts)
        more = ctx.let("more", share - each * parts)
        ends = [ctx.let("until", each * at + more.min(at)) for at in (part, part + 1)]
        if not self.fibers:
            first, second = (self.start + end for end in ends)
        else:
            first, second = (self._turn_at(end) for end in ends)
        return ctx.let(f"{name}_begin", first), ctx.let(f"{name}_end", second)

    def _turn_at(self, work: Expr) -> Expr:
        """Emit the search of the first turn before which there is this much work."""
        ctx = self.ctx
        low = ctx.var("low", self.start)
        high = ctx.var("high", self.start + self.turns)
        with ctx.while_(low < high):
            middle = ctx.let("middle", low + ((high - low) >> 1))
            done = (middle - self.start) * self.turn + (self._entries(middle) - self.first)
            ctx.fork(
                done < work,
                lambda: ctx.assign(low, middle + 1),
                lambda: ctx.assign(high, middle),
            )
        return low

    def _entries(self, index: Expr) -> Expr:
        """What the tensors store before an index."""
        found = [_entries(self.ctx, fiber, index) for fiber in self.fibers]
        total: Expr = self.ctx.lift(0)
        for entries in found:
            assert entries is not None
            total = total + entries
        return total

    def _known(self) -> list[Fiber]:
        """The fibers along the loop whose entries can be counted, one for each tensor."""
        found: dict[BoundTensor | None, Fiber] = {}
        for part in self.loop.body.walk():
            for expr in part.exprs:
                for node in expr.walk():
                    if isinstance(node, Access) and node.indices[:1] == (self.loop.index,):
                        fiber = node.tensor
                        if isinstance(fiber, Fiber) and fiber.tensor not in self.written:
                            found.setdefault(fiber.tensor, fiber)
        return [fiber for fiber in found.values() if self._counts(fiber)]

    def _counts(self, fiber: Fiber) -> bool:
        return self.ctx.look(lambda: _entries(self.ctx, fiber, self.start)) is not None


def _is_even(fiber: Fiber) -> bool:
    """Whether every row stores the same number of values."""
    levels = fiber.lvl.format.levels()
    return all(level.stores_fill and not level.shares for level in levels if not level.is_leaf)


def _row(fiber: Fiber) -> Expr:
    """The number of values of a row of which every index is stored."""
    sizes = [extent.stop for extent in fiber.dims[1:] if extent is not None]
    return reduce(lambda a, b: a * b, sizes)


def _entries(ctx: Context, fiber: Fiber, index: Expr) -> Expr | None:
    lvl = fiber.lvl
    below = lvl.format.position_from(ctx, fiber, index)
    if below is None or lvl.child is None:
        return None
    return lvl.child.format.stored_before(ctx, lvl.child, below)


def _cost(stmt: Stmt, known: set[BoundTensor | None]) -> int:
    """The work of a turn, without the entries of the tensors that are ``known``."""
    return min(TURN * _loops(stmt, known), MOST_OF_A_TURN)


def _loops(stmt: Stmt, known: set[BoundTensor | None]) -> int:
    within = max((_loops(body, known) for body in stmt.bodies), default=1)
    if isinstance(stmt, While):
        return within * LOOP * LOOP
    if isinstance(stmt, Loop) and not _is_single(stmt) and not _walks(stmt.body, stmt.index, known):
        return within * LOOP
    return within


def _is_single(loop: Loop) -> bool:
    """Whether a loop has one turn, as around a gather."""
    return loop.extent is not None and is_unit(loop.extent)


def _walks(stmt: Stmt, index: Index, known: set[BoundTensor | None]) -> bool:
    """Whether ``stmt`` accesses one of the tensors at an index."""
    return any(
        isinstance(node, Access) and node.tensor.root in known and index in node.indices
        for part in stmt.walk()
        for expr in part.exprs
        for node in expr.walk()
    )


__all__ = ["Work"]
