"""Out-of-range reads as expressions: a statement that needs the value of one fails."""

from __future__ import annotations

from finch_core.errors import Span
from finch_core.ir.dtypes import Type
from finch_core.ir.expressions import TRUE, Call, Expr, zero_of
from finch_core.ir.missing import coalesce
from finch_core.ir.operators import Operator
from finch_core.ir.rewrite import rewrite_expr
from finch_core.records import evolve, field, frozen
from finch_core.symbolic.guards import LAZY, as_condition, guarded


@frozen(order=False)
class OutOfRange(Expr):
    """The value of a read beyond the end of a dimension. A statement that needs it fails."""

    type: Type
    what: str
    size: Expr
    index: Expr | None = None
    """The index of the read, if it is known when the statement fails."""
    span: Span | None = field(default=None, eq=False, repr=False)

    @property
    def dtype(self) -> Type:
        return self.type


def strict(call: Call) -> Expr | None:
    """An operator with an out-of-range operand is out of range itself, unless it may skip the
    operand."""
    for k, arg in enumerate(call.args):
        if isinstance(arg, OutOfRange) and (k == 0 or not _may_skip(call.op)):
            try:
                return evolve(arg, type=call.dtype)
            except TypeError:  # missing has no type
                return None
    return None


def _may_skip(op: Operator) -> bool:
    """Whether an operator may leave operands after the first unevaluated."""
    return op in LAZY or op is coalesce


def parted(value: Expr) -> tuple[Expr, list[tuple[Expr, OutOfRange]]]:
    """``value`` with zeros for out-of-range reads, and these reads, each with its condition.

    A condition that depends on another of these reads has a zero for it, too: the statement has
    failed for that one where it is evaluated.
    """
    found = [(as_condition(guard), node) for guard, node in guarded(value, TRUE, OutOfRange)]
    if not found:
        return value, found
    return _with_zeros(value), [(_with_zeros(guard), node) for guard, node in found]


def _with_zeros(value: Expr) -> Expr:
    return rewrite_expr(value, lambda e: zero_of(e.dtype) if isinstance(e, OutOfRange) else e)
