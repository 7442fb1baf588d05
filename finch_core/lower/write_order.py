"""Write order check: the loops around each write must visit a level in the order it requires.

    C[...] = 0                            C[...] = 0
    for i, j in _:                        for i in range(A_n0):
        C[i, j] = A[i, j]         ->          for j in range(A_n1):
                                                  C[i, j] = A[i, j]

    C[...] = 0
    for j, i in _:                ->      refused, where C is Dense(SparseList(...)): the loops
        C[i, j] = A[i, j]                 around this write must begin with i, j

A level of order *once* requires that each fiber is visited once, in order: between the
declaration and the loop of its index, the loops are those of the access's own indices, in
order, and no others but loops of at most one turn, such as those in which single elements are
looked up. Each fiber is written by one loop, or by several in sequence if the level can resume.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NoReturn

from finch_core.errors import FormatError, Span, quote
from finch_core.interface.abilities import Order
from finch_core.interface.tensorlike import BoundTensor, Fiber
from finch_core.ir import primitives as prim
from finch_core.ir.expressions import Call, Cast, Expr, Index, Literal, Var
from finch_core.ir.program import Declare, Extent, Loop, Sequential, Stmt, Thaw, Update, While
from finch_core.ir.program_text import expression_text
from finch_core.lower.pass_state import Unit
from finch_core.lower.strides import is_positive
from finch_core.records import frozen
from finch_core.symbolic.affine import linear
from finch_core.symbolic.prover import Prover, is_unit


@frozen
class _Write:
    update: Update
    loops: tuple[Loop | While, ...]
    """The loops between the tensor's declaration (or thaw) and the update, outermost first."""


def write_order(stmt: Stmt, unit: Unit) -> Stmt:
    """Check the write order of every update; returns ``stmt`` unchanged.

    Raises ``FormatError`` for a write that its format cannot take in this order.
    """
    phases: dict[tuple[BoundTensor, int], list[_Write]] = {}
    _gather(stmt, (), {}, phases, [0])
    for (tensor, _), writes in phases.items():
        for write in writes:
            _check(tensor, write, unit)
            _check_taken_back(tensor, write.update)
        _check_single(tensor, writes, unit)
    return stmt


def _gather(
    stmt: Stmt,
    loops: tuple[Loop | While, ...],
    starts: dict[BoundTensor, tuple[int, int]],
    phases: dict[tuple[BoundTensor, int], list[_Write]],
    counter: list[int],
) -> None:
    """Collect the writes of each phase of updates; ``starts`` has the depth where each phase
    began."""
    if isinstance(stmt, (Declare, Thaw)):
        counter[0] += 1
        starts[stmt.tensor] = (len(loops), counter[0])
    if isinstance(stmt, Update):
        tensor = stmt.target.tensor.root
        if tensor is not None and tensor in starts:
            depth, phase = starts[tensor]
            phases.setdefault((tensor, phase), []).append(_Write(stmt, loops[depth:]))
    inner = (*loops, stmt) if isinstance(stmt, (Loop, While)) else loops
    for body in stmt.bodies:
        scope = starts if isinstance(stmt, Sequential) else dict(starts)
        _gather(body, inner, scope, phases, counter)


def _check_taken_back(tensor: BoundTensor, update: Update) -> None:
    """Refuse an overwrite of a leaf that cannot hold the fill: an entry, once stored, cannot be
    removed."""
    levels = tensor.format.levels()
    if levels[-1].holds_fill or update.op is not None or update.fresh:
        return
    if isinstance(update.value, Literal) and bool(update.value.value):
        return
    if any(level.order is Order.ANY and not level.stores_fill for level in levels[:-1]):
        raise FormatError(
            f"{tensor} cannot be overwritten here: a {levels[-1].name} keeps what it has stored",
            span=update.target.span or update.span,
            hint="accumulate with |=, declare the tensor first and write each index once, or use "
            "an Element(False) leaf",
        )


def _sequential_depth(tensor: BoundTensor) -> int:
    """The number of leading indices that must come in order: up to the last level of order
    *once*."""
    levels = [level for level in tensor.format.levels() if not level.is_leaf]
    return max((k + 1 for k, level in enumerate(levels) if level.order is Order.ONCE), default=0)


def _leading(write: _Write, depth: int) -> tuple[Loop | While, ...]:
    """The first ``depth`` loops around a write that may repeat it: those of its own indices, and
    others that may have several turns."""
    own, loops = write.update.target.indices, write.loops
    if tuple(map(_index, loops[:depth])) != own[:depth]:
        loops = tuple(loop for loop in loops if _index(loop) in own or not _has_one_turn(loop))
    return loops[:depth]


def _has_one_turn(loop: Loop | While) -> bool:
    """Whether a loop is known to have at most one turn."""
    extent = _extent(loop)
    return extent is not None and Prover().le(extent.stop, extent.start + 1)


def _check(tensor: BoundTensor, write: _Write, unit: Unit) -> None:
    depth = _sequential_depth(tensor)
    wanted = write.update.target.indices[:depth]
    leading = _leading(write, depth)
    span = write.update.target.span or write.update.span
    if wanted != tuple(map(_index, leading)):
        order = _step_hint(tensor, wanted, write.loops, unit)
        order = order or _in_order(_written_as(wanted, write.loops, unit))
        _refuse(tensor, depth, span, order, unit)
    down = [loop.index for loop in leading if _goes_down(loop)]  # type: ignore[union-attr]
    if down:
        order = f"loop over {unit.name_of(down[0])} upwards, by a constant step"
        _refuse(tensor, depth, span, order, unit)


def _index(loop: Loop | While) -> Index | None:
    return loop.index if isinstance(loop, Loop) else None


def _goes_down(loop: Loop | While) -> bool:
    """Whether the indices of a loop are not known to increase."""
    step = loop.step if isinstance(loop, Loop) else None
    return step is not None and not is_positive(step)


def _extent(loop: Loop | While) -> Extent | None:
    return loop.extent if isinstance(loop, Loop) else None


def _written_as(
    indices: tuple[Expr, ...], loops: tuple[Loop | While, ...], unit: Unit
) -> tuple[str, ...]:
    """The program's names of the indices; empty if one of them is computed."""
    names = []
    for index in _computed(indices, loops):
        if not isinstance(index, Index):
            return ()
        names.append(unit.name_of(index))
    return tuple(names)


def _computed(indices: tuple[Expr, ...], loops: tuple[Loop | While, ...]) -> Iterator[Expr]:
    """What the program wrote for indices: loops of one turn stand for those that are computed."""
    counted = (loop for loop in loops if isinstance(loop, Loop))
    units = {loop.index: loop.extent for loop in counted if loop.extent is not None}
    units = {index: extent for index, extent in units.items() if is_unit(extent)}
    for index in indices:
        while index in units:
            index = units[index].start
        yield index


def _step_hint(
    tensor: BoundTensor, indices: tuple[Expr, ...], loops: tuple[Loop | While, ...], unit: Unit
) -> str:
    """The remedy where an index is a multiple of a loop's, as in ``y[2 * i]``; empty where none
    is."""
    as_range = "let the range have the step, as in for {0} in range(0, n, {1}): {2}[{0}] = ..."
    for index in _computed(indices, loops):
        plain = index.value if isinstance(index, Cast) else index
        for factor, part in linear(plain):
            if isinstance(part, Index) and factor > 1:
                return as_range.format(unit.name_of(part), factor, tensor)
            if isinstance(part, Call) and part.op is prim.mul:
                by = [arg for arg in part.args if not isinstance(arg, Index)]
                if len(by) != 1:
                    continue
                name = unit.name_of(next(arg for arg in part.args if isinstance(arg, Index)))
                step = f"the factor of {name}"
                if all(n in unit.scalars.values() for n in by[0].walk() if isinstance(n, Var)):
                    step = expression_text(by[0])
                written = as_range.format(name, 2, tensor)
                return f"{step} is known only at run time: write a number, and {written}"
    return ""


def _check_single(tensor: BoundTensor, writes: list[_Write], unit: Unit) -> None:
    """Check that one loop nest writes each fiber of a sequential level, or several in order.

    The order is known here, or else checked at run time; the levels must be able to resume.
    """
    depth = _sequential_depth(tensor)
    if depth == 0 or len(writes) < 2:
        return
    nests: dict[tuple[int, ...], _Write] = {}
    for write in writes:
        nests.setdefault(tuple(id(loop) for loop in _leading(write, depth)), write)
    if len(nests) < 2:
        return
    levels = [lvl for lvl in tensor.level.levels() if lvl.format.order is Order.ONCE]
    resumes = all(lvl.format.resumes for lvl in levels)
    for before, late in pairwise(nests.values()):
        if not resumes or _comes_before(late, before, depth):
            span = late.update.target.span or late.update.span
            _refuse(tensor, depth, span, _in_order(()), unit)
    for lvl in levels:
        lvl.resumed = True


def _comes_before(late: _Write, before: _Write, depth: int) -> bool:
    """Whether the write ``late`` is known to begin before the earlier write has ended."""
    if not all(isinstance(write.update.target.tensor, Fiber) for write in (late, before)):
        return False  # a wrapper may shift it
    for one, other in zip(_leading(late, depth), _leading(before, depth), strict=True):
        first, second = _extent(one), _extent(other)
        if one is other:
            continue
        if first is None or second is None:
            return False
        if first.start == second.start:
            if not is_unit(second):
                return True
            if not is_unit(first):
                return False
            continue
        starts = (first.start, second.start)
        known = all(isinstance(start, Literal) for start in starts)
        return known and bool(first.start.value < second.start.value)  # type: ignore[attr-defined]
    return False


def _in_order(names: tuple[str, ...]) -> str:
    """The remedy for loops in another order than that of the indices ``names``."""
    if names:
        return f"the loops around this write must begin with {', '.join(names)}, in that order"
    return "one nest of loops must write all of it, in the order of its indices"


def _refuse(tensor: BoundTensor, depth: int, span: Span | None, order: str, unit: Unit) -> NoReturn:
    level = [lvl for lvl in tensor.format.levels() if not lvl.is_leaf][depth - 1]
    free = [n for n, f in sorted(unit.hub.levels.items()) if not f.is_leaf and f.order is Order.ANY]
    raise FormatError(
        f"{tensor} cannot be written here: its {level.name} level takes each fiber once, in order",
        span=span,
        hint=f"{order}; {quote(free)} can be written in any order" if free else order,
    )
