"""Slots: placeholders in a loop's body for the accesses of the loop's index."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from finch_core.interface.tensorlike import BoundTensor, Constant, TensorLike
from finch_core.ir.dtypes import Type
from finch_core.ir.expressions import Access, Expr, Index, Literal
from finch_core.ir.kept import kept
from finch_core.ir.program import Stmt
from finch_core.ir.rewrite import indices_in, rewrite
from finch_core.records import field, frozen

if TYPE_CHECKING:
    from finch_core.interface.context import Context


@frozen
class AccessSlot(TensorLike):
    """The placeholder of an access; the region's map of looplets says what it is."""

    number: int
    tensor: TensorLike = field(eq=False, repr=False)
    view: Callable[[TensorLike], TensorLike] | None = None
    """How this access sees the tensor, if not as its values (``View.kind``); a slot may have
    accesses of each."""

    def __str__(self) -> str:
        return str(self.tensor)

    @property
    def _seen(self) -> TensorLike:
        return self.tensor if self.view is None else self.view(self.tensor)

    def filled_by(self, tensor: TensorLike) -> TensorLike:
        """What this accesses once ``tensor`` is in the slot."""
        return tensor if self.view is None else self.view(tensor)

    @property
    def ndim(self) -> int:
        return self.tensor.ndim

    @property
    def dtype(self) -> Type:
        return self._seen.dtype

    @property
    def fill_value(self) -> Any:
        return self._seen.fill_value

    @property
    def root(self) -> BoundTensor | None:
        return self.tensor.root


def slots_in(stmt: Stmt) -> frozenset[int]:
    """The numbers of the slots that a statement accesses."""
    return frozenset([slot.number for slot in slots_of(stmt)])


@kept("_slots")
def slots_of(node: Stmt | Expr) -> tuple[AccessSlot, ...]:
    """The slots of a statement or expression, in the order of their last accesses."""
    parts: tuple[Stmt | Expr, ...] = node.children if isinstance(node, Expr) else ()
    if isinstance(node, Stmt):
        parts = (*node.exprs, *node.bodies)
    found = [slot for part in parts for slot in slots_of(part)]
    if isinstance(node, Access) and isinstance(node.tensor, AccessSlot):
        found.insert(0, node.tensor)
    return tuple(dict.fromkeys(found[::-1]))[::-1]


def fill_slot(ctx: Context, stmt: Stmt, number: int, tensor: TensorLike) -> Stmt:
    """``stmt`` with ``tensor`` in a slot; reads of a scalar or of a constant tensor become its
    value."""
    return fill_slots(ctx, stmt, {number: tensor})


def fill_slots(ctx: Context, stmt: Stmt, tensors: Mapping[int, TensorLike]) -> Stmt:
    """``fill_slot`` of several slots, by their numbers."""

    def placed(expr: Expr, read: bool) -> Expr:
        if not (isinstance(expr, Access) and isinstance(expr.tensor, AccessSlot)):
            return expr
        tensor = tensors.get(expr.tensor.number)
        if tensor is None:
            return expr
        rest, found = expr.indices[1:], expr.tensor.filled_by(tensor)
        uniform = isinstance(tensor, Constant) and all(isinstance(i, Index) for i in rest)
        if read and (not rest or uniform):
            return found.read(ctx)
        return Access(found, rest, expr.span)

    def has_slot(node: Stmt | Expr) -> bool:
        return any(slot.number in tensors for slot in slots_of(node))

    return rewrite(
        stmt, lambda expr: placed(expr, True), lambda target: placed(target, False), has_slot
    )


def fill_of(slot: AccessSlot) -> Constant | None:
    """The value of a slot where nothing is stored; None if it is not a scalar."""
    tensor = slot.tensor
    if tensor.fill_value is None:
        return None
    value = Literal(tensor.fill_value, np.dtype(tensor.dtype), structural=True)
    return Constant(value, slot.ndim - 1)


def mentions(stmt: Stmt, index: Index, *, beside_slots: bool = False) -> bool:
    """Whether an index occurs in ``stmt``; ``beside_slots``: other than as a slot's first index."""
    if not beside_slots:
        return index in indices_in(stmt)
    return any(_mentions(expr, index) for part in stmt.walk() for expr in part.exprs)


def _mentions(expr: Expr, index: Index) -> bool:
    if index not in indices_in(expr):
        return False
    slot = isinstance(expr, Access) and isinstance(expr.tensor, AccessSlot)
    children = expr.children[1:] if slot else expr.children
    return isinstance(expr, Index) or any(_mentions(child, index) for child in children)
