"""Equal patterns: where a tensor that is updated in place and one that is read store the same
indices, one walk serves both.

    for i, j in _:                                    if the patterns of C and S are equal:
        if stored(C)[i, j]:                               for i, j in _:
            in_place(C)[i, j] = S[i, j] * t    ->             if stored(C)[i, j]:
                                                                  ... beside(C, S)[i, j] * t
                                                      else:
                                                          ...as before, by a merge

Levels that are ``alike`` number their subfibers in the same way, so that what is stored at a
position of C is beside what is stored at that position of S. They are compared before the loop,
where that costs little: the loop is over all of C.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from typing import TYPE_CHECKING

from finch_core.interface.plugin_calls import likeness_of
from finch_core.interface.tensorlike import ONE, ZERO, BoundLevel, BoundTensor, Fiber
from finch_core.interface.views import Beside, InPlace, StoredView, View
from finch_core.ir.expressions import TRUE, Access, Expr, Index
from finch_core.ir.program import (
    Declare,
    Define,
    Extent,
    Freeze,
    Loop,
    Sequential,
    Stmt,
    Swap,
    Thaw,
    Update,
    leaves,
)
from finch_core.ir.rewrite import rewrite
from finch_core.lower.pass_state import Unit, reads_of
from finch_core.records import frozen

if TYPE_CHECKING:
    from finch_core.interface.context import Context


@frozen
class Pair:
    """A tensor whose pattern is walked along ``indices``, and one that is read beside it."""

    kept: BoundTensor
    other: BoundTensor
    indices: tuple[Expr, ...]


def equal_patterns(stmt: Stmt, unit: Unit) -> Stmt:
    """Find the loops before which patterns are compared (``Unit.pairs``); ``stmt`` is unchanged."""
    if "equal_patterns" not in unit.disabled and any(True for _view in _views(stmt)):
        levels = (level for tensor in unit.tensors.values() for level in tensor.level.levels())
        _find(stmt, unit, frozenset(level.shape for level in levels))
    return stmt


def _views(stmt: Stmt) -> Iterator[Access]:
    """The accesses of patterns that are walked and kept."""
    for part in stmt.walk():
        for expr in part.exprs:
            for node in expr.walk():
                if isinstance(node, Access) and isinstance(node.tensor, (InPlace, StoredView)):
                    yield node


def _find(stmt: Stmt, unit: Unit, dimensions: frozenset[Expr]) -> None:
    pairs = _pairs(stmt, dimensions) if isinstance(stmt, Loop) else ()
    if pairs and isinstance(stmt, Loop):
        unit.pairs[stmt.index] = pairs
        return
    for body in stmt.bodies:
        _find(body, unit, dimensions)


def _pairs(loop: Loop, dimensions: frozenset[Expr]) -> tuple[Pair, ...]:
    """The tensors that are read beside the first of those whose pattern the loop walks whole."""
    if loop.parallel or loop.step is not None or leaves(loop.body):
        return ()
    around = {index for index, extent in _loops(loop) if _is_whole(extent, dimensions)}
    for view in _views(loop):
        assert isinstance(view.tensor, View)
        inner = view.tensor.inner
        if isinstance(inner, Fiber) and around.issuperset(view.indices):
            kept, first = inner.tensor, view.indices[:1]
            apart = len(set(view.indices)) == inner.ndim
            if kept is not None and first == (loop.index,) and apart and kept not in _changed(loop):
                return tuple(dict.fromkeys(_beside(loop, kept, view.indices)))
    return ()


def _loops(stmt: Stmt) -> Iterator[tuple[Index, Extent]]:
    """The loops that each execution of ``stmt`` executes."""
    if isinstance(stmt, Loop) and stmt.extent is not None and stmt.step is None:
        yield stmt.index, stmt.extent
    if isinstance(stmt, (Loop, Sequential, Define)):
        for body in stmt.bodies:
            yield from _loops(body)


def _is_whole(extent: Extent, dimensions: frozenset[Expr]) -> bool:
    """Whether an extent is that of a tensor: what the loop takes is more than a comparison."""
    return extent.start == ZERO and extent.stop in dimensions


def _changed(loop: Loop) -> set[BoundTensor | None]:
    """The tensors whose structure a loop may change."""
    found: set[BoundTensor | None] = set()
    for part in loop.walk():
        if isinstance(part, (Declare, Freeze, Thaw)):
            found.add(part.tensor)
        elif isinstance(part, Swap):
            found |= {part.first, part.second}
        elif isinstance(part, Update) and not isinstance(part.target.tensor, InPlace):
            found.add(part.target.tensor.root)
    return found


def _beside(loop: Loop, kept: BoundTensor, indices: tuple[Expr, ...]) -> Iterator[Pair]:
    """What is read at the ``indices`` of a pattern, and may have the same."""
    changed, depth = _changed(loop), len(indices)
    for part in loop.walk():
        for expr in reads_of(part):
            for node in expr.walk():
                if not isinstance(node, Access) or not isinstance(node.tensor, Fiber):
                    continue
                other = node.tensor.tensor
                if other is None or other is kept or other in changed:
                    continue
                if node.indices[:depth] == indices and _comparable(kept, other, depth):
                    yield Pair(kept, other, indices)


def _comparable(kept: BoundTensor, other: BoundTensor, depth: int) -> bool:
    """Whether the outer levels of two tensors are of the same formats."""
    levels = zip(kept.level.levels(), other.level.levels(), strict=False)
    outer = [(one.format, two.format) for one, two in levels][:depth]
    same = all(type(one) is type(two) and one.fields == two.fields for one, two in outer)
    return same and any(one.fields for one, _two in outer)


def lower_pairs(ctx: Context, loop: Loop, lower: Callable[[Loop], None]) -> bool:
    """Emit a loop once for equal patterns and once for others, if there are pairs whose patterns
    can be compared; whether that is so."""
    pairs = ctx.pairs.get(loop.index, ())
    found = {pair: cond for pair in pairs if (cond := _are_equal(ctx, pair)) is not None}
    if not found:
        return False
    before = ctx.pairs
    ctx.pairs = {index: those for index, those in before.items() if index != loop.index}
    equal = reduce(lambda one, other: one.and_(other), found.values())
    ctx.fork(equal, lambda: lower(_with_one_walk(loop, found)), lambda: lower(loop))
    ctx.pairs = before
    return True


def _are_equal(ctx: Context, pair: Pair) -> Expr | None:
    """Whether the patterns of a pair are equal; None if that is not known."""
    count: Expr | None = ONE
    equal: Expr = TRUE
    for one, two in _outer(pair):
        if count is None:
            return None
        found = likeness_of(one.format, ctx, one, two, count)
        if found is None:
            return None
        cond, count = found
        equal = equal.and_(ctx.prover.decide(one.shape.eq(two.shape))).and_(cond)
    return equal


def _outer(pair: Pair) -> list[tuple[BoundLevel, BoundLevel]]:
    levels = zip(pair.kept.level.levels(), pair.other.level.levels(), strict=False)
    return list(levels)[: len(pair.indices)]


def _with_one_walk(loop: Loop, found: Iterable[Pair]) -> Loop:
    """``loop``, in which the others of pairs are read beside what is kept."""
    pairs = {pair.other: pair for pair in found}

    def rule(node: Expr) -> Expr:
        if not isinstance(node, Access) or not isinstance(node.tensor, Fiber):
            return node
        pair = pairs.get(node.tensor.tensor)  # type: ignore[arg-type]
        if pair is None or node.indices[: len(pair.indices)] != pair.indices:
            return node
        beside = Beside(pair.kept.fiber, pair.other, len(pair.indices))
        return Access(beside, node.indices, node.span)

    changed = rewrite(loop, rule, lambda target: target)
    assert isinstance(changed, Loop)
    return changed


__all__ = ["Pair", "equal_patterns", "lower_pairs"]
