"""LoTriMask: true where ``i >= j`` (paper, Table "Wrapper tensors")."""

from __future__ import annotations

from typing import Any, ClassVar

from finch_core.ir import primitives as prim
from finch_core.ir.expressions import Access, Call, Expr
from finch_core.plugins import hookimpl
from finch_core.symbolic.affine import Scope, comparison
from finch_wrappers.masking import Mask, Row, is_row, mask_for, with_room


class LoTriMask(Mask):
    """The Boolean matrix that is true at ``i, j`` where ``i >= j``: below and on the diagonal.

        e >= j  ->  LoTriMask()[e, j]          e < j  ->  not LoTriMask()[e, j]

    where ``j`` is the innermost index of the comparison and ``e`` is known outside its loop.
    """

    __slots__ = ()
    name: ClassVar[str] = "LoTriMask"

    def __str__(self) -> str:
        return "LoTriMask()"

    def row(self, i: Expr) -> Row:
        return Row(True, (i + 1,))

    def holds(self, i: Any, j: Any) -> Any:
        return i >= j

    @staticmethod
    def match_condition(call: Call, scope: Scope) -> Expr | None:
        """The mask for ``e >= j`` and ``e < j``."""
        return mask_for(LoTriMask(), with_room(comparison(call, scope)), prim.ge, prim.lt)

    @staticmethod
    def match_access(node: Access, scope: Scope) -> Expr | None:
        """The comparison that an access means, where its second index is not the inner one."""
        if not isinstance(node.tensor, LoTriMask) or is_row(node, scope):
            return None
        i, j = node.indices
        return i >= j


@hookimpl
def finch_mask() -> type[Mask]:
    """Register ``LoTriMask``."""
    return LoTriMask
