"""Dimensions that every declaration of a tensor sets to the same constant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from finch_core.interface.tensorlike import BoundTensor
from finch_core.ir.expressions import Expr, Literal, Var
from finch_core.ir.program import Declare, Extent, Stmt

if TYPE_CHECKING:
    from finch_core.interface.context import Context


def constant_dimensions(ctx: Context, stmt: Stmt) -> frozenset[Expr]:
    """The dimensions that every declaration sets to the same constant."""
    values: dict[Expr, set[Expr]] = {}
    for _tensor, shape, extent in declared(stmt):
        if extent is not None:
            values.setdefault(shape, set()).add(extent.stop)
    return frozenset(
        shape
        for shape, (first, *others) in values.items()
        if not others and (isinstance(first, Literal) or ctx.is_constant(first))
    )


def set_dimensions_of_locals(ctx: Context, stmt: Stmt) -> None:
    """Set a temporary's constant dimensions (``ctx.constant_dimensions``) once, at the start of the
    kernel."""
    open_: set[Expr] = set()
    found: dict[Var, Expr] = {}
    for tensor, shape, extent in declared(stmt):
        if not tensor.local:
            continue
        if extent is None:
            open_.add(shape)
        elif shape in ctx.constant_dimensions:
            assert isinstance(shape, Var)
            found[shape] = extent.stop
    for var, value in found.items():
        if var not in open_:
            ctx.assign(var, value)
            ctx.prover.know_equal(var, value)
            ctx.constant(var)


def declared(stmt: Stmt) -> Iterator[tuple[BoundTensor, Expr, Extent | None]]:
    """Each dimension of each declaration: the tensor, the dimension, and its new extent (None:
    the present one)."""
    for part in stmt.walk():
        if isinstance(part, Declare):
            levels = [lvl for lvl in part.tensor.level.levels() if not lvl.format.is_leaf]
            for lvl, extent in zip(levels, part.dims, strict=True):
                yield part.tensor, lvl.shape, extent


__all__ = ["constant_dimensions", "declared", "set_dimensions_of_locals"]
