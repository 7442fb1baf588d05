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
from finch_core.ir.expressions import Call, Expr, Index, Literal, lift
from finch_core.ir.program import Extent
from finch_core.lower.dimensions import greatest, least
from finch_core.records import evolve, frozen
from finch_core.symbolic.affine import linear


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
    """``index <op> base + shift``."""

    op: object
    base: Expr | None
    shift: int

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
        shift = self.shift + beyond
        if self.base is None:
            return lift(shift)
        return self.base if shift == 0 else kept(self.base, lift(most)) + shift


def _bound(cond: Call, index: Index, is_known: Callable[[Expr], bool]) -> _Bound | None:
    first, second = cond.args
    terms = [*linear(first), *((-factor, part) for factor, part in linear(second))]
    sign = sum(factor for factor, part in terms if part == index)
    rest = [(-sign * factor, part) for factor, part in terms if part != index]
    shift = sum(factor * int(part.value) for factor, part in rest if isinstance(part, Literal))
    bases = [(factor, part) for factor, part in rest if not isinstance(part, Literal)]
    if abs(sign) != 1 or abs(shift) >= MOST_INDICES // 2 or len(bases) > 1:
        return None
    if any(factor != 1 or not is_known(base) for factor, base in bases):
        return None
    if any(concrete(base.dtype).kind != "i" for _, base in bases):
        return None
    op = cond.op if sign == 1 else _MIRRORED[cond.op]
    return _Bound(op, bases[0][1] if bases else None, shift)


_MIRRORED = {
    prim.lt: prim.gt, prim.gt: prim.lt, prim.le: prim.ge, prim.ge: prim.le, prim.eq: prim.eq,
    prim.ne: prim.ne,
}  # fmt: skip


__all__ = ["comparisons", "narrowed", "opposites"]
