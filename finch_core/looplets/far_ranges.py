"""Far ranges: those whose ends may be any integers, of which some come from numbers that the
caller passes or that tensors hold.

    for j in range(first[r], n):          first = min(first[r], n)
        y[r] += A[r, j]             ->    for j in range(first, n): y[r] += A[r, j]

What formats emit for a range computes with its ends: ``start + 1``, ``stop - start``. That wraps
around near the ends of int64, where no tensor has an index: what is not empty is checked, or cut by
conditions. An empty range may be anywhere; it becomes one that is empty at a near place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from finch_core.errors import OutOfBounds
from finch_core.interface.abi import MOST_INDICES
from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import INTP, concrete
from finch_core.ir.expressions import Access, Call, Cast, Expr, Index, Literal, Name, Var, lift
from finch_core.symbolic.prover import split

if TYPE_CHECKING:
    from collections.abc import Container

    from finch_core.interface.context import Context
    from finch_core.ir.program import Extent, Loop

_SUMS = (prim.add, prim.sub, prim.minimum_, prim.maximum_)
_FAR = MOST_INDICES // 4
"""A few of such constants do not take a sum of dimensions beyond the integers."""


def may_be_far(extent: Extent, scalars: Container[Expr], far: Container[Index]) -> bool:
    """Whether an end of a range has a part that may be any integer of 64 bits; ``scalars`` are
    numbers of the caller's, ``far`` the indices of loops over far ranges."""
    return any(_is_any(part, scalars, far) for end in extent.children for part in end.walk())


def _is_any(part: Expr, scalars: Container[Expr], far: Container[Index]) -> bool:
    if isinstance(part, Literal):
        return abs(int(part.value)) > _FAR
    if isinstance(part, Index):
        return part in far
    known = not isinstance(part, Access | Name) and part not in scalars
    return not known and concrete(part.dtype).itemsize >= INTP.itemsize


def brought_near(ctx: Context, name: str, start: Expr, stop: Expr) -> tuple[Expr, Expr]:
    """The ends of a range, or of one that is empty at a near place, if it is empty."""
    if ctx.prover.le(start, stop):
        return start, stop
    if is_near(ctx, stop):
        return (start if is_near(ctx, start) else ctx.bind(f"{name}_start", start.min(stop))), stop
    if is_near(ctx, start):
        return start, ctx.bind(f"{name}_stop", stop.max(start))
    some = start < stop
    ends = (ctx.ifelse(some, start, 0), ctx.ifelse(some, stop, 0))
    first, last = (
        ctx.let(f"{name}_{end}", value) for end, value in zip(("start", "stop"), ends, strict=True)
    )
    ctx.prover.know_le(first, last)
    if ctx.prover.le(lift(0), start):
        ctx.prover.know_le(lift(0), first)
    for size in ctx.dimensions:
        if ctx.prover.le(stop, size):
            ctx.prover.know_le(last, size)
    return first, last


def refuse_beyond(ctx: Context, loop: Loop, start: Expr, stop: Expr) -> None:
    """Fail if all indices of a range are so far that conditions do not narrow it: they are compared
    with numbers up to ``MOST_INDICES``, and no tensor has more indices."""
    if is_near(ctx, start) or is_near(ctx, stop):
        return
    within = (start <= MOST_INDICES).and_(stop >= -MOST_INDICES)
    message = "range({0}, {1}) has no index that a tensor has"
    hint = f"a dimension has at most {MOST_INDICES} indices"
    ctx.require(
        (stop <= start).or_(within), OutOfBounds, message, start, stop, span=loop.span, hint=hint
    )


def shift_near(ctx: Context, shift: Expr) -> Expr:
    """A shift of indices, or one that moves all of a tensor to where no index is, as it does."""
    if is_near(ctx, shift):
        return shift
    return ctx.bind("shift", shift.max(1 - MOST_INDICES).min(MOST_INDICES - 1))


def is_near(ctx: Context, expr: Expr) -> bool:
    """Whether an integer is known to be so small that sums of a few do not wrap around."""
    atom, offset = split(expr)
    if abs(offset) > _FAR:
        return False
    if isinstance(atom, Literal) or atom in ctx.dimensions:
        return True
    if isinstance(atom, Cast) and concrete(atom.value.dtype).kind in "iub":
        return concrete(atom.value.dtype) != np.uint64 and is_near(ctx, atom.value)
    if isinstance(atom, Call) and atom.op in _SUMS:
        return all(is_near(ctx, arg) for arg in atom.args)
    found = ctx.prover.range_of(atom)
    if found is not None and found[0] >= -_FAR and found[1] <= _FAR:
        return True
    if not isinstance(atom, Var) or not ctx.prover.le(lift(0), atom):
        return False
    return any(ctx.prover.le(atom, size) for size in ctx.dimensions)


__all__ = ["brought_near", "is_near", "may_be_far", "refuse_beyond", "shift_near"]
