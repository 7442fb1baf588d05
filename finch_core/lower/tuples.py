"""Tuples where a number is wanted: conditions and casts refuse them."""

from __future__ import annotations

from finch_core.errors import FormatError, Span
from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import Type, is_tuple
from finch_core.ir.expressions import Call, Cast, Expr

ELEMENT = "take an element of it, as in t[0]"


def require_condition(type_: Type, span: Span | None) -> None:
    """Refuse a tuple as a condition."""
    if is_tuple(type_):
        raise FormatError(
            "a condition is a number, and this is a tuple",
            span=span,
            hint="test an element of it, as in t[0] > 0",
        )


def require_numbers(node: Expr, span: Span | None) -> None:
    """Refuse a tuple that is an operand of logic, the condition of a choice, or cast to a
    number."""
    if isinstance(node, Call):
        for condition in _conditions(node):
            require_condition(_type(condition), span)
    if isinstance(node, Cast) and is_tuple(_type(node.value)) and not is_tuple(node.type):
        raise FormatError(f"a tuple cannot be cast to {node.type}", span=span, hint=ELEMENT)


def _type(expr: Expr) -> Type:
    """The type of an expression; that of a number where an operator in it is not defined, which is
    refused as such."""
    try:
        return expr.dtype
    except (NotImplementedError, TypeError):
        return int


def _conditions(node: Call) -> tuple[Expr, ...]:
    """The operands of which the truth is used."""
    if node.op is prim.ifelse:
        return node.args[:1]
    return node.args if node.op in (prim.and_, prim.or_, prim.not_) else ()


__all__ = ["ELEMENT", "require_condition", "require_numbers"]
