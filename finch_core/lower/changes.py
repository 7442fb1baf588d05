"""What statements change: whether an expression that is evaluated before them keeps its value."""

from __future__ import annotations

from collections.abc import Iterable

from finch_core.interface.tensorlike import BoundTensor
from finch_core.ir.expressions import Access, Dimension, Expr
from finch_core.ir.program import Declare, Stmt, Swap, Update
from finch_core.records import frozen


@frozen
class Changes:
    """The tensors whose elements statements change, and those that they declare or exchange."""

    elements: frozenset[BoundTensor | None] = frozenset()
    tensors: frozenset[BoundTensor | None] = frozenset()

    @classmethod
    def of(cls, stmts: Iterable[Stmt]) -> Changes:
        """What these statements change."""
        elements: set[BoundTensor | None] = set()
        tensors: set[BoundTensor | None] = set()
        for part in (part for stmt in stmts for part in stmt.walk()):
            if isinstance(part, Update):
                elements.add(part.target.tensor.root)
            elif isinstance(part, Declare):
                tensors.add(part.tensor)
            elif isinstance(part, Swap):
                tensors |= {part.first, part.second}
        return cls(frozenset(elements), frozenset(tensors))

    def keep(self, expr: Expr) -> bool:
        """Whether what an expression reads stays as it is. Arguments of which one is written do not
        share memory."""
        changed = self.elements | self.tensors
        for node in expr.walk():
            if isinstance(node, Access):
                root = node.tensor.root
                if root is None or root in changed:
                    return False
            elif isinstance(node, Dimension) and node.size is None:
                changing = node.tensor.root in self.tensors
                if changing:
                    return False
        return True


__all__ = ["Changes"]
