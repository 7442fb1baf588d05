"""Affine index expressions: the loop that an expression depends on, and its form in that index.

Wrappers and masks decompose indices with it: ``i + c`` is an index and a shift, ``i + 1 < j`` a
bound on ``j`` that is known before the loop over ``j`` begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import INTP, Type, concrete, is_weak
from finch_core.ir.expressions import (
    Access,
    Call,
    Dimension,
    Expr,
    Index,
    Literal,
    Modified,
    Name,
    cast,
    lift,
)
from finch_core.ir.operators import Operator
from finch_core.records import evolve, field, frozen


@frozen
class Scope:
    """The loops around an expression, outermost first.

    ``bound`` gives the loop depth at which each ``let`` name is bound, and at which each tensor
    that changes within loops is declared or last updated.
    """

    loops: tuple[Index, ...] = ()
    bound: Mapping[Any, int] = field(factory=dict)
    written: bool = False
    """Whether the expression is what an assignment writes."""

    def inside(self, index: Index, updated: Iterable[Any] = ()) -> Scope:
        """The scope in the body of a loop over ``index`` that changes the tensors ``updated``."""
        loops = (*self.loops, index)
        changed = {tensor: max(len(loops), self.bound.get(tensor, 0)) for tensor in updated}
        return evolve(self, loops=loops, bound={**self.bound, **changed})

    def binding(self, name: Name) -> Scope:
        """The scope of the statements after a ``let`` of ``name``."""
        return evolve(self, bound={**self.bound, name: len(self.loops)})

    def depth(self, expr: Expr) -> int:
        """The depth of the innermost loop on which ``expr`` depends: 0 for a constant."""
        return max(map(self._depth, expr.walk()))

    def _depth(self, node: Expr) -> int:
        if isinstance(node, Index):
            return self.loops.index(node) + 1
        if isinstance(node, Name):
            return self.bound.get(node, 0)
        if isinstance(node, (Access, Dimension)):
            return self.bound.get(node.tensor.root, 0)
        return 0

    def ready(self, expr: Expr) -> bool:
        """Whether the accesses of ``expr`` depend on enclosing loops only, so that its value is
        known at the start of the innermost of them."""
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
    """``expr`` as a *given* index: no loop runs over it, its value is fixed before the loop of
    the next index begins. It indexes a dimension whose looplet is a ``Lookup``."""
    return expr if isinstance(expr, Index) else Modified("given", expr)


def is_given(index: Expr) -> bool:
    """Whether ``index`` was made by ``given``."""
    return isinstance(index, Modified) and index.modifier == "given"


def leading(access: Access) -> int:
    """The number of leading indices that are given without a loop."""
    return next((k for k, i in enumerate(access.indices) if not is_given(i)), len(access.indices))


@frozen
class Affine:
    """``index + rest``, or ``rest - index`` where ``sign`` is -1; ``rest`` does not depend on
    ``index``."""

    index: Index
    sign: int
    rest: tuple[tuple[int, Expr], ...]

    @property
    def shift(self) -> Expr:
        """The offset that is added to the index."""
        return total(self.rest)


def affine(expr: Expr, scope: Scope) -> Affine | None:
    """The affine form of ``expr`` in its innermost index.

    None if that index does not occur in a plain sum, or if another term depends on its loop.
    """
    return _split(_terms(expr, 1), scope)


@frozen
class Scaled:
    """``factor * index + rest``, where neither ``factor`` nor ``rest`` depends on ``index``."""

    index: Index
    factor: Expr
    rest: Expr


def scaled(expr: Expr, scope: Scope) -> Scaled | None:
    """The form of ``expr`` as a multiple of its innermost index and a rest.

    None if that index does not occur in exactly one term, as a product.
    """
    terms = linear(expr)
    depths = [scope.depth(term) for _, term in terms]
    inner = [k for k, depth in enumerate(depths) if depth == max(depths)]
    if len(inner) != 1:
        return None
    by, term = terms.pop(inner[0])
    factor: Expr = lift(by)
    if isinstance(term, Call) and term.op is prim.mul and _exact(term.dtype):
        ordered = sorted(term.args, key=lambda part: isinstance(part, Index))
        factor, term = factor * ordered[0], ordered[1]
        if scope.depth(factor) >= max(depths):
            return None
    return Scaled(term, widened(factor), combination(terms)) if isinstance(term, Index) else None


def widened(expr: Expr) -> Expr:
    """An integer as a number in which sums of indices do not wrap around."""
    return expr if is_weak(expr.dtype) else cast(expr, INTP)


def combination(terms: Iterable[tuple[int, Expr]]) -> Expr:
    """The sum of terms with integer coefficients, constants last."""
    signed = []
    for by, term in terms:
        if isinstance(term, Literal):
            signed.append((1, lift(by * int(term.value))))
        else:
            signed.append((1 if by > 0 else -1, term if abs(by) == 1 else widened(term) * abs(by)))
    return total(signed)


def collected(expr: Expr) -> Expr:
    """An integer expression as a sum in which each term occurs once."""
    return combination(linear(expr))


def comparison(call: Call, scope: Scope) -> tuple[Operator, Expr, Index] | None:
    """``a op b`` solved for its innermost index, as ``(op, bound, index)`` meaning ``bound op
    index``.

    The bound is known before the loop over ``index`` begins. None if there is no such form.
    """
    if call.op not in _MIRRORED or not all(concrete(a.dtype).kind in "iu" for a in call.args):
        return None
    sides = [_terms_of_side(side) for side in call.args]
    found = _split([*sides[0], *((-sign, term) for sign, term in sides[1])], scope)
    if found is None or any(_wide(term.dtype) for _, term in found.rest):
        return None
    bound = _bound(sides, found)
    if not scope.ready(bound):
        return None
    op = _MIRRORED[call.op] if found.sign == 1 else call.op
    return op, bound, found.index


def _terms_of_side(side: Expr) -> list[tuple[int, Expr]]:
    """The terms of a side of a comparison. A sum of numbers of fewer than 64 bits is one, since it
    may wrap around; beside an index it is assumed not to."""
    has_index = any(isinstance(part, Index) for part in side.walk())
    return _terms(side, 1, 4 if has_index else INTP.itemsize)


def _bound(sides: list[list[tuple[int, Expr]]], found: Affine) -> Expr:
    """The bound of a comparison that was solved for its index.

    The side without the index may wrap around, as it is written. What is moved to it may not:
    where the bound is beyond the integers of 64 bits, it is the nearest of them.
    """
    (own, other), sign = sides, found.sign
    if not any(term is found.index for _, term in own):
        own, other, sign = other, own, -sign
    moved = [(-sign * by, term) for by, term in own if term is not found.index]
    if (sign == 1 and not moved) or not any(is_unlimited(term) for _, term in found.rest):
        bound = total([(-found.sign * by, term) for by, term in found.rest])
        return lift(min(max(bound.value, _FIRST), _LAST)) if isinstance(bound, Literal) else bound
    terms = [(sign, total(other)), *moved]
    constant = sum(by * int(term.value) for by, term in terms if isinstance(term, Literal))
    variable = [(by, term) for by, term in terms if not isinstance(term, Literal)]
    result: Expr | None = None
    for by, term in sorted(variable, key=lambda pair: -pair[0]):
        if result is not None:
            result = _saturated(result, by, term)
        elif by == 1:
            result = widened(term)
        else:
            result, constant = _saturated(lift(constant), by, term), 0
    assert result is not None
    return _saturated(result, 1, lift(constant)) if constant else result


def is_unlimited(expr: Expr) -> bool:
    """Whether an integer is any of 64 bits. Constants, indices, dimensions and integers of fewer
    bits leave room for sums of them."""
    if isinstance(expr, Call) and _exact(expr.dtype):
        return any(map(is_unlimited, expr.args))
    return (
        not isinstance(expr, (Literal, Index, Dimension))
        and concrete(expr.dtype).itemsize >= INTP.itemsize
    )


def _saturated(first: Expr, sign: int, second: Expr) -> Expr:
    """``first + second``, or ``first - second`` where ``sign`` is -1: the nearest integer of 64
    bits to it."""
    if not is_unlimited(first) and not is_unlimited(second):
        return first + widened(second) if sign == 1 else first - widened(second)
    if isinstance(second, Literal):
        by = sign * int(second.value)
        return first.min(_LAST - by) + by if by > 0 else first.max(_FIRST - by) - (-by)
    second = widened(second)
    if sign == 1:
        return first + second.max(_FIRST - first.min(0)).min(_LAST - first.max(0))
    if isinstance(first, Literal):
        by = int(first.value)
        return first - (second.max(by - _LAST) if by >= 0 else second.min(by - _FIRST))
    return first - second.max(first.max(0) - _LAST).min(first.min(-1) - _FIRST)


_FIRST, _LAST = -(2**63), 2**63 - 1

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


def _terms(expr: Expr, sign: int, least: int = 4) -> list[tuple[int, Expr]]:
    """The terms of ``expr`` with their signs. Sums that may wrap around are single terms."""
    if isinstance(expr, Call) and _exact(expr.dtype, least):
        if expr.op in (prim.add, prim.sub):
            first, second = expr.args
            other = sign if expr.op is prim.add else -sign
            return [*_terms(first, sign, least), *_terms(second, other, least)]
        if expr.op is prim.neg:
            return _terms(expr.args[0], -sign, least)
    return [(sign, expr)]


def linear(expr: Expr, least: int = 4) -> list[tuple[int, Expr]]:
    """The terms of ``expr`` with integer coefficients; the constant is a term of its own. A sum of
    integers of fewer than ``least`` bytes is one term."""
    found: dict[Expr, int] = {}
    for sign, term in _terms(expr, 1, least):
        for factor, part in _multiplied(sign, term, least):
            found[part] = found.get(part, 0) + factor
    return [(factor, part) for part, factor in found.items() if factor]


def _multiplied(factor: int, term: Expr, least: int) -> list[tuple[int, Expr]]:
    """A signed term, with its constant factors moved into the coefficient."""
    if isinstance(term, Call) and term.op is prim.mul and _exact(term.dtype, least):
        for literal, other in (term.args, term.args[::-1]):
            if isinstance(literal, Literal):
                by = factor * int(literal.value)
                return [
                    pair
                    for sign, part in _terms(other, 1, least)
                    for pair in _multiplied(by * sign, part, least)
                ]
    return [(factor, term)]


def _exact(dtype: Type, least: int = 4) -> bool:
    """Whether sums of indices of this type are integers, and never wrap around: of integers of at
    least so many bytes."""
    if is_weak(dtype):
        return dtype in (int, bool)
    return concrete(dtype).kind == "i" and concrete(dtype).itemsize >= least


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


__all__ = [
    "Affine", "Scaled", "Scope", "affine", "collected", "combination", "comparison", "given",
    "is_given", "is_unlimited", "leading", "linear", "scaled", "total", "widened",
]  # fmt: skip
