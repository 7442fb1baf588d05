"""Lowering: Finch Normal Form becomes assembly, one statement and one loop at a time.

Paper, Figures "Basic evaluation semantics" and "Looplet evaluation semantics".
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from finch_core.errors import DimensionMismatch, IndexOverflow, Span, placed
from finch_core.interface.abi import MOST_INDICES
from finch_core.interface.layout import layout
from finch_core.interface.level import Mode
from finch_core.interface.looplet import Looplet
from finch_core.interface.storage import largest_of, too_long
from finch_core.interface.tensorlike import BoundTensor, Fiber
from finch_core.interface.watch import watched
from finch_core.ir.assembly import Let
from finch_core.ir.assembly import Swap as Exchange
from finch_core.ir.builder import negation
from finch_core.ir.expressions import (
    TRUE,
    Access,
    Buffer,
    Expr,
    Literal,
    Load,
    Var,
    lift,
)
from finch_core.ir.program import (
    Declare,
    Define,
    Extent,
    Freeze,
    Labelled,
    Leave,
    Loop,
    Sequential,
    Sieve,
    Stmt,
    Swap,
    Thaw,
    Update,
    While,
)
from finch_core.ir.rewrite import rewrite
from finch_core.looplets.evaluation import lower_region
from finch_core.looplets.far_ranges import brought_near, refuse_beyond
from finch_core.looplets.lookup import Lookup
from finch_core.looplets.loop_strides import LoopStride, strided, turns_of
from finch_core.looplets.region import OfRegion, Region
from finch_core.looplets.whole_runs import WholeRuns
from finch_core.lower.bounds import check_bounds, is_conditional, within_range
from finch_core.lower.constant_dimensions import declared
from finch_core.lower.contents import check_values, know_content, stay_within
from finch_core.lower.definitions import defined, defining, is_plain, named, with_names
from finch_core.lower.equal_patterns import lower_pairs
from finch_core.lower.leading_indices import read_for_sure
from finch_core.lower.parallel import lower_parallel, lower_turns
from finch_core.lower.scalar_cases import cases_of
from finch_core.lower.strides import is_positive, negated
from finch_core.lower.unfurling import Unfurling, read_in_indices
from finch_core.lower.values import evaluate, scalar_of
from finch_core.lower.walks_behind import walks_behind
from finch_core.records import evolve
from finch_core.symbolic.affine import leading
from finch_core.symbolic.guards import as_condition
from finch_core.symbolic.missing_values import require_present
from finch_core.symbolic.prover import is_unit

if TYPE_CHECKING:
    from finch_core.interface.context import Context


@watched("statement")
def lower(ctx: Context, stmt: Stmt) -> None:
    """Emit a statement in Finch Normal Form whose enclosing loops have been lowered."""
    if ctx.definitions and not isinstance(stmt, (Define, Sequential)):
        with named(ctx, stmt) as replaced:
            _lower(ctx, replaced)
    else:
        _lower(ctx, stmt)


def _lower(ctx: Context, stmt: Stmt) -> None:
    cases = None if ctx.definitions else cases_of(ctx, stmt)
    if cases is None:
        _LOWERING[type(stmt)](ctx, stmt)
    else:
        cond, yes, no = cases
        ctx.fork(cond, lambda: lower(ctx, yes), lambda: lower(ctx, no))


def usable(ctx: Context, expr: Expr, span: Span | None) -> Expr:
    """``evaluate`` for a value that its statement needs: emits its failures at ``span``."""
    value = within_range(ctx, evaluate(ctx, expr))
    require_present(value, span)
    return value


def _sequential(ctx: Context, stmt: Sequential) -> None:
    before, after = ctx.open_exits(), ctx.next_walks
    behind = walks_behind(stmt.statements, after)
    for k, part in enumerate(stmt.statements):
        if ctx.open_exits() != before:
            ctx.lower(Sequential(stmt.statements[k:]))
            break
        ctx.next_walks = behind[k]
        lower(ctx, part)
    ctx.next_walks = after


def _update(ctx: Context, stmt: Update) -> None:
    """Rule *Assign*."""
    value = usable(ctx, stmt.value, stmt.span)
    value = stay_within(ctx, stmt, value)
    with placed(stmt.span):
        scalar_of(stmt.target).update(ctx, stmt.op, value)


def _define(ctx: Context, stmt: Define) -> None:
    """Rule *Define*."""
    value = within_range(ctx, evaluate(ctx, with_names(ctx, stmt.value)))
    if is_plain(stmt, value):
        with defining(ctx, stmt.name, value):
            lower(ctx, stmt.body)
        return
    with named(ctx, stmt) as replaced:
        if isinstance(replaced, Define):
            replaced = defined(ctx, replaced, value)
        lower(ctx, replaced)


def _sieve(ctx: Context, stmt: Sieve) -> None:
    """Rules *SieveTrue* and *SieveFalse*."""
    cond = as_condition(usable(ctx, stmt.cond, stmt.span))
    ctx.fork(cond, lambda: _branch(ctx, stmt.body), lambda: _branch(ctx, stmt.orelse))


def _branch(ctx: Context, stmt: Stmt) -> None:
    thawed, updating = ctx.thawed, set(ctx.updating)
    lower(ctx, stmt)
    ctx.thawed, ctx.updating = thawed, updating  # one that leaves has frozen what it updated


def _while(ctx: Context, stmt: While) -> None:
    """A loop of assembly; the condition is evaluated in the loop if that takes statements."""
    _repeat(ctx, stmt)
    with ctx.block() as before:
        cond = as_condition(usable(ctx, stmt.cond, stmt.span))
    with ctx.while_(TRUE if before else cond), ctx.prover.assuming():
        if before:
            ctx.extend(before)
            with ctx.if_(negation(cond)):
                ctx.break_()
        lower(ctx, stmt.body)


def _repeat(ctx: Context, stmt: Stmt) -> None:
    """Forget the walks of what a loop changes, and sizes that it sets, before its first turn."""
    for _, size, extent in declared(stmt):
        if extent is not None and not ctx.is_constant(size):
            _forget_size(ctx, size, extent)
    if ctx.arrivals:
        changed = (part.tensor for part in stmt.walk() if isinstance(part, (Declare, Thaw)))
        ctx.forget_walks(level for tensor in changed for level in tensor.level.levels())


def _labelled(ctx: Context, stmt: Labelled) -> None:
    with ctx.labelled(stmt.label):
        lower(ctx, stmt.body)


def _leave(ctx: Context, stmt: Leave) -> None:
    ctx.leave(stmt.label)


def _declare(ctx: Context, stmt: Declare) -> None:
    """Rule *Declare*: set the tensor's dimensions, and leave it empty, in update mode."""
    tensor: BoundTensor = stmt.tensor
    narrow = dict(layout(tensor.format).narrow)
    levels = [lvl for lvl in tensor.level.levels() if not lvl.format.is_leaf]
    for k, (lvl, extent) in enumerate(zip(levels, stmt.dims, strict=True)):
        if extent is None:
            continue  # it keeps a size that it was given with such checks
        known = ctx.is_constant(lvl.shape)
        stop = lvl.shape if known else evaluate(ctx, extent.stop)
        if not known:
            _require_length(ctx, tensor, stop)
        if k in narrow:
            message, hint = too_long(narrow[k])
            fits = stop <= largest_of(narrow[k])
            ctx.require(fits, IndexOverflow, message, stop, span=ctx.spans.get(tensor), hint=hint)
        if not known:
            _forget_size(ctx, lvl.shape, extent)
            ctx.assign(lvl.shape, stop)  # type: ignore[arg-type]
            if lvl.shape in ctx.constant_dimensions:
                ctx.prover.know_equal(lvl.shape, extent.stop)
    check_values(ctx, tensor)
    ctx.updating.add(tensor)
    ctx.forget_walks(tensor.level.levels())
    tensor.level.declare(ctx, stmt.init)
    tensor.level.assemble(ctx, 0, 1)


def _forget_size(ctx: Context, size: Expr, extent: Extent) -> None:
    """Forget what is known of a dimension before it is set, unless it is that already."""
    if not (size in ctx.constant_dimensions and ctx.prover.equal(size, extent.stop)):
        ctx.prover.forget(size)  # type: ignore[arg-type]


def _require_length(ctx: Context, tensor: BoundTensor, stop: Expr) -> None:
    """Fail if a dimension exceeds the maximum; emitted for sizes that run-time numbers give."""
    parts = [part for part in stop.walk() if isinstance(part, (Var, Load))]
    if isinstance(stop, Literal) or len(parts) > 1 or not ctx.dimensions.issuperset(parts):
        cond = (stop >= 0).and_(stop <= MOST_INDICES)
        message = f"{tensor} would have {{0}} indices: a dimension has at most {MOST_INDICES}"
        span, hint = ctx.spans.get(tensor), "split the dimension in two"
        ctx.require(cond, IndexOverflow, message, stop, span=span, hint=hint)


def _freeze(ctx: Context, stmt: Freeze) -> None:
    """Rule *Freeze*."""
    stmt.tensor.level.freeze(ctx, 1)
    ctx.updating.discard(stmt.tensor)
    ctx.thawed = tuple(tensor for tensor in ctx.thawed if tensor is not stmt.tensor)


def _thaw(ctx: Context, stmt: Thaw) -> None:
    """Rule *Thaw*."""
    stmt.tensor.level.thaw(ctx, 1)
    ctx.updating.add(stmt.tensor)
    ctx.forget_walks(stmt.tensor.level.levels())
    ctx.thawed = (*ctx.thawed, stmt.tensor)


def _swap(ctx: Context, stmt: Swap) -> None:
    """Exchange the buffers and scalars of two tensors; their dimensions must be equal."""
    levels = stmt.first.level.levels(), stmt.second.level.levels()
    for depth, (one, other) in enumerate(zip(*levels, strict=True)):
        if isinstance(one.shape, Var):
            message = f"dimension {depth} of {stmt.first} is {{0}}, but of {stmt.second} {{1}}"
            sizes = one.shape, other.shape
            hint = "tensors that are swapped must have one shape"
            ctx.require(
                one.shape.eq(other.shape), DimensionMismatch, message, *sizes, span=stmt.span,
                hint=hint,
            )  # fmt: skip
    for one, other in zip(*levels, strict=True):
        for field in one.format.fields:
            first, second = one.parts[field.name], other.parts[field.name]
            if isinstance(first, Buffer) and isinstance(second, Buffer):
                ctx.emit(Exchange(first, second))
            elif isinstance(first, Var) and isinstance(second, Var):
                held = Var(ctx.names.fresh(f"{first.name}_held"), first.type)
                ctx.emit(Let(held, first))
                ctx.assign(first, second)
                ctx.assign(second, held)


def _loop(ctx: Context, stmt: Loop, is_part: bool = False) -> None:
    """Rule *Unfurl*: every access of the index becomes a slot, and its looplet is lowered.

    If ``is_part``, the loop is a part of one whose bounds were checked."""
    assert stmt.extent is not None
    _repeat(ctx, stmt)
    if stmt.step is not None and not is_positive(stmt.step):
        _loop_down(ctx, stmt, stmt.extent, stmt.step)
        return
    extent = stmt.extent
    begin = _value(ctx, extent.start)
    start = ctx.bind(f"{stmt.index.name}_start", begin)
    know_content(ctx, begin, start)
    single = is_unit(extent)
    stop = start + 1
    if not single:
        stop = ctx.bind(f"{stmt.index.name}_stop", _value(ctx, extent.stop))
    if not is_part:
        check_bounds(ctx, stmt, start, stop)
        if stmt.index in ctx.far and not single and is_conditional(ctx, stmt.index):
            refuse_beyond(ctx, stmt, start, stop)
    far = stmt.index in ctx.far and not single
    if stmt.parallel:
        if far:
            start, stop = brought_near(ctx, stmt.index.name, start, stop)
        lower_parallel(ctx, stmt, start, stop, partial(_loop, is_part=True))
        return
    if ctx.pairs and lower_pairs(ctx, stmt, partial(_loop, ctx, is_part=True)):
        return
    inner = read_in_indices(stmt.body) if stmt.index in ctx.loose else frozenset()
    unfurling = Unfurling(ctx, stmt, Extent(start, stop), read_for_sure(stmt.body), single, inner)
    body = rewrite(stmt.body, unfurling.rule(Mode.READ), unfurling.rule(Mode.UPDATE))
    looplets = unfurling.looplets
    for slot, access in unfurling.whole.items():
        looplets[slot] = _with_whole_runs(ctx, access, Extent(start, stop), looplets[slot])
    if far and not (stmt.step is None and all(isinstance(x, Lookup) for x in looplets.values())):
        start, stop = brought_near(ctx, stmt.index.name, start, stop)
    steps = None if stmt.step is None else LoopStride(start, stmt.step)
    with strided(ctx, stmt.index, steps), ctx.looping(stmt.index):
        Region(stmt.index, start, stop, body, looplets).lower(ctx)


def _value(ctx: Context, expr: Expr) -> Expr:
    """The value of a part of a range, behind the checks of what it reads."""
    return within_range(ctx, evaluate(ctx, expr))


def _loop_down(ctx: Context, stmt: Loop, extent: Extent, distance: Expr) -> None:
    """A loop whose indices do not increase, as far as is known: each is looked up by itself."""
    name = stmt.index.name
    start = ctx.bind(f"{name}_start", _value(ctx, extent.start))
    stop = ctx.bind(f"{name}_stop", _value(ctx, extent.stop))
    step = ctx.bind(f"{name}_step", _value(ctx, distance))
    if stmt.index in ctx.far and is_conditional(ctx, stmt.index):
        refuse_beyond(ctx, stmt, start, stop)
    first, size = stop - 1, negated(step)
    if not isinstance(step, Literal):
        message = f"the range of {name} has the step 0"
        hint = "give a step that is not 0"
        ctx.require(step.ne(0), DimensionMismatch, message, span=stmt.span, hint=hint)
        first, size = ctx.ifelse(step > 0, start, first), ctx.ifelse(step > 0, step, size)
    alone = step == lift(-1)
    length = _length(ctx, start, stop)
    count = length if alone else turns_of(length, size)

    def turns(ctx: Context, part: Loop) -> None:
        """The turns of these numbers."""
        assert part.extent is not None
        bounds = part.extent.start, part.extent.stop
        with ctx.for_(f"{name}_turn", *bounds, loose=stmt.index in ctx.loose) as turn:
            index = ctx.let(name, first - turn if alone else first + turn * step)
            with ctx.prover.assuming(start <= index, index < stop):
                _loop(ctx, evolve(stmt, extent=Extent(index, index + 1), step=None, parallel=False))

    if stmt.parallel and lower_turns(ctx, stmt, count, turns):
        return
    turns(ctx, evolve(stmt, extent=Extent(lift(0), count)))


def _length(ctx: Context, start: Expr, stop: Expr) -> Expr:
    """The integers from ``start`` up to ``stop``. Where there may be none, the difference of any
    two numbers could wrap: a loop that has no turns would have many."""
    near = isinstance(start, Literal) and start.value in (0, 1)
    if near or ctx.prover.le(start, stop):
        return stop - start
    return ctx.prover.maximum(stop, start) - start


def _with_whole_runs(ctx: Context, access: Access, extent: Extent, looplet: Looplet) -> Looplet:
    """The looplet of what a loop over ``extent`` updates in place, if its level stores runs."""
    tensor, lead = access.tensor, leading(access)
    levels = [tensor.level_of(k) for k in range(lead + 1)]
    shared = next((level for level in levels if level is not None and level.shares), None)
    if shared is None and None not in levels:
        return looplet
    runs = WholeRuns(tensor, shared, access.span)
    if lead or not isinstance(tensor, Fiber):
        return runs.part_of(looplet)
    (first, *_), prover = tensor.dims, ctx.prover
    assert first is not None
    whole = prover.equal(first.start, extent.start) and prover.equal(first.stop, extent.stop)
    return runs.of(looplet) if whole else runs.part_of(looplet)


_LOWERING: dict[type, Callable[[Context, Any], None]] = {
    Sequential: _sequential,
    Update: _update,
    Define: _define,
    Sieve: _sieve,
    While: _while,
    Labelled: _labelled,
    Leave: _leave,
    Declare: _declare,
    Freeze: _freeze,
    Thaw: _thaw,
    Swap: _swap,
    Loop: _loop,
    OfRegion: lambda ctx, stmt: stmt.region.lower(ctx),
}


class FinchRules:
    """The lowering by which a ``Context`` emits statements and regions."""

    statement = staticmethod(lower)
    region = staticmethod(lower_region)


__all__ = ["FinchRules", "evaluate", "lower"]
