"""Helpers for levels of runs: comparing and copying subfibers, and merging equal neighbours when a
level is frozen (paper, Table "The main level formats supported by Finch", RunList).

Runs over a leaf are merged when they are written. Subfibers cannot be compared while they are
updated, so they are written to a *scratch* level of the child's format. When the level is frozen,
they are compared and copied to the child without duplicates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from finch_core.interface.tensorlike import BoundLevel, Fiber, TensorLike
from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import BOOL, INTP, Type
from finch_core.ir.expressions import TRUE, Access, Buffer, Expr, Index, Literal, Load, Var, call
from finch_core.ir.program import Extent, Loop, Sieve, Stmt, Update
from finch_core.level import Field, Format
from finch_core.looplets.routines import append_position, is_fill, same_value
from finch_core.records import evolve, frozen

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.ir.assembly import Function
    from finch_core.ir.builder import Builder
    from finch_core.operators import Operator


def scratch_fields(child: Format) -> tuple[Field, ...]:
    """The fields of scratch levels with format ``child``."""
    return tuple(
        evolve(field, name=_scratch_name(k, field.name), scratch=True)
        for k, level in enumerate(child.levels())
        for field in level.fields
    )


def empty_scratch(format: Format) -> dict[str, Any]:
    """The scratch fields of an empty level (``Format.blank``)."""
    fields = (field for field in format.fields if field.scratch)
    return {f.name: np.empty(0, f.dtype) if f.is_buffer else f.init for f in fields}


def _scratch_name(depth: int, name: str) -> str:
    return f"scratch{depth}_{name}"


def unmerged(format: Any) -> Format:
    """``format`` with levels of runs that merge none when they are frozen: what is compared when it
    is copied need not be merged before."""
    if format.child is not None:
        below = unmerged(format.child)
        if getattr(format, "merge", False) and merges_late(format):
            format = evolve(format, lvl=below, merge=False)
        elif below is not format.child:
            format = evolve(format, lvl=below)
    return cast("Format", format)


def bind_scratch(lvl: BoundLevel, format: Format | None = None) -> BoundLevel:
    """A level over the scratch fields of ``lvl``: of the format of its child, ``unmerged``, or of
    ``format`` in the place of its own."""
    assert lvl.child is not None
    like = lvl.child if format is None else lvl
    formats = (format or unmerged(like.format)).levels()
    bound: BoundLevel | None = None
    for k, (level, of) in reversed(list(enumerate(zip(like.levels(), formats, strict=True)))):
        parts = {f.name: lvl.parts[_scratch_name(k, f.name)] for f in of.fields}
        bound = BoundLevel(of, f"{level.name}_scratch", level.shape, parts, bound)
        bound.resumed = level.resumed
    assert bound is not None
    lvl.scratch = bound
    return bound


# -- subfibers as a whole -------------------------------------------------------------------


@frozen
class _Flag(TensorLike):
    """A bool variable as a 0-dimensional tensor that can be written."""

    var: Var

    @property
    def ndim(self) -> int:
        return 0

    @property
    def dtype(self) -> Type:
        return BOOL

    @property
    def dims(self) -> tuple[Extent | None, ...]:
        return ()

    def update(self, ctx: Context, op: Operator | None, value: Expr) -> None:
        ctx.assign(self.var, value)


def differ(ctx: Context, first: Fiber, second: Fiber) -> Expr:
    """Emit a comparison of two frozen subfibers of one format; returns whether they differ."""
    if first.lvl.format.is_leaf:
        return same_value(first.read(ctx), second.read(ctx)).not_()
    flag = ctx.var(f"{first.lvl.name}_differ", False)
    here = _indices(first)
    same = same_value(Access(first, here), Access(second, here))
    _for_each(ctx, first, Sieve(call(prim.not_, same), Update(Access(_Flag(flag), ()), None, TRUE)))
    return flag


def stores(ctx: Context, fiber: Fiber) -> Expr:
    """Emit a scan of a frozen fiber; returns whether an element of it differs from the fill."""
    flag = ctx.var(f"{fiber.lvl.name}_stores", False)
    cond = is_fill(Access(fiber, _indices(fiber)), fiber.lvl.format).not_()
    _for_each(ctx, fiber, Sieve(cond, Update(Access(_Flag(flag), ()), None, TRUE)))
    return flag


def copy_subfiber(ctx: Context, source: Fiber, target: Fiber) -> None:
    """Emit a copy of a frozen subfiber to an empty one that is updated."""
    here = _indices(source)
    value = Access(source, here)
    body: Stmt = Update(Access(target, here), None, value, fresh=True)
    if not all(level.stores_fill or level.is_leaf for level in source.lvl.format.levels()):
        body = Sieve(call(prim.ne, value, Literal(source.fill_value, source.dtype)), body)
    _for_each(ctx, source, body)


def _indices(fiber: Fiber) -> tuple[Index, ...]:
    return tuple(Index(f"{fiber.lvl.name}_i{k}") for k in range(fiber.ndim))


def _for_each(ctx: Context, fiber: Fiber, body: Stmt) -> None:
    """Emit ``body`` for all indices of a fiber."""
    for index, extent in reversed(list(zip(_indices(fiber), fiber.dims, strict=True))):
        body = Loop(index, extent, body)
    ctx.lower(ctx.simplify(body))


# -- merging --------------------------------------------------------------------------------


def merge_runs(
    ctx: Context,
    lvl: BoundLevel,
    stop: Expr,
    ends: tuple[str, ...],
    adjacent: Callable[[Expr], Expr],
) -> Var:
    """Copy the runs of fibers up to ``stop`` from the (frozen) scratch level to the child, but for
    those that continue the run before; gives how many are left.

    ``ptr`` says where each fiber's runs are, before and after; ``ends`` names the buffers of a run,
    of which the last says where it ends. ``adjacent(q)`` is whether run ``q`` begins where the run
    before it ends.
    """
    assert lvl.child is not None
    assert lvl.scratch is not None
    with constant_shapes(ctx, lvl.scratch, lvl.child):
        return _merge_runs(ctx, lvl, lvl.scratch, lvl.child, stop, ends, adjacent)


def _all_levels(lvl: BoundLevel) -> Iterator[BoundLevel]:
    """A level, those below it, and the scratch levels of all of these."""
    for level in lvl.levels():
        yield level
        if level.scratch is not None:
            yield from _all_levels(level.scratch)


@contextmanager
def constant_shapes(ctx: Context, *roots: BoundLevel) -> Iterator[None]:
    """The shapes of these levels, and of those below them and their scratch levels, as constants:
    loops over their indices are known to lie within them."""
    levels = [level for root in roots for level in _all_levels(root)]
    shapes = [level.shape for level in levels]
    constants: dict[Expr, Expr] = {}
    for level in levels:
        if level.shape not in constants:
            constants[level.shape] = ctx.let(f"{level.name}_n", level.shape)
            ctx.prover.know_le(ctx.lift(0), constants[level.shape])
        level.shape = constants[level.shape]
    try:
        yield
    finally:
        for level, shape in zip(levels, shapes, strict=True):
            level.shape = shape


def _merge_runs(
    ctx: Context,
    lvl: BoundLevel,
    source: BoundLevel,
    target: BoundLevel,
    stop: Expr,
    ends: tuple[str, ...],
    adjacent: Callable[[Expr], Expr],
) -> Var:
    ptr = lvl.buffer("ptr")
    kept, room = ctx.var(f"{lvl.name}_kept", 0), ctx.var(f"{lvl.name}_kept_room", 0)
    begin = ctx.var(f"{lvl.name}_begin", 0)
    with ctx.for_("p", 0, stop) as p:
        end = ctx.let(f"{lvl.name}_end", Load(ptr, p + 1), INTP)
        with ctx.for_("q", begin, end) as q:
            new = ctx.var(f"{lvl.name}_new", True)
            with ctx.if_((begin < q).and_(adjacent(q))):
                ctx.assign(new, differ(ctx, Fiber(source, q - 1), Fiber(source, q)))
            with ctx.if_(new):
                append_position(ctx, lvl, kept, room)
                dirty = ctx.var(f"{lvl.name}_dirty", False)
                copy_subfiber(ctx, Fiber(source, q), Fiber(target, kept, dirty))
                for name in ends:
                    ctx.store(lvl.buffer(name), kept, Load(lvl.buffer(name), q))
                ctx.assign(kept, kept + 1)
            with ctx.else_():
                last = lvl.buffer(ends[-1])
                ctx.store(last, kept - 1, Load(last, q))
        ctx.store(ptr, p + 1, kept)
        ctx.assign(begin, end)
    return kept


def merges_late(format: Any) -> bool:
    """Whether a format of runs merges them when it is frozen, and not as they are written."""
    return bool(format.merge) and not format.lvl.is_leaf


def append_run(ctx: Context, lvl: BoundLevel, first: Expr, ends: Mapping[str, Expr]) -> Expr:
    """Make what is at the next position a run with these ``ends``, by the names of their buffers:
    ``left``, the first index, where the level keeps that, and ``right``, the last or the one after.

    Where runs are merged as they are written, one that equals the run before it in its fiber (whose
    runs begin with ``first``) extends that, if ``left`` is next to where it ends. Gives whether
    there is a run more; if not, the position is clean again.
    """
    target = lvl.scratch or lvl.child
    assert target is not None
    stored, buffers = lvl.state["stored"], tuple(map(lvl.buffer, ends))
    if merges_late(lvl.format) or not lvl.format.merge:  # type: ignore[attr-defined]
        for buffer, end in zip(buffers, ends.values(), strict=True):
            ctx.store(buffer, stored, end)
        ctx.assign(stored, stored + 1)
        return TRUE
    before, here = (Fiber(target, at).read(ctx) for at in (stored - 1, stored))
    same = (first < stored).and_(same_value(before, here))
    at = ctx.let(f"{lvl.name}_at", stored)
    if ctx.allows("appending"):
        function = _append_run(ctx, tuple(ends), buffers[-1].dtype)
        ctx.assign(stored, ctx.invoke(function, *buffers, same, stored, *ends.values()))
    else:

        def stored_now(count: Expr) -> None:
            if count is not stored:
                ctx.assign(stored, count)

        _extend_or_append(ctx, buffers, same, stored, tuple(ends.values()), stored_now)
    with ctx.if_(at.eq(stored)):
        target.assemble(ctx, at, at + 1)
    return at < stored


def _append_run(ctx: Context, names: tuple[str, ...], dtype: np.dtype[Any]) -> Function:
    """The routine that appends a run, or extends the last one; gives how many there are then."""

    def build(b: Builder, *params: Any) -> None:
        buffers, (extends, stored), ends = params[:count], params[count:-count], params[-count:]
        _extend_or_append(b, buffers, extends, stored, ends, b.ret)

    count = len(names)
    buffers = (Buffer(f"{name}s", dtype) for name in names)
    scalars = Var("extends", BOOL), Var("stored", INTP), *(Var(name, INTP) for name in names)
    return ctx.function(f"append_{'_'.join(names)}_{dtype}", (*buffers, *scalars), INTP, build)


def _extend_or_append(
    b: Builder,
    buffers: tuple[Buffer, ...],
    extends: Expr,
    stored: Var,
    ends: tuple[Expr, ...],
    done: Callable[[Expr], Any],
) -> None:
    """Emit the one or the other; ``done`` takes how many runs there are then."""
    if len(ends) > 1:
        extends = extends.and_((Load(buffers[-1], stored - 1).cast(INTP) + 1).eq(ends[0]))
    with b.if_(extends):
        b.store(buffers[-1], stored - 1, ends[-1])
        done(stored)
    with b.else_():
        for buffer, end in zip(buffers, ends, strict=True):
            b.store(buffer, stored, end)
        done(stored + 1)
