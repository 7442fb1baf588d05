"""Wrappers and masks in the reference implementation: an access to one is rewritten into an
expression of the tensor inside, until only plain arrays are left.

    offset(A, 1)[i]    is    A[i + 1]              UpTriMask()[i, j]    is    i <= j
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from finch_core.ir.expressions import Access, Expr
from finch_core.ir.program import Program
from finch_core.ir.rewrite import rewrite
from finch_core.records import evolve


def unwrapped(program: Program, values: Mapping[str, Any]) -> tuple[Program, dict[str, Any]]:
    """The program rewritten to use the tensors inside wrappers, under the same names, and these
    tensors. Masks are replaced by comparisons.

    A wrapper with a dense array of its own, such as a window, is kept.
    """
    plain = dict(values)
    for name, value in values.items():
        while not is_array(value):
            program, value = _without(program, name, value), getattr(value, "tensor", None)
            plain[name] = value
        if value is None:
            del plain[name]
    return program, plain


def is_array(value: Any) -> bool:
    """Whether a value is a number, or has a dense array of its own."""
    if not hasattr(value, "dense_access"):
        return True
    return getattr(value, "has_array", False) and is_array(value.tensor)


def as_seen(value: Any, array: Any) -> Any:
    """The array of the tensor inside ``value`` as an array of ``value`` itself."""
    if is_array(value):
        return array
    array = as_seen(value.tensor, array)
    return value.dense_result(array) if hasattr(value, "dense_result") else array


def _without(program: Program, name: str, value: Any) -> Program:
    def rule(node: Expr) -> Expr:
        if isinstance(node, Access) and node.tensor == name:
            found: Expr = value.dense_access(node)
            return found
        return node

    return evolve(program, body=rewrite(program.body, rule))


__all__ = ["as_seen", "is_array", "unwrapped"]
