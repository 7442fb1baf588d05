"""Run-time bounds checks of gathers, scatters and ranges.

    for i in _: y[i] += x[I[i]]       ->     if at < 0 or at >= x_n0: fail
    for q in range(ptr[i], ptr[i + 1])       before the loop, unless it is empty

A loop over a whole dimension, or over a range that was checked before the program runs, needs
no check here: it is in ``Context.fitting``. The check of an access in an expression that is
evaluated under a condition stands under the same condition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from finch_core.errors import DimensionMismatch, OutOfBounds, Span
from finch_core.interface.run import Run
from finch_core.interface.tensorlike import TensorLike
from finch_core.ir.dtypes import BOOL, Type
from finch_core.ir.expressions import (
    TRUE,
    Access,
    Expr,
    Index,
    Literal,
    Name,
    Var,
    cast,
    lift,
)
from finch_core.ir.program import (
    Extent,
    Loop,
    Sequential,
    Stmt,
    Update,
    While,
)
from finch_core.lower.changes import Changes
from finch_core.lower.index_conditions import ANY, part_of
from finch_core.lower.values import evaluate
from finch_core.records import evolve, field, frozen
from finch_core.symbolic.affine import leading
from finch_core.symbolic.guards import as_condition, conjuncts, guarded
from finch_core.symbolic.out_of_range import OutOfRange, parted
from finch_core.symbolic.prover import is_unit

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.interface.level import Mode
    from finch_core.ir.operators import Operator
    from finch_core.looplets import Looplet

FEW = 1 << 16
"""Up to this many values of an index it may be that a dimension is known to be longer."""
UNSIGNED = np.dtype(np.uint64)
_READING = "A[~i] takes an index that may be out of bounds, and is missing there"
_NAMED = (
    "where a condition keeps the index inside, give it a name, k = j - 1: x[k] is checked where it "
    f"is read; {_READING}"
)
_WRITING = "write under a condition, as in: if 0 <= i and i < n"


def check_bounds(ctx: Context, loop: Loop, start: Expr, stop: Expr) -> None:
    """Emit the checks that ``start`` up to ``stop``, as far as conditions allow accesses, lies
    within what the loop's index accesses."""
    _check_whole(ctx, loop.index, stop)
    done = set()
    whole = Extent(start, stop)
    single = is_unit(whole)
    bounds = [evaluate(ctx, bound) for bound in loop.bounds]
    for guard, access, written, before in _in_order(loop.body, () if single else (loop.body,)):
        lead = leading(access)
        if access.indices[lead : lead + 1] != (loop.index,):
            continue
        extent = access.tensor.dims[lead]
        if extent is None or (loop.index, extent) in ctx.fitting:
            continue
        parts = ctx.within.get((loop.index, extent), (ANY,))
        known = () if guard is TRUE else tuple(_unchanged(ctx, conjuncts(guard), before))
        if (known, extent, parts) in done:
            continue
        lazy = single and guard != TRUE and not written and has_fields(access.tensor)
        if lazy and not is_loose(ctx, loop.index, extent):
            continue  # it fails where it is read (``Unfurling``)
        done.add((known, extent, parts))
        hint = _WRITING if written else _READING if single else _NAMED
        for part in parts:
            reached = part_of(whole, part, bounds)
            check = partial(_check, ctx, access, extent, reached.start, reached.stop, hint)
            _under(ctx, known, check)


def _check_whole(ctx: Context, index: Index, stop: Expr) -> None:
    """Emit the checks that dimensions, through all of which a loop without a range goes, have the
    size that its end was taken from."""
    for extent, (name, what, span) in ctx.spanning.get(index, {}).items():
        message = f"the loop over {name} ends at {{0}}, and {what} has size {{1}}"
        hint = f"write the range, as in for {name} in range(0, n)"
        ctx.require(
            stop.eq(extent.stop), DimensionMismatch, message, stop, extent.stop, span=span,
            hint=hint,
        )  # fmt: skip


def is_loose(ctx: Context, index: Index, extent: Extent) -> bool:
    """Whether conditions keep an index within a dimension that its loop may leave."""
    return extent in ctx.loose.get(index, {})


def is_conditional(ctx: Context, index: Index) -> bool:
    """Whether conditions narrow the range of an index in which its accesses are checked."""
    if index in ctx.loose:
        return True
    return any(key[0] == index and parts != (ANY,) for key, parts in ctx.within.items())


Before = tuple[Stmt, ...]


def _in_order(stmt: Stmt, before: Before) -> Iterator[tuple[Expr, Access, bool, Before]]:
    """The accesses of a statement, as ``accesses`` gives them, each with the statements that may
    have run since the check of the loop; ``before`` have before this one."""
    if isinstance(stmt, While) or (isinstance(stmt, Loop) and not _is_single(stmt)):
        before = (*before, stmt)  # in an earlier turn
    target = stmt.target if isinstance(stmt, Update) else None
    for expr in stmt.exprs:
        for guard, access in guarded(expr, TRUE, Access):
            yield guard, access, access is target, before
    for body in stmt.bodies:
        yield from _in_order(body, before)
        if isinstance(stmt, Sequential):
            before = (*before, body)


def _is_single(loop: Loop) -> bool:
    assert loop.extent is not None
    return is_unit(loop.extent)


def _unchanged(ctx: Context, conds: Iterable[Expr], stmts: Iterable[Stmt]) -> Iterator[Expr]:
    """The conditions that can be evaluated before these statements, with the same values."""
    changes = Changes.of(stmts)
    for cond in conds:
        if changes.keep(cond) and all(_is_evaluated(ctx, node) for node in cond.walk()):
            yield cond


def _is_evaluated(ctx: Context, node: Expr) -> bool:
    """Whether a part of an expression has a value before the loop that is lowered."""
    if isinstance(node, Access):
        return not node.indices
    if isinstance(node, Var):
        return ctx.is_constant(node)
    return not isinstance(node, (Index, Name, OutOfRange))


def check_index(ctx: Context, access: Access, extent: Extent, at: Expr) -> None:
    """Emit the check that ``at``, at which ``access`` writes, is an index of its dimension."""
    _check(ctx, access, extent, at, at + 1, _WRITING)


def has_fields(tensor: TensorLike) -> bool:
    """Whether a level above the leaf has fields, so that a position may have to be loaded."""
    root = tensor.root
    levels = () if root is None else root.level.levels()
    return any(level.format.fields for level in levels if not level.format.is_leaf)


def _under(ctx: Context, conds: Iterable[Expr], check: Callable[[], None]) -> None:
    """Emit ``check`` where these conditions hold before the loop."""
    if not conds:
        check()
        return
    cond, *others = (as_condition(evaluate(ctx, c)) for c in conds)
    for other in others:
        cond = cond.and_(other)
    with ctx.if_(cond), ctx.prover.assuming(cond):
        check()


def _check(
    ctx: Context, access: Access, extent: Extent, start: Expr, stop: Expr, hint: str
) -> None:
    lower, upper = extent.start, extent.stop
    what = _dimension(access)
    first, last, size = (_after(lower, end) for end in (start, stop, upper))
    if is_unit(Extent(start, stop)):
        inside = within(ctx, start, extent)
        message = f"index {{0}} is out of bounds for {what} of size {{1}}"
        if inside == _both(ctx, lower <= start, start < upper) and _is_one_test(ctx, start, extent):
            with ctx.if_(cast(start, UNSIGNED) >= cast(upper, UNSIGNED)):
                ctx.fail(ctx.site(OutOfBounds, message, access.span, hint), first, size)
            ctx.prover.know(inside)
        else:
            ctx.require(inside, OutOfBounds, message, first, size, span=access.span, hint=hint)
        return
    message = f"range({{0}}, {{1}}) is not within {what} of size {{2}}"
    ctx.require(
        contained(ctx, start, stop, extent),
        OutOfBounds, message, first, last, size, span=access.span, hint=hint,
    )  # fmt: skip


def contained(ctx: Context, start: Expr, stop: Expr, extent: Extent) -> Expr:
    """The condition that the range from ``start`` to ``stop`` is empty or lies within an extent,
    without the parts that are known to hold."""
    if is_unit(Extent(start, stop)):
        return within(ctx, start, extent)
    with ctx.prover.assuming(start < stop):
        inside = _both(ctx, extent.start <= start, stop <= extent.stop)
    return inside if inside == TRUE else (stop <= start).or_(inside)


def _is_one_test(ctx: Context, at: Expr, extent: Extent) -> bool:
    """Whether an index is tested for both ends of an extent at once, as an unsigned number."""
    lower, upper = extent.start, extent.stop
    ends = ctx.prover.decide(lower <= at), ctx.prover.decide(at < upper)
    return lower == lift(0) and ctx.prover.le(lower, upper) and not any(map(_known, ends))


def _known(cond: Expr) -> bool:
    return isinstance(cond, Literal)


def _after(lower: Expr, end: Expr) -> Expr:
    """The end of a dimension that begins at 0, from the end of a shifted access."""
    shift = lower.value if isinstance(lower, Literal) else None
    if shift is None:
        return end - lower
    return end if shift == 0 else end + -int(shift) if shift < 0 else end - int(shift)


def within(ctx: Context, at: Expr, extent: Extent) -> Expr:
    """The condition that an index lies within an extent, without the parts that are known to hold.

    If the dtype of ``at`` bounds its values to few, a loop-invariant test of that bound comes
    first.
    """
    lower, upper = extent.start, extent.stop
    found = ctx.prover.range_of(at)
    if found is None:
        return _both(ctx, lower <= at, at < upper)
    above = lift(True) if ctx.prover.le(lower, lift(found[0])) else lower <= at
    if found[1] > FEW or found[0] == found[1]:
        return _both(ctx, above, at < upper)
    return _both(ctx, above, (lift(found[1]) < upper).or_(at < upper))


def _dimension(access: Access) -> str:
    root = access.tensor.root
    if root is None:
        return f"a dimension of {access.tensor}"
    found: str = root.dimension(root.fiber.ndim - len(access.indices) + leading(access))
    return found


def _both(ctx: Context, *conds: Expr) -> Expr:
    """The conjunction of the conditions, without those that are known to hold."""
    result: Expr = TRUE
    for cond in map(ctx.prover.decide, conds):
        result = cond if result is TRUE else result.and_(cond)
    return result


# -- parts of a loop that are out of range --------------------------------------------------------


@frozen
class Beyond(TensorLike):
    """A subtensor that does not exist: reading or writing an element of it fails."""

    like: TensorLike
    rank: int
    size: Expr
    index: Expr | None = None
    span: Span | None = field(default=None, eq=False, repr=False)
    cause: OutOfRange | None = None
    """The out-of-range read in the index itself, where that is why there is no subtensor."""

    @property
    def ndim(self) -> int:
        return self.rank

    @property
    def dtype(self) -> Type:
        return self.like.dtype

    @property
    def dims(self) -> tuple[Extent | None, ...]:
        return (None,) * self.rank

    def unfurl(self, ctx: Context, mode: Mode, protocol: str) -> Looplet:
        return Run(evolve(self, rank=self.rank - 1))

    @property
    def failure(self) -> OutOfRange:
        """The failure that stands for the values read from this subtensor."""
        if self.cause is not None:
            return evolve(self.cause, type=self.dtype)
        root = self.like.root
        where = "a dimension" if root is None else root.dimension(root.fiber.ndim - self.like.ndim)
        return OutOfRange(self.dtype, where, self.size, self.index, self.span)

    @property
    def is_out_of_bounds(self) -> bool:
        return True

    def read(self, ctx: Context) -> Expr:
        return self.failure

    def is_stored(self, ctx: Context) -> Expr:
        return evolve(self.failure, type=BOOL)

    def update(self, ctx: Context, op: Operator | None, value: Expr) -> None:
        fail_out_of_range(ctx, self.failure)


def fail_out_of_range(ctx: Context, node: OutOfRange) -> None:
    """Emit the failure of a statement that needs ``node``."""
    message = "an index is out of bounds for {} of size {{0}}"
    values: tuple[Expr, ...] = (node.size,)
    if node.index is not None:
        message = "index {{0}} is out of bounds for {} of size {{1}}"
        values = (node.index, node.size)
    ctx.fail(ctx.site(OutOfBounds, message.format(node.what), node.span, _READING), *values)


def within_range(ctx: Context, value: Expr) -> Expr:
    """``value`` after the failures on which it depends, each under the condition of its
    evaluation."""
    value, found = parted(value)
    for guard, node in found:
        ctx.fork(guard, partial(fail_out_of_range, ctx, node))
    return value
