"""The work of a parallel loop, and its division into parts.

A turn costs some constant, and what tensors store at its index, where their levels know that
(``Format.stored_before``), times what is done for each entry. A part begins at the first turn at
which an equal share of the work has been done. Nothing here depends on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from finch_core.interface.plugin_calls import number_of
from finch_core.interface.tensorlike import ZERO, BoundTensor, Fiber
from finch_core.ir.expressions import Access, Expr, Index, Literal, Var, lift
from finch_core.ir.program import Loop, Stmt, While
from finch_core.lower.races import Roles, Tensors
from finch_core.lower.strides import is_positive
from finch_core.records import frozen
from finch_core.symbolic.prover import is_unit

if TYPE_CHECKING:
    from finch_core.interface.context import Context

MOST = 1024
"""The largest number of parts: enough for many cores, and for Ctrl-C in long loops."""
TURN = 7
"""The work of a turn beside what it reads; that of an entry is 1."""
LOOP, MOST_OF_A_TURN, VECTOR = 32, 1 << 14, 4
"""What a loop in a turn costs of which nothing is known, a turn at most, and how many turns of a
loop over what lies side by side cost 1."""
COPY, FEW_COPIES, FEW = 512, 32, 8
"""A copy of a tensor is made for at least so much work for each of its values; and for less, if
there are few copies."""


class Work:
    """The work of ``loop`` from ``start`` up to ``stop``, which treats tensors by ``roles``: these
    are indices, or numbers of turns if it is ``numbered``."""

    def __init__(
        self,
        ctx: Context,
        loop: Loop,
        start: Expr,
        stop: Expr,
        roles: Roles,
        numbered: bool = False,
    ) -> None:
        self.ctx, self.loop, self.start, self.stop = ctx, loop, start, stop
        self.roles = roles
        self.fibers = [] if numbered else self._known()
        costs = Costs(loop, {fiber.tensor for fiber in self.fibers}, roles.private)
        self.turn: Expr = costs.turn.value() + TURN
        of_turn = lift(0)
        if any(not fiber.lvl.format.stores_fill for fiber in self.fibers):
            of_turn, self.turn = self.turn, lift(1)  # an entry is a turn; others are skipped
        self.entry = {
            fiber.tensor: ctx.let("work_entry", costs.entries[fiber.tensor].value() + of_turn)
            for fiber in self.fibers
        }
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
        ends = [each * at + more.min(at) for at in (part, part + 1)]
        if not self.fibers:  # passes see from this that no part leaves the range
            ends = [ends[0].max(0), ends[1].min(share)]
        ends = [ctx.let("until", end) for end in ends]
        if not self.fibers:
            first, second = (self.start + end for end in ends)
        else:
            first, second = (self._turn_at(end) for end in ends)
        begin, end = map(self._on_stride, (first, second))
        return ctx.let(f"{name}_begin", begin), ctx.let(f"{name}_end", end)

    def _on_stride(self, index: Expr) -> Expr:
        """The first index of the loop from ``index`` on, or the loop's end."""
        step = self.loop.step
        if step is None or not is_positive(step):
            return index
        turns = (index - self.start + (step - 1)) // step
        return (self.start + turns * step).min(self.stop)

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
        total: Expr = self.ctx.lift(0)
        for fiber in self.fibers:
            entries = _entries(self.ctx, fiber, self._within(fiber, index))
            assert entries is not None
            total = total + entries * self.entry[fiber.tensor]
        return total

    def _within(self, fiber: Fiber, index: Expr) -> Expr:
        """An index of the loop, or the end of the fiber that is nearest: conditions may keep the
        accesses of a range inside that leaves it."""
        prover, shape = self.ctx.prover, fiber.lvl.shape
        inside = prover.le(ZERO, self.start) and prover.le(self.stop, shape)
        return index if inside else index.max(0).min(shape)

    def _known(self) -> list[Fiber]:
        """The fibers along the loop whose entries can be counted, one for each tensor."""
        found: dict[BoundTensor | None, Fiber] = {}
        for node in _accesses(self.loop.body):
            fiber = node.tensor
            mine = isinstance(fiber, Fiber) and fiber.tensor not in self.roles.written
            if mine and node.indices[:1] == (self.loop.index,):
                found.setdefault(fiber.tensor, fiber)
        uneven = (fiber for fiber in found.values() if not _is_even(fiber.tensor))
        return [fiber for fiber in uneven if self._counts(fiber)]

    def _counts(self, fiber: Fiber) -> bool:
        return self.ctx.look(lambda: _entries(self.ctx, fiber, self.start)) is not None


def _is_even(tensor: BoundTensor | None) -> bool:
    """Whether every row stores the same number of values."""
    levels = () if tensor is None else tensor.format.levels()
    return all(level.stores_fill and not level.shares for level in levels if not level.is_leaf)


def _entries(ctx: Context, fiber: Fiber, index: Expr) -> Expr | None:
    lvl = fiber.lvl
    below = number_of(lvl.format, "position_from", ctx, fiber, index)
    if below is None or lvl.child is None:
        return None
    return number_of(lvl.child.format, "stored_before", ctx, lvl.child, below)


@frozen
class Cost:
    """Some constant times the extents of loops."""

    times: int = 1
    sizes: tuple[Expr, ...] = ()

    def __mul__(self, other: Cost) -> Cost:
        return Cost(min(self.times * other.times, MOST_OF_A_TURN), self.sizes + other.sizes)

    def value(self) -> Expr:
        """The cost as an expression, at most that of a long turn."""
        found: Expr = lift(self.times)
        for size in self.sizes:
            found = (found * size).min(MOST_OF_A_TURN * VECTOR)
        return (found // VECTOR).max(1) if self.sizes else found


def _rank(cost: Cost) -> tuple[int, int]:
    return len(cost.sizes), cost.times


class Costs:
    """The cost of a turn of ``loop``, and that of each entry of the tensors that loops in it walk;
    each turn makes the tensors ``private`` anew.

    An entry costs what the loop that walks it does in a turn, as many times as loops around that
    one, at whose index the tensor is not accessed, walk it again.
    """

    def __init__(self, loop: Loop, walked: set[BoundTensor | None], private: Tensors) -> None:
        self.changing = {level.shape for tensor in private for level in tensor.level.levels()}
        self.entries = {tensor: Cost() for tensor in walked}
        self.turn = self._of(loop.body, ())

    def _of(self, stmt: Stmt, around: tuple[tuple[Index, Cost], ...]) -> Cost:
        if not isinstance(stmt, Loop) or _is_single(stmt):
            costs = (self._of(body, around) for body in stmt.bodies)
            cost = max(costs, key=_rank, default=Cost())
            return cost * Cost(LOOP * LOOP) if isinstance(stmt, While) else cost
        walks = [node for node in _accesses(stmt.body) if self._walks(node, stmt.index)]
        turns = Cost(LOOP) if walks else self._turns(stmt)
        within = self._of(stmt.body, (*around, (stmt.index, turns)))
        for node in walks:
            entry, tensor = within, node.tensor.root
            for index, again in around:
                entry = entry if index in node.indices else again * entry
            self.entries[tensor] = max(self.entries[tensor], entry, key=_rank)
        return Cost() if walks else turns * within

    def _walks(self, node: Access, index: Index) -> bool:
        return node.tensor.root in self.entries and index in node.indices

    def _turns(self, loop: Loop) -> Cost:
        extent = loop.extent
        tensors = {a.tensor.root for a in _accesses(loop.body) if loop.index in a.indices}
        even = all(_is_even(tensor) for tensor in tensors)
        if even and extent is not None and extent.start == ZERO:
            known = isinstance(extent.stop, Literal | Var) and extent.stop not in self.changing
            return Cost(1, (extent.stop,)) if known else Cost(LOOP)
        return Cost(LOOP)


def _accesses(stmt: Stmt) -> Iterator[Access]:
    for part in stmt.walk():
        for expr in part.exprs:
            yield from (node for node in expr.walk() if isinstance(node, Access))


def _is_single(loop: Loop) -> bool:
    """Whether a loop has one turn, as around a gather."""
    return loop.extent is not None and is_unit(loop.extent)


__all__ = ["Work"]
