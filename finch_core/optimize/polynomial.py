"""Indices as polynomials in their atoms: ``(y + 1) * n + x`` is ``n*y + n + x``.

Atoms are variables, loads and other expressions that are neither sums nor products.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from finch_core.ir import primitives as prim
from finch_core.ir.assembly_text import expr_text
from finch_core.ir.expressions import Call, Expr, Literal, lift

Polynomial = dict[tuple[str, ...], int]
"""The coefficient of each product of atoms (a sorted tuple of their texts); none is zero."""


def polynomial(expr: Expr) -> Polynomial:
    """The polynomial of an integer expression: equal polynomials compare equal however written."""
    if isinstance(expr, Literal):
        return _tidy({(): int(expr.value)})
    if isinstance(expr, Call) and expr.op in (prim.add, prim.sub, prim.mul):
        first, second = map(polynomial, expr.args)
        if expr.op is prim.mul:
            return _times(first, second)
        sign = 1 if expr.op is prim.add else -1
        total = Counter(first)
        for atoms, count in second.items():
            total[atoms] += sign * count
        return _tidy(total)
    return {(expr_text(expr),): 1}


def _times(first: Polynomial, second: Polynomial) -> Polynomial:
    total: Counter[tuple[str, ...]] = Counter()
    for atoms, count in first.items():
        for others, number in second.items():
            total[tuple(sorted((*atoms, *others)))] += count * number
    return _tidy(total)


def _tidy(terms: Polynomial) -> Polynomial:
    return {atoms: count for atoms, count in terms.items() if count}


def product(factors: Iterable[Expr]) -> Expr:
    """The product of ``factors``; 1 if there are none."""
    result = lift(1)
    for factor in factors:
        result = result * factor
    return result
