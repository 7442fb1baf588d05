"""Affine indices in the reference: sums of indices with integer factors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from finch_core.ir import primitives as prim
from finch_core.ir.expressions import Access, Expr, Modified
from finch_core.ir.program import Stmt

LINEAR = (prim.add, prim.sub, prim.neg, prim.mul)
"""The operators of affine expressions."""


def linear_sum(first: Any, second: Any, factor: int) -> tuple[dict[str, int], int]:
    """``first + factor * second``."""
    indices = dict(first[0])
    for name, by in second[0].items():
        indices[name] = indices.get(name, 0) + factor * by
    return {name: by for name, by in indices.items() if by}, first[1] + factor * second[1]


def plain_index(expr: Expr) -> Expr | None:
    """An index without the protocols by which it is read; None where it may be out of bounds."""
    while isinstance(expr, Modified):
        if expr.modifier == "permissive":
            return None
        expr = expr.index
    return expr


def accesses(node: Stmt) -> Iterator[Access]:
    """The accesses of a statement's own expressions, outer ones first."""
    for expr in node.exprs:
        for part in expr.walk():
            if isinstance(part, Access):
                yield part
