"""The structure of a result, from those of its operands: which level stores each dimension.

One rule for all formats, plugins' too. Each level declares its ``Structure``: pieces (points,
blocks, runs), whether there are gaps, whether there is one piece at most. An operator whose result
is the fill wherever one operand is (``*`` with a fill of 0) gives the intersection of what those
operands store; any other gives the union. A result is never stored densely in a dimension unless
an operand is, so it holds at most a constant times what the operands hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from finch_array.requests import Dtype
from finch_core.errors import FormatError
from finch_core.interface.abilities import Order
from finch_core.interface.level import Format
from finch_core.interface.plugins import hub
from finch_core.interface.structure import Pieces, Structure
from finch_core.ir import primitives as prim
from finch_core.ir.defined_operators import operator_from
from finch_core.ir.dtypes import BOOL, Type, concrete
from finch_core.ir.expressions import (
    FALSE,
    Access,
    Call,
    Cast,
    Expr,
    Literal,
    Name,
    Var,
    alike,
    cast,
)
from finch_core.ir.program import Stored
from finch_core.ir.rewrite import rewrite_expr
from finch_core.records import evolve, frozen
from finch_core.symbolic.outcomes import constant_call
from finch_core.symbolic.simplifier import Simplifier

DENSE = Structure(Pieces.BLOCKS, gaps=False)

LISTED = Structure(Pieces.POINTS)
"""Single elements, with gaps."""

CONSTANT = Structure(Pieces.RUNS, gaps=False, single=True)
"""The structure along a dimension that an array does not have: one run."""

Shapes = tuple[Structure, ...]
"""The structures of an expression along the loops, outermost first."""


@frozen(eq=False)
class Leaf:
    """An array in an expression: its fill, and its structures by the names of its indices.

    ``at_constants`` are those of the dimensions that are read at one index: of size 1, and sliced.
    """

    fill: Any
    dtype: np.dtype[Any]
    structures: Mapping[str, Structure]
    at_constants: Sequence[Structure] = ()

    @property
    def has_gaps(self) -> bool:
        """Whether there may be elements that are not stored."""
        return any(kind.gaps for kind in (*self.structures.values(), *self.at_constants))


@frozen(eq=False)
class Analysis:
    """The fill of an expression, its dtype, and its structures (None: it is the fill anywhere).

    ``nominal`` is the value on the operands' fills, also on those of arrays without gaps, which
    ``fill`` does not know. ``expr`` is the expression with ``as_number`` where a fill absorbs
    nothing.
    """

    fill: Expr
    dtype: Type
    shapes: Shapes | None
    nominal: Expr
    expr: Expr


_simplifier = Simplifier()


def simplified(expr: Expr) -> Expr:
    """An expression simplified by the rules by which kernels are."""
    return rewrite_expr(expr, _simplifier.expr_rule)


def constant(expr: Expr) -> Expr:
    """An expression of constants, evaluated; another one if it has anything else."""
    if isinstance(expr, Call) and all(isinstance(arg, Literal) for arg in expr.args):
        return _evaluated(expr)  # as most are: a walk takes longer
    return rewrite_expr(expr, _evaluated)


def _evaluated(expr: Expr) -> Expr:
    if isinstance(expr, Cast):
        return cast(expr.value, expr.type)
    found = constant_call(expr) if isinstance(expr, Call) else None
    return expr if found is None else found


def plain(expr: Expr) -> Expr:
    """A constant as a number, which absorbs nothing: ``0 * inf`` is NaN."""
    return evolve(expr, structural=False) if isinstance(expr, Literal) else expr


as_number = operator_from("as_number", plain)
"""The operand, whose fill absorbs nothing."""


def analyse(
    expr: Expr, leaves: Mapping[str, Leaf], numbers: Mapping[str, Type], loops: Sequence[str]
) -> Analysis:
    """The fill, dtype and structures of ``expr`` along ``loops``."""
    if isinstance(expr, Access):
        leaf = leaves[expr.tensor]
        shapes = tuple(leaf.structures.get(i, CONSTANT) for i in loops)
        known: Expr = Literal(leaf.fill, leaf.dtype, structural=True)
        fill = known if leaf.has_gaps else Var(expr.tensor, leaf.dtype)
        return Analysis(fill, leaf.dtype, shapes, plain(known), expr)
    if isinstance(expr, Stored):
        leaf = leaves[str(getattr(expr.access, "tensor", ""))]
        shapes = tuple(leaf.structures.get(i, CONSTANT) for i in loops)
        return Analysis(FALSE, BOOL, shapes, FALSE, expr)
    if isinstance(expr, Name):
        known = Var(expr.name, numbers[expr.name])
        return Analysis(known, numbers[expr.name], None, known, expr)
    if not expr.children:
        return Analysis(expr, expr.dtype, None, expr, expr)
    return _of_parts(expr, [analyse(child, leaves, numbers, loops) for child in expr.children])


def _of_parts(expr: Expr, parts: Sequence[Analysis]) -> Analysis:
    typed = expr.rebuild(tuple(Var(f"x{k}", part.dtype) for k, part in enumerate(parts)))
    fill = fill_of(expr.rebuild, [part.fill for part in parts])
    nominal = simplified(expr.rebuild(tuple(part.nominal for part in parts)))
    shapes = parts[0].shapes if isinstance(expr, Cast) else _combined(expr, parts, fill)
    exprs = [
        Call(as_number, (part.expr,)) if _absorbs_wrongly(expr, parts, k, fill) else part.expr
        for k, part in enumerate(parts)
    ]
    changed = any(new is not old for new, old in zip(exprs, expr.children, strict=True))
    return Analysis(
        fill, typed.dtype, shapes, nominal, expr.rebuild(tuple(exprs)) if changed else expr
    )


def settled(known: Analysis, dtype: Dtype) -> Analysis:
    """``known`` cast to a dtype (a function of its own, None: its own), with the value on all fills
    as its fill where every element is stored."""
    fill, expr, wanted = known.fill, known.expr, concrete(known.dtype)
    if dtype is not None:
        wanted = dtype if isinstance(dtype, np.dtype) else dtype(wanted)
    if not isinstance(fill, Literal) and isinstance(known.nominal, Literal) and is_full(known):
        fill = known.nominal
    if wanted != known.dtype:
        expr, fill = Cast(expr, wanted), simplified(Cast(fill, wanted))
    return evolve(known, fill=fill, expr=expr, dtype=wanted)


def is_full(known: Analysis) -> bool:
    """Whether every element is stored, or part of a run."""
    return known.shapes is not None and not any(kind.gaps for kind in known.shapes)


def fill_of(value: Callable[[tuple[Expr, ...]], Expr], fills: Sequence[Expr]) -> Expr:
    """The value on the fills of operands: what NumPy gives for these numbers.

    Where one of them is not known, a fill that absorbs it decides: ``0 * x`` is 0, ``0 / x`` too.
    """
    exact = simplified(value(tuple(map(plain, fills))))
    absorbed = simplified(value(tuple(fills)))
    if not isinstance(exact, Literal):
        return absorbed
    return absorbed if equal(exact, absorbed) else exact


def equal(one: Expr, other: Expr) -> bool:
    """Whether two constants are equal, or both NaN; the sign of a zero does not count."""
    if not (isinstance(one, Literal) and isinstance(other, Literal)):
        return False
    if alike(one.value, other.value):
        return True
    return bool(np.all(one.value == other.value))


def _absorbs_wrongly(expr: Expr, parts: Sequence[Analysis], k: int, fill: Expr) -> bool:
    """Whether the fill of operand ``k`` absorbs what the others store, and gives another value
    than ``fill``: ``0 / x`` is 0 for a fill of 0, though ``0 / 0`` is NaN."""
    known = parts[k].fill
    if parts[k].shapes is None or not isinstance(known, Literal) or not known.structural:
        return False
    found = _with_known(expr, parts, k)
    return isinstance(found, Literal) and not equal(found, fill)


def _with_known(expr: Expr, parts: Sequence[Analysis], k: int) -> Expr:
    """``expr`` simplified where operand ``k`` is its fill, and nothing is known of other arrays."""
    known = [
        part.fill if n == k or _is_constant(part) else Var(f"x{n}", part.dtype)
        for n, part in enumerate(parts)
    ]
    return simplified(expr.rebuild(tuple(known)))


def _combined(expr: Expr, parts: Sequence[Analysis], fill: Expr) -> Shapes | None:
    found = [(part, _annihilates(expr, parts, k, fill)) for k, part in enumerate(parts)]
    present = [(part.shapes, decides) for part, decides in found if part.shapes is not None]
    if not present:
        return None
    deciding = [shapes for shapes, decides in present if decides]
    everyone = [shapes for shapes, _ in present]
    return meet(deciding, everyone) if deciding else join(everyone)


def _annihilates(expr: Expr, parts: Sequence[Analysis], k: int, fill: Expr) -> bool:
    """Whether the result is its fill wherever operand ``k`` is its fill."""
    if parts[k].shapes is None or not isinstance(fill, Literal):
        return False
    return equal(_with_known(expr, parts, k), fill)


def _is_constant(part: Analysis) -> bool:
    return part.shapes is None and isinstance(part.fill, Literal)


# -- structures combined ----------------------------------------------------------------------


def meet(deciding: Sequence[Shapes], everyone: Sequence[Shapes]) -> Shapes:
    """What is stored where all of ``deciding`` are; ``everyone`` determines the values."""
    return tuple(map(_met, zip(*deciding, strict=True), zip(*everyone, strict=True)))


def _met(deciding: tuple[Structure, ...], everyone: tuple[Structure, ...]) -> Structure:
    pieces = min(s.pieces for s in deciding)
    if any(s.pieces is Pieces.BLOCKS for s in everyone):
        pieces = min(pieces, Pieces.BLOCKS)
    gaps = any(s.gaps for s in deciding)
    single = [s for s in deciding if s.single and s.gaps]
    if pieces is Pieces.POINTS:  # of one block or run there may be many points
        single = [s for s in single if s.pieces is pieces]
    whole = pieces is not Pieces.RUNS or all(s.single for s in everyone)
    return Structure(pieces, gaps, bool(single) and whole, any(s.pads for s in single))


def join(everyone: Sequence[Shapes]) -> Shapes:
    """What is stored where any operand is."""
    if len(everyone) == 1:
        return everyone[0]
    result: list[Structure] = []
    above = [True] * len(everyone)
    for column in zip(*everyone, strict=True):
        result.append(_joined(column, above))
        above = [a and not s.gaps for a, s in zip(above, column, strict=True)]
    return tuple(result)


def _joined(column: Sequence[Structure], above: Sequence[bool]) -> Structure:
    """``above`` says which operands have a fiber wherever the result has one."""
    full = [s for s, whole in zip(column, above, strict=True) if whole and not s.gaps]
    if full or not any(s.gaps for s in column):
        kinds = {s.pieces for s in full or column}
        return Structure(Pieces.BLOCKS if Pieces.BLOCKS in kinds else Pieces.RUNS, gaps=False)
    bands = all(s.single and s.pads for s in column)
    return Structure(max(s.pieces for s in column), True, bands, bands)


def side_by_side(parts: Sequence[Shapes], place: int) -> Shapes:
    """What arrays store that lie one after another along dimension ``place`` of the result."""
    if len(parts) == 1:
        return parts[0]
    result: list[Structure] = []
    for k, column in enumerate(zip(*parts, strict=True)):
        pads = any(s.pads for s in column)
        whole = k > place or all(s.pads for s in column)  # beyond, each fiber is of one array
        alike = len({s.pieces for s in column}) == 1
        single = k != place and whole and alike and all(s.single for s in column)
        gaps = any(s.gaps for s in column)
        result.append(Structure(max(s.pieces for s in column), gaps, single, single and pads))
    return tuple(result)


def in_another_fill(shapes: Shapes) -> Shapes:
    """What an array stores in a format with another fill than its own: gaps are runs."""
    run = Structure(Pieces.RUNS, gaps=False)
    return tuple(run if kind.gaps else kind for kind in shapes)


def reduced(shapes: Shapes, loops: Sequence[str], kept: Sequence[str]) -> dict[str, Structure]:
    """The structures of the kept dimensions once the others are reduced."""
    found = {}
    outer = False
    for name, shape in zip(loops, shapes, strict=True):
        if name in kept:
            found[name] = evolve(shape, single=False, pads=False) if outer else shape
        else:
            outer = True
    return found


# -- levels -----------------------------------------------------------------------------------


def nested(
    wanted: Sequence[Structure], offered: Sequence[Iterable[Format]], leaf: Format
) -> Format:
    """A format with these structures, outermost first; ``offered`` are the operands' levels."""
    format = leaf
    for structure, levels in zip(reversed(wanted), reversed(offered), strict=True):
        format = level_for(structure, levels, format)
    return format


def level_for(structure: Structure, offered: Iterable[Format], below: Format) -> Format:
    """A level with this structure that is written in order: like an operand's if one fits."""
    wanted = _essence(structure)
    if not structure.gaps:
        wanted = (max(structure.pieces, Pieces.BLOCKS), False, False)
    for level in offered:
        if _essence(level.structure) == wanted and _is_written_in_order(level):
            made = _over(lambda lvl, level=level: evolve(level, lvl=lvl), below)
            if made is not None:
                return made
    if wanted == (Pieces.POINTS, True, False):
        listed: Format = hub().layout("compressed")(below)
        return listed
    for kind in hub().levels.values():
        if not kind.is_leaf and _essence(kind.structure) == wanted and _is_written_in_order(kind):
            made = _over(kind, below)
            if made is not None:
                return made
    return level_for(Structure(), (), below)


def _over(make: Callable[..., Any], below: Format) -> Format | None:
    """A level over this one; None if it takes others below it alone, as one of leaves."""
    try:
        made: Format = make(below)
    except FormatError:
        return None
    return made


def _essence(structure: Structure) -> tuple[Pieces, bool, bool]:
    return structure.pieces, structure.gaps, structure.single


def _is_written_in_order(level: Any) -> bool:
    """Whether a level is made to be written in order, by itself. One with gaps that takes writes
    in any order (a hash table) keeps more than a result needs that is written in order; one with a
    limit may not hold a result, unless the limit is one piece, which structures tell."""
    kind: Structure = level.structure
    ordered = level.order is Order.ONCE or not kind.gaps
    return ordered and not kind.joined and (kind.single or level.limit is None)


def forgets(levels: Sequence[Any]) -> bool:
    """Whether a format, of these levels above its leaf, cannot tell what equals its fill from what
    is not stored: the innermost level pads, or has room for one piece, for which it takes nothing
    that equals the fill; or another merges neighbours that are equal."""
    *outer, innermost, _leaf = levels
    alone = innermost.pads or innermost.structure.single
    return alone or any(level.structure.pieces is Pieces.RUNS for level in outer)


def where_stored(exprs: Sequence[Expr], value: Expr, none: Any) -> Expr:
    """``value`` where any of the arrays among ``exprs`` stores an element, else ``none``."""
    there: list[Expr] = [Stored(x) for x in exprs if isinstance(x, Access)]
    anywhere = reduce(lambda a, b: Call(prim.or_, (a, b)), there[1:], there[0])
    return Call(prim.ifelse, (anywhere, value, Literal(none, none.dtype)))


def dense_levels(ndim: int, leaf: Format) -> Format:
    """A dense format of ``ndim`` dimensions."""
    format = leaf
    for _ in range(ndim):
        format = hub().layout("dense")(format)
    return format


def leaf_for(fill: Any, dtype: Any) -> Format:
    """The leaf with this fill and dtype."""
    found: Format = hub().layout("values")(fill, dtype)
    return found


def call_of(op: Any, *args: Expr) -> Expr:
    """``op`` applied to expressions whose types are not known yet."""
    return Call(op, args)
