"""UpTriMask: true where ``i <= j`` (paper, Table "Wrapper tensors")."""

from __future__ import annotations

from typing import Any, ClassVar

from finch_core.ir import primitives as prim
from finch_core.ir.expressions import Access, Call, Expr
from finch_core.plugins import hookimpl
from finch_core.symbolic.affine import Scope, comparison
from finch_wrappers.masking import Mask, Row, is_row, mask_for


class UpTriMask(Mask):
    """The Boolean matrix that is true at ``i, j`` where ``i <= j``: above and on the diagonal.

        e <= j  ->  UpTriMask()[e, j]          e > j  ->  not UpTriMask()[e, j]

    where ``j`` is the innermost index of the comparison and ``e`` is known outside its loop.
    """

    __slots__ = ()
    name: ClassVar[str] = "UpTriMask"

    def __str__(self) -> str:
        return "UpTriMask()"

    def row(self, i: Expr) -> Row:
        return Row(False, (i,))

    def holds(self, i: Any, j: Any) -> Any:
        return i <= j

    @staticmethod
    def match_condition(call: Call, scope: Scope) -> Expr | None:
        """The mask for ``e <= j`` and ``e > j``."""
        return mask_for(UpTriMask(), comparison(call, scope), prim.le, prim.gt)

    @staticmethod
    def match_access(node: Access, scope: Scope) -> Expr | None:
        """The comparison that an access means, where its second index is not the inner one."""
        if not isinstance(node.tensor, UpTriMask) or is_row(node, scope):
            return None
        i, j = node.indices
        return i <= j


@hookimpl
def finch_mask() -> type[Mask]:
    """Register ``UpTriMask``."""
    return UpTriMask
