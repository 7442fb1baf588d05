"""Write regions: the box of a tensor that each update writes, to find disjoint writes.

    for i in range(3): y[i] = a[i]              [0, 3)
    for i in range(n): y[i + 3] = b[i]          [3, n + 3)

Bounds are expressions that no loop changes.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from itertools import combinations

from finch_core.interface.tensorlike import BoundTensor
from finch_core.ir import primitives as prim
from finch_core.ir.expressions import Call, Cast, Expr, Index, Literal, Var
from finch_core.ir.program import Extent, Loop, Stmt, Update
from finch_core.symbolic.prover import split

Box = tuple[Extent | None, ...]
"""The range that an update writes in each dimension; None if it is not known."""

MOST = 32
"""The largest number of boxes of one tensor that are compared."""


def boxes_of(
    stmt: Stmt, tensors: Container[BoundTensor], changing: Container[Var]
) -> dict[BoundTensor, list[Box]]:
    """The boxes of each of ``tensors`` that ``stmt`` writes; the variables ``changing`` may
    change."""
    found: dict[BoundTensor, list[Box]] = {}
    _gather(stmt, {}, tensors, changing, found)
    return found


def are_apart(boxes: list[Box]) -> bool:
    """Whether the boxes are known to be pairwise disjoint."""
    return len(boxes) <= MOST and all(_apart(a, b) for a, b in combinations(boxes, 2))


def may_overlap(boxes: list[Box]) -> bool:
    """Whether boxes that are not known to be disjoint differ, as those of one range for each part
    of a result do."""
    pairs = combinations(boxes[:MOST], 2)
    return len(boxes) > 2 and all(_differ(a, b) for a, b in pairs if not _apart(a, b))


def _differ(a: Box, b: Box) -> bool:
    known = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
    return any(x.start != y.start and x.stop != y.stop for x, y in known)


def _gather(
    stmt: Stmt,
    loops: Mapping[Index, Extent | None],
    tensors: Container[BoundTensor],
    changing: Container[Var],
    found: dict[BoundTensor, list[Box]],
) -> None:
    if isinstance(stmt, Update):
        root = stmt.target.tensor.root
        if root is not None and root in tensors:
            found.setdefault(root, []).append(_box(stmt, root, loops, changing))
    if isinstance(stmt, Loop):
        loops = {**loops, stmt.index: stmt.extent}
    for body in stmt.bodies:
        _gather(body, loops, tensors, changing, found)


def _box(
    stmt: Update,
    root: BoundTensor,
    loops: Mapping[Index, Extent | None],
    changing: Container[Var],
) -> Box:
    tensor, whole = stmt.target.tensor, root.fiber
    if tensor.ndim != whole.ndim:
        return (None,) * whole.ndim
    box: list[Extent | None] = []
    for k, index in enumerate(stmt.target.indices):
        extent = loops.get(index) if isinstance(index, Index) else _single(index)
        shift = _shift(tensor.dims[k], whole.dims[k])
        known = extent is not None and all(_is_fixed(end, changing) for end in extent.children)
        if extent is None or shift is None or not known or tensor.level_of(k) != whole.level_of(k):
            box.append(None)
        else:
            box.append(Extent(extent.start + shift, extent.stop + shift))
    return tuple(box)


def _single(index: Expr) -> Extent:
    return Extent(index, index + 1)


def _shift(mine: Extent | None, whole: Extent | None) -> int | None:
    """The offset that a wrapper adds to an index; None if it does more, or is not known."""
    if mine is None or whole is None:
        return None
    (start, offset), (first, begin) = split(mine.start), split(whole.start)
    (stop, end), (last, finish) = split(mine.stop), split(whole.stop)
    if start != first or stop != last or finish - end != begin - offset:
        return None
    return begin - offset


def _is_fixed(expr: Expr, changing: Container[Var]) -> bool:
    """Whether an expression has the same value throughout the program."""
    if isinstance(expr, Var):
        return expr not in changing
    if isinstance(expr, (Call, Cast)):
        return all(_is_fixed(child, changing) for child in expr.children)
    return isinstance(expr, Literal)


def _apart(a: Box, b: Box) -> bool:
    return any(
        one is not None and other is not None and (_ends(one, other) or _ends(other, one))
        for one, other in zip(a, b, strict=True)
    )


def _ends(one: Extent, other: Extent) -> bool:
    """Whether one extent is known to end before the other begins."""
    return _at_most(one.stop, 0, other.start, 0)


def _at_most(one: Expr, more: int, other: Expr, most: int) -> bool:
    """Whether ``one + more`` is known to be at most ``other + most``."""
    (left, offset), (right, begin) = split(one), split(other)
    more, most = more + offset, most + begin
    if left == right:
        return more <= most
    if isinstance(left, Call) and left.op is prim.maximum_:
        return all(_at_most(arg, more, right, most) for arg in left.args)
    if isinstance(right, Call) and right.op is prim.maximum_:
        return any(_at_most(left, more, arg, most) for arg in right.args)
    if isinstance(left, Call) and left.op is prim.minimum_:
        return any(_at_most(arg, more, right, most) for arg in left.args)
    return False


__all__ = ["Box", "are_apart", "boxes_of", "may_overlap"]
