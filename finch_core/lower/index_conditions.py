"""Index conditions: what conditions around an access say of the index of a loop.

    for d in range(2 * n):                     the access needs range(0, min(2 * n, m)) to lie
        if d < m: x[d] = 1            ->       within x, not range(0, 2 * n)

Used are comparisons of the index, plus a number as written, with values that are known before the
program runs, and their sums. Where a sum could overflow, the bound is as if it were not there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from operator import or_

from finch_core.interface.abi import MOST_INDICES
from finch_core.ir import primitives as prim
from finch_core.ir.assembly_rewrite import replacing
from finch_core.ir.builder import NEGATIONS, negation
from finch_core.ir.dtypes import INTP, concrete
from finch_core.ir.expressions import Call, Expr, Index, Literal, Var, call, cast, lift
from finch_core.ir.program import Extent, Leave, Sequential, Sieve, Stmt, While
from finch_core.lower.dimensions import greatest, least
from finch_core.lower.sizes import sized
from finch_core.records import evolve, frozen
from finch_core.symbolic.affine import combination, is_unlimited, linear, widened


def comparisons(cond: Expr, meant: Mapping[Expr, Expr]) -> Iterator[Call]:
    """The comparisons that hold where ``cond`` does; ``meant`` has what masks and names stand
    for."""
    yield from _held(cond, True, meant)


def opposites(cond: Expr, meant: Mapping[Expr, Expr]) -> Iterator[Call]:
    """The comparisons that hold where ``cond`` does not."""
    yield from _held(cond, False, meant)


def _held(cond: Expr, holds: bool, meant: Mapping[Expr, Expr]) -> Iterator[Call]:
    while cond in meant:
        cond = meant[cond]
    if not isinstance(cond, Call):
        return
    if cond.op is prim.not_:
        yield from _held(cond.args[0], not holds, meant)
    elif cond.op is (prim.and_ if holds else prim.or_):
        for arg in cond.args:
            yield from _held(arg, holds, meant)
    elif cond.op in NEGATIONS:
        found = cond if holds else negation(cond)
        found = sized(found)
        if isinstance(found, Call) and found.op in NEGATIONS:
            yield found


def inside(stmt: Stmt, meant: Mapping[Expr, Expr]) -> Iterator[tuple[Stmt, tuple[Call, ...]]]:
    """The statements of which ``stmt`` consists, each with the comparisons that hold there if
    ``stmt`` runs; ``meant`` may get more names in the meantime."""
    conds: tuple[Call, ...] = ()
    if isinstance(stmt, Sequential):
        for body in stmt.bodies:
            yield body, conds
            conds = (*conds, *passed(body, meant))
    elif isinstance(stmt, Sieve):
        yield stmt.body, tuple(comparisons(stmt.cond, meant))
        yield stmt.orelse, tuple(opposites(stmt.cond, meant))
    elif isinstance(stmt, While):
        yield stmt.body, tuple(comparisons(stmt.cond, meant))
    else:
        yield from ((body, ()) for body in stmt.bodies)


def passed(stmt: Stmt, meant: Mapping[Expr, Expr]) -> Iterator[Call]:
    """The comparisons that hold after a statement: what it leaves for does not."""
    if isinstance(stmt, Sieve):
        if _always_leaves(stmt.body):
            yield from opposites(stmt.cond, meant)
        if _always_leaves(stmt.orelse):
            yield from comparisons(stmt.cond, meant)


def _always_leaves(stmt: Stmt) -> bool:
    """Whether nothing runs after a statement."""
    if isinstance(stmt, Sequential):
        return any(map(_always_leaves, stmt.bodies))
    if isinstance(stmt, Sieve):
        return _always_leaves(stmt.body) and _always_leaves(stmt.orelse)
    return isinstance(stmt, Leave)


def narrowed(
    extent: Extent, index: Index, conds: tuple[Call, ...], is_known: Callable[[Expr], bool]
) -> Extent:
    """The part of ``extent`` in which all of ``conds`` may hold, or more of it. That an index is
    not one number says something where it is at an end: this is looked at last, and again."""
    others = [cond for cond in conds if cond.op is prim.ne]
    for cond in (*(cond for cond in conds if cond.op is not prim.ne), *others * len(others)):
        bound = _bound(cond, index, is_known)
        if bound is not None:
            extent = bound.cut(extent)
    return extent


@frozen
class _Bound:
    """``index <op> base + shift``. Where ``wraps``, the condition may hold at any index if ``base``
    is beyond ``MOST_INDICES``, since the sum as it is written wraps around. Nothing is said where
    one of ``terms``, whose sum ``base`` is, is beyond ``FAR``."""

    op: object
    base: Expr | None
    shift: int
    wraps: bool = False
    terms: tuple[Expr, ...] = ()

    def cut(self, extent: Extent) -> Extent:
        if self.op in (prim.lt, prim.le, prim.eq):
            stop = self.at(Expr.min, MOST_INDICES, self.op is not prim.lt)
            extent = evolve(extent, stop=least([extent.stop, stop]))
        if self.op in (prim.gt, prim.ge, prim.eq):
            start = self.at(Expr.max, -MOST_INDICES, self.op is prim.gt)
            extent = evolve(extent, start=greatest([extent.start, start]))
        if self.op is prim.ne:
            start = self.beside(extent.start, 0, 1)
            extent = evolve(extent, start=start, stop=self.beside(extent.stop, 1, -1))
        return extent

    def beside(self, end: Expr, after: int, shift: int) -> Expr:
        """The end of a range, moved by ``shift`` where it is the bound, or the index ``after``."""
        base = lift(0) if self.base is None else self.base
        other = combination([*linear(end), (-1, lift(self.shift + after))])
        apart = combination(linear(combination([(1, other), (-1, base)])))
        if isinstance(apart, Literal):
            return end if apart.value else combination([*linear(end), (1, lift(shift))])
        return call(prim.ifelse, other.eq(base), end + shift, end)

    def at(self, kept: Callable[[Expr, Expr], Expr], most: int, beyond: bool) -> Expr:
        """The bound, or the index after it."""
        shift, base = self.shift + beyond, self.base
        if base is None:
            return lift(shift)
        if self.terms:
            far = ((term < -FAR) | (term > FAR) for term in self.terms)
            return call(prim.ifelse, reduce(or_, far), lift(most), base + shift)
        if self.wraps:
            wrapped = base < -MOST_INDICES if most > 0 else base > MOST_INDICES
            base = call(prim.ifelse, wrapped, lift(most), base)
        if shift == 0:
            return base
        away = shift < 0 if most > 0 else shift > 0  # from zero, on the other side
        if away and is_unlimited(base):
            base = kept(base, lift(most))
            return (base.max(-most) if most > 0 else base.min(-most)) + shift
        return kept(base, lift(most)) + shift


def _bound(cond: Call, index: Index, is_known: Callable[[Expr], bool]) -> _Bound | None:
    (own, _), (other, written) = sides = [(terms_of(arg), arg) for arg in cond.args]
    op = cond.op
    if not any(part == index for _, part in own):
        (other, written), (own, _) = sides
        op = _MIRRORED[op]
    sign = sum(factor for factor, part in own if part == index)
    if abs(sign) != 1:
        return None
    if isinstance(written, Literal) and concrete(written.dtype).kind not in "biu":
        whole = _whole(op, written)
        if whole is None:
            return None
        other = [(1, whole)]
    moved = [(-factor, part) for factor, part in own if part != index]
    terms = [(sign * factor, part) for factor, part in (*moved, *other)]
    shift = _constant(terms)
    bases = [(factor, part) for factor, part in terms if not isinstance(part, Literal)]
    if abs(shift) >= FAR:
        return None
    op = op if sign == 1 else _MIRRORED[op]
    if not bases:
        return _Bound(op, None, shift)
    if len(bases) > 1 or bases[0][0] != 1:
        return _of_sum(op, bases, shift, index, is_known)
    _, base = bases[0]
    if index in base.walk() or not is_known(base) or not is_int64(base):
        return None
    if not is_unlimited(base):
        return _Bound(op, widened(base), shift)
    if any(part == base for _, part in moved):
        return _Bound(op, base, shift, wraps=True)
    return _Bound(op, written, sign * _constant(moved)) if sign == 1 else None


def _of_sum(
    op: object, terms: list[tuple[int, Expr]], shift: int, index: Index,
    is_known: Callable[[Expr], bool],
) -> _Bound | None:  # fmt: skip
    """The bound that a sum of a few known values gives. What an index is not is said by one value
    alone."""
    if op is prim.ne or sum(abs(factor) for factor, _ in terms) > MOST_TERMS:
        return None
    parts = [part for _, part in terms]
    if any(index in part.walk() for part in parts):
        return None
    if not all(is_known(part) and is_int64(part) for part in parts):
        return None
    wide = [(abs(k), part) for k, part in terms if concrete(part.dtype).itemsize >= INTP.itemsize]
    loose = [part for _, part in wide if is_unlimited(part)]
    if sum(k for k, part in wide if part not in loose) > 1:  # several lengths
        loose = [part for _, part in wide]
    return _Bound(op, combination(terms), shift, terms=tuple(loose))


def terms_of(expr: Expr) -> list[tuple[int, Expr]]:
    """The terms of a side of a comparison. A sum of numbers of fewer than 64 bits is one, since the
    condition is evaluated as it is written, and the sum may wrap around."""
    return linear(expr, INTP.itemsize)


def is_int64(expr: Expr) -> bool:
    """Whether all values of an expression are integers of int64."""
    dtype = concrete(expr.dtype)
    return dtype.kind == "i" or (dtype.kind == "u" and dtype.itemsize < INTP.itemsize)


def _whole(op: object, literal: Literal) -> Literal | None:
    """The integer with which an integer compares as with this number; None if there is none."""
    value = literal.value
    if concrete(literal.dtype).kind != "f" or not abs(value) <= EXACT:
        return None
    if op in (prim.eq, prim.ne) and value != int(value):
        return None
    return Literal(int(math.ceil(value) if op in (prim.lt, prim.ge) else math.floor(value)), int)


ANY = Extent(Var("<start>", INTP), Var("<stop>", INTP))
"""Stands for a range that is not known before the program runs."""


def bound_of_loop(number: int) -> Var:
    """Stands for the expression of this number in ``Loop.bounds``."""
    return Var(f"<bound {number}>", INTP)


def part_of(extent: Extent, part: Extent, bounds: Sequence[Expr] = ()) -> Extent:
    """``part``, the narrowed ``ANY``, of the range ``extent`` of a loop with these ``bounds``."""
    meanings: dict[Expr, Expr] = {ANY.start: extent.start, ANY.stop: extent.stop}
    meanings |= {bound_of_loop(k): cast(bound, INTP) for k, bound in enumerate(bounds)}
    meant = replacing(meanings)
    return Extent(meant(part.start), meant(part.stop))


FAR, MOST_TERMS = MOST_INDICES // 4, 4
"""Sums of so many values up to ``FAR``, each counted by its factor, one of which may be a length,
do not overflow."""

EXACT = 1 << 53
"""Integers up to this one are compared with floats as they are."""


def _constant(terms: list[tuple[int, Expr]]) -> int:
    return sum(factor * int(part.value) for factor, part in terms if isinstance(part, Literal))


_MIRRORED = {
    prim.lt: prim.gt, prim.gt: prim.lt, prim.le: prim.ge, prim.ge: prim.le, prim.eq: prim.eq,
    prim.ne: prim.ne,
}  # fmt: skip


__all__ = ["comparisons", "inside", "is_int64", "narrowed", "terms_of"]
