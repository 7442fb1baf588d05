"""Index casts: an index or plain number is cast to the dtype of the typed operand that it meets.

    y[i] += x[i] * i        ->         y[i] += x[i] * np.float32(i)         # x holds float32

An index is a weakly typed integer, which takes the width of the other operand (NEP 50); as a
variable of the kernel it is an int64. Where the width matters, the pass inserts a cast. The
same holds for a ``let`` of weakly typed numbers. Constants and run-time numbers stay weakly
typed until assembly. Arithmetic whose result is stored in a narrower integer is done in that
dtype from the start, since the upper bits are not kept.
"""

from __future__ import annotations

from typing import Any

from finch_core.ir.dtypes import Type, concrete, is_weak
from finch_core.ir.expressions import Access, Call, Dimension, Expr, Index, Name, cast
from finch_core.ir.operators import Operator
from finch_core.ir.program import Stmt, Update
from finch_core.ir.rewrite import rewrite, rewrite_expr, rewrite_statements
from finch_core.lower.pass_state import Unit
from finch_core.records import evolve
from finch_core.symbolic.updates import wraps_alike


def index_casts(stmt: Stmt, unit: Unit) -> Stmt:
    """Insert the casts that indices and weakly typed ``let`` variables need in ``stmt``."""
    return rewrite_statements(rewrite(stmt, _operands, lambda target: target), _value)


def dimension_casts(expr: Expr) -> Expr:
    """An expression in which sizes are cast where they meet typed operands, before they become
    variables of int64."""
    if not any(isinstance(node, Dimension) for node in expr.walk()):
        return expr

    def rule(node: Expr) -> Expr:
        if not isinstance(node, Call) or not any(map(_is_of_sizes, node.args)):
            return node
        return _operands(node) if not any(map(_has_index, node.args)) else node

    return rewrite_expr(expr, rule)


def _is_of_sizes(expr: Expr) -> bool:
    return any(isinstance(part, Dimension) for part in _terms(expr))


def _has_index(expr: Expr) -> bool:
    return any(isinstance(part, Index) for part in _terms(expr))


def _operands(node: Expr) -> Expr:
    """An operation with its weakly typed operands cast to the dtype of the others."""
    if not isinstance(node, Call) or not any(map(_loses_width, node.args)):
        return node
    wanted = _wanted(node.op, node.args)
    args = (
        arg if to is None or not _loses_width(arg) else cast(arg, to)
        for arg, to in zip(node.args, wanted, strict=True)
    )
    return node.rebuild(tuple(args)) if any(wanted) else node


def _value(stmt: Stmt) -> Stmt:
    """An update with its value cast, if the value takes its width from the target."""
    if not isinstance(stmt, Update) or stmt.op is None:
        return stmt
    if not _loses_width(stmt.value):
        return _narrowed(stmt, stmt.op)
    wanted = _wanted(stmt.op, (stmt.target, stmt.value))[1]
    return stmt if wanted is None else evolve(stmt, value=cast(stmt.value, wanted))


def _narrowed(stmt: Update, op: Operator) -> Update:
    """An update computed in the target's dtype, if only the lower bits of the value are kept."""
    dtype = concrete(stmt.target.dtype)
    if not wraps_alike(op, dtype, stmt.value):
        return stmt
    return evolve(stmt, value=cast(stmt.value, dtype))


def _loses_width(expr: Expr) -> bool:
    """Whether an expression is weakly typed now, but typed as a variable of the kernel."""
    try:
        weak = is_weak(expr.dtype)
    except TypeError:  # missing has no type
        return False
    return weak and any(isinstance(part, (Dimension, Index, Name)) for part in _terms(expr))


def _terms(expr: Expr) -> Any:
    """The subexpressions that contribute to the value: not the indices of its accesses."""
    yield expr
    if not isinstance(expr, Access):
        for child in expr.children:
            yield from _terms(child)


def _wanted(op: Operator, args: tuple[Expr, ...]) -> tuple[Any, ...]:
    """The dtypes to which operands are cast; None for an operand that needs no cast."""
    try:
        plain: tuple[Type, ...] = tuple(arg.dtype for arg in args)
        found = op.typing(plain)
    except TypeError:  # what is refused where it is typed
        return (None,) * len(args)
    wide = tuple(concrete(arg.dtype) if _loses_width(arg) else arg.dtype for arg in args)
    wanted = tuple(map(concrete, found[0]))
    try:
        other = op.typing(wide)
    except TypeError:  # bits of int64 and uint64, say, have no common dtype
        return wanted
    same = wanted == tuple(map(concrete, other[0])) and concrete(found[1]) == concrete(other[1])
    return (None,) * len(args) if same else wanted


__all__ = ["index_casts"]
