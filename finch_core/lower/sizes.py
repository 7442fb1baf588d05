"""Sizes: ``len(A)`` and ``A.shape[k]`` are bound to the dimensions that they name."""

from __future__ import annotations

from finch_core.errors import DimensionMismatch, Span, count
from finch_core.ir.expressions import Dimension, Expr
from finch_core.ir.rewrite import rewrite_expr
from finch_core.lower.pass_state import Unit


def dimension(unit: Unit, node: Dimension, span: Span | None) -> Expr:
    """A dimension's size: an expression, if the program does not change it.

    Raises ``DimensionMismatch`` for a dimension that is not there or has no size.
    """
    where = node.span or span
    tensor = unit.arguments[node.tensor]
    check_parts(node, tensor.ndim, where)
    axis = node.axis + tensor.ndim if node.axis < 0 else node.axis
    if not 0 <= axis < tensor.ndim:
        raise DimensionMismatch(
            f"{node.tensor} has {count(tensor.ndim, 'dimension')}, and none of number {node.axis}",
            span=where,
            hint="dimensions are counted from 0",
        )
    extent, root = tensor.sizes[axis], tensor.root
    if extent is None:
        raise DimensionMismatch(
            f"dimension {axis} of {node.tensor} has no size", span=where,
            hint="take the size of another tensor, or pass it as a number",
        )  # fmt: skip
    length = extent.stop - extent.start
    size: Expr | None = unit.present(length)
    if root is not None and root.local:
        size = root.shape[axis] if root.shape is not None else None
    elif root is not None and not root.fixed and size != length:
        size = None
    return Dimension(tensor, axis, size, node.span)


def check_parts(node: Dimension, ndim: int, span: Span | None) -> None:
    """Raise ``DimensionMismatch`` where ``n, m = A.shape`` has another number of names than ``A``
    has dimensions."""
    if node.parts in (None, ndim):
        return
    name = node.tensor
    names = ", ".join("nmklpqrs"[:ndim]) + "," * (ndim == 1)
    raise DimensionMismatch(
        f"{name} has {count(ndim, 'dimension')}, and its shape is taken apart into "
        f"{count(node.parts or 0, 'name')}",
        span=span,
        hint=f"write '{names} = {name}.shape', or take one, '{name}.shape[0]'"
        if ndim
        else f"{name} is one number, '{name}[()]'",
    )


def sized(expr: Expr) -> Expr:
    """An expression with sizes that the program does not change as plain dimensions, so that they
    are compared with others."""

    def rule(node: Expr) -> Expr:
        known = isinstance(node, Dimension) and node.size is not None
        return node.size if known else node  # type: ignore[attr-defined]

    return rewrite_expr(expr, rule)


__all__ = ["check_parts", "dimension", "sized"]
