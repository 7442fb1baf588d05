"""Index conditions: what conditions around an access say of the index of a loop.

    for d in range(2 * n):                     the access needs range(0, min(2 * n, m)) to lie
        if d < m: x[d] = 1            ->       within x, not range(0, 2 * n)

Used are comparisons of the index, plus a number as written, with one value that is known before the
program runs. Where the sum of both could overflow, the bound is as if it were not there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from finch_core.interface.abi import MOST_INDICES
from finch_core.ir import primitives as prim
from finch_core.ir.builder import NEGATIONS, negation
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Call, Expr, Index, Literal, call, lift
from finch_core.ir.program import Extent
from finch_core.lower.dimensions import greatest, least
from finch_core.records import evolve, frozen
from finch_core.symbolic.affine import is_unlimited, linear


def comparisons(cond: Expr, meant: Mapping[Expr, Expr]) -> Iterator[Call]:
    """The comparisons that hold where ``cond`` does; ``meant`` has those that became masks."""
    cond = meant.get(cond, cond)
    if not isinstance(cond, Call):
        return
    if cond.op is prim.and_:
        for arg in cond.args:
            yield from comparisons(arg, meant)
    elif cond.op is prim.not_:
        yield from _opposite(meant.get(cond.args[0], cond.args[0]))
    elif cond.op in NEGATIONS:
        yield cond


def opposites(cond: Expr, meant: Mapping[Expr, Expr]) -> Iterator[Call]:
    """The comparisons that hold where ``cond`` does not."""
    cond = meant.get(cond, cond)
    if isinstance(cond, Call) and cond.op is prim.not_:
        yield from comparisons(cond.args[0], meant)
    else:
        yield from _opposite(cond)


def _opposite(cond: Expr) -> Iterator[Call]:
    if isinstance(cond, Call) and cond.op in NEGATIONS:
        found = negation(cond)
        if isinstance(found, Call) and found.op in NEGATIONS:
            yield found


def narrowed(
    extent: Extent, index: Index, conds: tuple[Call, ...], is_known: Callable[[Expr], bool]
) -> Extent:
    """The part of ``extent`` in which all of ``conds`` may hold, or more of it."""
    for cond in conds:
        bound = _bound(cond, index, is_known)
        if bound is not None:
            extent = bound.cut(extent)
    return extent


@frozen
class _Bound:
    """``index <op> base + shift``. Where ``wraps``, the condition may hold at any index if ``base``
    is beyond ``MOST_INDICES``, since the sum as it is written wraps around."""

    op: object
    base: Expr | None
    shift: int
    wraps: bool = False

    def cut(self, extent: Extent) -> Extent:
        if self.op in (prim.lt, prim.le, prim.eq):
            stop = self.at(Expr.min, MOST_INDICES, self.op is not prim.lt)
            extent = evolve(extent, stop=least([extent.stop, stop]))
        if self.op in (prim.gt, prim.ge, prim.eq):
            start = self.at(Expr.max, -MOST_INDICES, self.op is prim.gt)
            extent = evolve(extent, start=greatest([extent.start, start]))
        return extent

    def at(self, kept: Callable[[Expr, Expr], Expr], most: int, beyond: bool) -> Expr:
        """The bound, or the index after it."""
        shift, base = self.shift + beyond, self.base
        if base is None:
            return lift(shift)
        if self.wraps:
            wrapped = base < -MOST_INDICES if most > 0 else base > MOST_INDICES
            base = call(prim.ifelse, wrapped, lift(most), base)
        return base if shift == 0 else kept(base, lift(most)) + shift


def _bound(cond: Call, index: Index, is_known: Callable[[Expr], bool]) -> _Bound | None:
    (own, _), (other, written) = sides = [(linear(arg), arg) for arg in cond.args]
    op = cond.op
    if not any(part == index for _, part in own):
        (other, written), (own, _) = sides
        op = _MIRRORED[op]
    sign = sum(factor for factor, part in own if part == index)
    moved = [(-factor, part) for factor, part in own if part != index]
    terms = [(sign * factor, part) for factor, part in (*moved, *other)]
    shift = _constant(terms)
    bases = [(factor, part) for factor, part in terms if not isinstance(part, Literal)]
    if abs(sign) != 1 or abs(shift) >= MOST_INDICES // 2 or len(bases) > 1:
        return None
    op = op if sign == 1 else _MIRRORED[op]
    if not bases:
        return _Bound(op, None, shift)
    factor, base = bases[0]
    if factor != 1 or base == index or not is_known(base) or concrete(base.dtype).kind != "i":
        return None
    if not is_unlimited(base):
        return _Bound(op, base, shift)
    if any(part == base for _, part in moved):
        return _Bound(op, base, shift, wraps=True)
    return _Bound(op, written, sign * _constant(moved)) if sign == 1 else None


def _constant(terms: list[tuple[int, Expr]]) -> int:
    return sum(factor * int(part.value) for factor, part in terms if isinstance(part, Literal))


_MIRRORED = {
    prim.lt: prim.gt, prim.gt: prim.lt, prim.le: prim.ge, prim.ge: prim.le, prim.eq: prim.eq,
    prim.ne: prim.ne,
}  # fmt: skip


__all__ = ["comparisons", "narrowed", "opposites"]
