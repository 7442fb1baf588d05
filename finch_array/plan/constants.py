"""The constants of a kernel that others like it differ by, such as the number that an array is
scaled by in a turn of a loop."""

from __future__ import annotations

from typing import TypeGuard

from finch_array.fill_arguments import is_ordinary
from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import concrete, type_of
from finch_core.ir.expressions import Call, Expr, Literal, Name
from finch_core.ir.rewrite import rewrite_expr

PLAIN = (
    prim.add, prim.sub, prim.mul, prim.truediv, prim.minimum, prim.maximum,
    prim.eq, prim.ne, prim.lt, prim.le, prim.gt, prim.ge, prim.ifelse,
)  # fmt: skip
"""Operators that are the same instructions whatever number they are given: ``x ** 2`` is none."""


def without_constants(value: Expr) -> tuple[Expr, tuple[Literal, ...]]:
    """``value`` with names (``constant_name``) for the constants that may be passed to a kernel,
    and these; equal ones have one name."""
    places: dict[Literal, int] = {}

    def name(constant: Literal) -> Expr:
        return Name(constant_name(places.setdefault(constant, len(places))))

    def named(part: Expr) -> Expr:
        if not isinstance(part, Call) or part.op not in PLAIN:
            return part
        return Call(part.op, tuple([arg if not _passes(arg) else name(arg) for arg in part.args]))

    found = rewrite_expr(value, named)
    return found, tuple(places)


def _passes(arg: Expr) -> TypeGuard[Literal]:
    if not isinstance(arg, Literal) or arg.structural or type_of(arg.value) != arg.type:
        return False
    return is_ordinary(arg.value, concrete(arg.type))


def constant_name(number: int) -> str:
    """The name of a constant in the value of a kernel."""
    return f"k{number}"


__all__ = ["constant_name", "without_constants"]
