"""Evaluation of expressions whose indices are known: what is left of them becomes assembly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from finch_core.interface.tensorlike import TensorLike
from finch_core.ir.expressions import Access, Dimension, Expr
from finch_core.ir.rewrite import rewrite_expr

if TYPE_CHECKING:
    from finch_core.interface.context import Context


def evaluate(ctx: Context, expr: Expr) -> Expr:
    """An expression without indices as assembly: its remaining accesses are read."""

    def rule(node: Expr) -> Expr:
        if isinstance(node, Access):
            return scalar_of(node).read(ctx)
        return _size(node) if isinstance(node, Dimension) else node

    return rewrite_expr(expr, rule)


def _size(node: Dimension) -> Expr:
    """The present number of indices of a dimension."""
    extent = node.tensor.sizes[node.axis]
    return node.size if node.size is not None else extent.stop - extent.start


def scalar_of(access: Access) -> TensorLike:
    """The tensor without dimensions that an access is left with when its loops are unfurled."""
    tensor: TensorLike = access.tensor
    assert not access.indices, "an access was not unfurled"
    return tensor
