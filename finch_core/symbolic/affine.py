"""Index arithmetic: where an expression is in scope, and what it is beside its innermost index.

For wrappers and masks, which take an index apart: ``i + c`` is an index and a shift, ``i + 1 < j``
a bound of ``j`` that is known before the loop of ``j`` begins.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import attrs

from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import INTP, Type, concrete, is_weak
from finch_core.ir.expressions import Access, Call, Expr, Index, Literal, Modified, Name, cast, lift
from finch_core.ir.operators import Operator
from finch_core.records import frozen


@frozen
class Scope:
    """Where an expression stands: the loops around it, outermost first.

    ``bound`` tells how many loops there are around the binding of each ``let`` name, and around the
    declaration of each tensor that changes within loops.
    """

    loops: tuple[Index, ...] = ()
    bound: Mapping[Any, int] = attrs.field(factory=dict)

    def inside(self, index: Index) -> Scope:
        """The scope of the body of a loop here."""
        return attrs.evolve(self, loops=(*self.loops, index))

    def binding(self, name: Name) -> Scope:
        """The scope of what follows a ``let`` here."""
        return attrs.evolve(self, bound={**self.bound, name: len(self.loops)})

    def depth(self, expr: Expr) -> int:
        """Within how many of the loops ``expr`` has a meaning at the earliest: 0 for a constant."""
        return max(map(self._depth, expr.walk()))

    def _depth(self, node: Expr) -> int:
        if isinstance(node, Index):
            return self.loops.index(node) + 1
        if isinstance(node, Name):
            return self.bound.get(node, 0)
        if isinstance(node, Access):
            return self.bound.get(node.tensor.root, 0)
        return 0

    def ready(self, expr: Expr) -> bool:
        """Whether the accesses of ``expr`` are read by the loops around it alone, so that it is
        known as soon as the last of those loops has begun."""
        return all(map(self._ready, expr.walk()))

    def _ready(self, node: Expr) -> bool:
        if not isinstance(node, Access):
            return True
        depths = [self.bound.get(node.tensor.root, 0)]
        for index in node.indices:
            if isinstance(index, Index):
                depths.append(self.loops.index(index) + 1)
            elif not is_given(index):
                return False
        return all(a < b for a, b in pairwise(depths))


def given(expr: Expr) -> Expr:
    """``expr`` as an index that no loop runs over: what it selects is fixed where the loop of the
    next index begins. It leads a dimension whose looplet is a ``Lookup``."""
    return expr if isinstance(expr, Index) else Modified("given", expr)


def is_given(index: Expr) -> bool:
    """Whether ``index`` was made by ``given``."""
    return isinstance(index, Modified) and index.modifier == "given"


@frozen
class Affine:
    """``index + rest``, or ``rest - index`` where ``sign`` is -1; ``rest`` is known outside the
    loop of ``index``."""

    index: Index
    sign: int
    rest: tuple[tuple[int, Expr], ...]

    @property
    def shift(self) -> Expr:
        """What is added to the index."""
        return total(self.rest)


def affine(expr: Expr, scope: Scope) -> Affine | None:
    """``expr`` taken apart; None where its innermost index does not stand in a plain sum, or where
    something else in it is only known inside that index's loop."""
    return _split(_terms(expr, 1), scope)


def comparison(call: Call, scope: Scope) -> tuple[Operator, Expr, Index] | None:
    """``a op b`` as ``(op, bound, index)``, which means ``bound op index``, where the bound is
    known before the innermost loop of those in the comparison begins. None if that cannot be."""
    if call.op not in _MIRRORED or not all(concrete(a.dtype).kind in "iu" for a in call.args):
        return None
    first, second = call.args
    found = _split([*_terms(first, 1), *_terms(second, -1)], scope)
    if found is None or any(_wide(term.dtype) for _, term in found.rest):
        return None
    bound = total([(-found.sign * sign, term) for sign, term in found.rest])
    if not scope.ready(bound):
        return None
    op = _MIRRORED[call.op] if found.sign == 1 else call.op
    return op, bound, found.index


_MIRRORED = {
    prim.lt: prim.gt, prim.gt: prim.lt, prim.le: prim.ge, prim.ge: prim.le,
    prim.eq: prim.eq, prim.ne: prim.ne,
}  # fmt: skip


def _split(terms: list[tuple[int, Expr]], scope: Scope) -> Affine | None:
    depths = [scope.depth(term) for _, term in terms]
    depth = max(depths)
    inner = [term for term, d in zip(terms, depths, strict=True) if d == depth]
    if len(inner) != 1 or not isinstance(inner[0][1], Index):
        return None
    (sign, index) = inner[0]
    return Affine(index, sign, tuple(term for term in terms if term is not inner[0]))  # type: ignore[arg-type]


def _terms(expr: Expr, sign: int) -> list[tuple[int, Expr]]:
    """What ``expr`` is a sum of, with signs. Sums that may wrap stay whole."""
    if isinstance(expr, Call) and _exact(expr.dtype):
        if expr.op in (prim.add, prim.sub):
            first, second = expr.args
            other = sign if expr.op is prim.add else -sign
            return [*_terms(first, sign), *_terms(second, other)]
        if expr.op is prim.neg:
            return _terms(expr.args[0], -sign)
    return [(sign, expr)]


def linear(expr: Expr) -> list[tuple[int, Expr]]:
    """What ``expr`` is a sum of, with whole factors: a term a time, constants by themselves."""
    found: dict[Expr, int] = {}
    for sign, term in _terms(expr, 1):
        for factor, part in _multiplied(sign, term):
            found[part] = found.get(part, 0) + factor
    return [(factor, part) for part, factor in found.items() if factor]


def _multiplied(factor: int, term: Expr) -> list[tuple[int, Expr]]:
    """A signed term, with the constants by which it is multiplied taken out."""
    if isinstance(term, Call) and term.op is prim.mul and _exact(term.dtype):
        for literal, other in (term.args, term.args[::-1]):
            if isinstance(literal, Literal):
                by = factor * int(literal.value)
                return [
                    pair for sign, part in _terms(other, 1) for pair in _multiplied(by * sign, part)
                ]
    return [(factor, term)]


def _exact(dtype: Type) -> bool:
    """Whether sums of indices are what they are among the integers."""
    return is_weak(dtype) or (concrete(dtype).kind == "i" and concrete(dtype).itemsize >= 4)


def _wide(dtype: Type) -> bool:
    return concrete(dtype).kind == "u" and concrete(dtype).itemsize == 8


def total(terms: Any) -> Expr:
    """The sum of signed terms, constants last."""
    constant, result = 0, None
    for sign, term in sorted(terms, key=lambda pair: -pair[0]):
        if isinstance(term, Literal):
            constant += sign * int(term.value)
        else:
            wide = term if is_weak(term.dtype) else cast(term, INTP)
            if result is None:
                result = wide if sign == 1 else lift(0) - wide
            else:
                result = result + wide if sign == 1 else result - wide
    if result is None:
        return lift(constant)
    return result + constant if constant >= 0 else result - (-constant)


__all__ = ["Affine", "Scope", "affine", "comparison", "given", "is_given", "linear", "total"]
