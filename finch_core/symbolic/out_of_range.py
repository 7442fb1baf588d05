"""What is read beyond the end of a dimension, as an expression: a statement that needs it fails."""

from __future__ import annotations

import attrs

from finch_core.errors import Span
from finch_core.ir.dtypes import Type
from finch_core.ir.expressions import TRUE, Call, Expr, zero_of
from finch_core.ir.missing import coalesce
from finch_core.ir.operators import Operator
from finch_core.ir.rewrite import rewrite_expr
from finch_core.records import frozen
from finch_core.symbolic.guards import LAZY, as_condition, guarded


@frozen(order=False)
class OutOfRange(Expr):
    """What would be read beyond the end of a dimension. A statement that needs it fails."""

    type: Type
    what: str
    size: Expr
    index: Expr | None = None
    """Where it would be read, if that is known when it fails."""
    span: Span | None = attrs.field(default=None, eq=False, repr=False)

    @property
    def dtype(self) -> Type:
        return self.type


def strict(call: Call) -> Expr | None:
    """What is computed of what is out of range is so itself, unless it may not be evaluated."""
    for k, arg in enumerate(call.args):
        if isinstance(arg, OutOfRange) and (k == 0 or not _may_skip(call.op)):
            try:
                return attrs.evolve(arg, type=call.dtype)
            except TypeError:  # missing has no type
                return None
    return None


def _may_skip(op: Operator) -> bool:
    """Whether an operator may leave operands after the first alone."""
    return op in LAZY or op is coalesce


def parted(value: Expr) -> tuple[Expr, list[tuple[Expr, OutOfRange]]]:
    """``value`` with zeros for what is out of range, and that, each with its condition."""
    found = [(as_condition(guard), node) for guard, node in guarded(value, TRUE, OutOfRange)]
    if not found:
        return value, found
    zeros = rewrite_expr(value, lambda e: zero_of(e.dtype) if isinstance(e, OutOfRange) else e)
    return zeros, found
