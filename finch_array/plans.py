"""Plans: a request on operands of given formats, with its loop order, result format and kernel."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from finch_array import orders, programs, structures
from finch_array.final_fills import Refill, final_fill, start_of
from finch_array.leaves import dense_fill
from finch_array.operands import (
    NUMBERS,
    Stored,
    entries,
    fanouts,
    gives_extents,
    is_dense,
    kinds_of,
    levels_of,
    stored,
)
from finch_array.pointwise import Fold, Pointwise, pointwise_of
from finch_array.ready import LARGE, Ready, Room, blank_of
from finch_array.requests import Request
from finch_core.errors import DimensionMismatch
from finch_core.interface.level import Format
from finch_core.interface.structure import Pieces, Structure
from finch_core.ir.dtypes import BOOL, Type, concrete, type_of
from finch_core.ir.expressions import FALSE, Access, Expr, Literal, Modified, Name, Var, alike
from finch_core.ir.program import Program
from finch_core.ir.program import Stored as IsStored
from finch_core.ir.rewrite import rewrite_expr
from finch_core.records import define, evolve, field, frozen
from finch_core.runtime.kernel import Kernel
from finch_core.runtime.options import ALONG_DATA, LINEAR, Options
from finch_core.runtime.tensor import Tensor

SHARED = 1 << 20
"""So many turns of all loops, by the shapes alone, that loops run on several cores: results then do
not depend on the number of threads, nor on what came before. A parallel loop with little work costs
what the plain one does."""

DENSE_RATIO, DENSE_LEAST = 4, 4096
"""A reduction that is not written in order has a dense result of up to ``DENSE_RATIO`` times the
entries of the operands plus ``DENSE_LEAST`` elements, otherwise a sparse one."""


def is_room_for(cells: int, there: int) -> bool:
    """Whether a result of so many elements that is not written in order is dense, where operands
    store so many."""
    return cells <= DENSE_RATIO * there + DENSE_LEAST


@define(eq=False)
class Plan:
    """How a request is run: what is copied first, or the kernel and the format of its result.

    ``shared`` is the kernel for shapes of ``SHARED`` turns or more, or where the request says so,
    with parallel loops; None where the compiler refuses these, or the outermost runs over runs.
    ``compiled`` has what has run of both: neither depends on the shapes. ``pointwise`` computes few
    elements without a kernel, until there is one; ``elementwise`` is the same, for good, of a
    request that reduces nothing."""

    request: Request
    order: orders.Order
    copies: Mapping[int, tuple[int, ...]]
    kernel: Any = None
    shared: Any = None
    format: Any = None
    back: tuple[int, ...] | None = None
    extended: tuple[str, ...] = ()
    refill: Any = None
    varies: Any = None
    pointwise: Pointwise | None = None
    elementwise: Pointwise | None = None
    watched: bool = False
    stored: tuple[str, ...] = ()
    plain: bool = False
    collects: bool = False
    blank: Any = None
    compiled: dict[Any, Any] = field(factory=dict)
    rooms: dict[Any, Room | None] = field(factory=dict)

    def ready(self, sizes: Mapping[str, int], size: Any, turns: int | None = None) -> Ready:
        """This plan for operands of known sizes, and so many turns of all loops (None: by the
        sizes); those of one magnitude, ``size``, have results in about as much memory."""
        shape = tuple([sizes[name] for name in self.stored])
        cells = math.prod(shape)
        kernel = self.kernel
        if self.shared is not None:
            several = self.request.shared
            if several is None:
                several = (math.prod(sizes.values()) if turns is None else turns) >= SHARED
            kernel = self.shared if several else kernel
        try:
            room = self.rooms[size]
        except KeyError:
            room = self.rooms[size] = Room.of(self.format)
        return Ready(
            self, sizes, kernel, shape, cells, self.blank(shape),
            None if self.plain else tuple([sizes[name] for name in self.extended]),
            None if self.refill is None else self.refill(sizes), self.back,
            self.watched and cells > LARGE, room, self.compiled.get(kernel),
        )  # fmt: skip


def sizes_of(
    request: Request,
    operands: Sequence[Any],
    given: dict[str, int] | None = None,
    shapes: Sequence[tuple[int, ...]] | None = None,
) -> dict[str, int]:
    """The size of each index; ``shapes`` are those of the operands, if they are known. Raises
    ``DimensionMismatch`` where operands disagree."""
    sizes = {**request.sizes, **given} if given else {**request.sizes}
    fixed, settled = request.fixed, True
    if shapes is None:
        shapes = shapes_of(operands)
    for names, shape in zip(request.inputs, shapes, strict=True):
        if names:
            for name, n in zip(names, shape, strict=True):
                known = sizes.get(name)
                if n is None or (n != known and name in fixed):
                    settled = False
                    continue
                if n == known:  # as most are
                    continue
                if known is None:
                    sizes[name] = n
                    continue
                exact = name in request.exact
                if known == 1 and not exact:
                    sizes[name] = n
                elif exact or n not in (1, known):
                    told = ", ".join(str(a.shape) for a in operands if not isinstance(a, NUMBERS))
                    raise DimensionMismatch(
                        f"{request.name} of arrays of shapes {told}: {known} and {n} do not agree"
                    )
    for names in () if settled else request.inputs:
        for name in names:
            if name not in sizes and name not in fixed:
                raise DimensionMismatch(
                    f"nothing gives the shape of the result of {request.name}: a mask has none",
                    hint="combine it with an array, or make one of it: mask.to_numpy(shape)",
                )
    return sizes


def shapes_of(operands: Sequence[Any]) -> list[tuple[int, ...]]:
    """The shapes of operands; that of a number is ()."""
    return [
        x.shape if x.__class__ is Tensor or not isinstance(x, NUMBERS) else () for x in operands
    ]


# -- making a plan ----------------------------------------------------------------------------


@frozen(eq=False)
class _Operands:
    """The operands as a program sees them."""

    sources: tuple[Stored | None, ...]
    indices: tuple[tuple[str | None, ...], ...]
    exprs: tuple[Expr, ...]
    leaves: Mapping[str, structures.Leaf]
    numbers: Mapping[str, Type]


@frozen(eq=False)
class Schedule:
    """A request on operands: its value and the order of its loops, without a kernel."""

    request: Request
    seen: _Operands
    value: Expr
    known: structures.Analysis
    dtype: np.dtype[Any]
    order: orders.Order

    @property
    def key(self) -> Any:
        """What plans of a request on operands of the same signatures differ by."""
        return self.order.loops, self.order.copied, self.order.leading, self.order.last


def schedule(
    request: Request, operands: Sequence[Any], sizes: Mapping[str, int], dense: bool = False
) -> Schedule:
    """The value of a request, and the order of loops for operands of about these sizes;
    ``dense``: see ``make``."""
    seen = _seen(request, operands, sizes)
    known = _analysed(request, seen, sizes)
    value, dtype = known.expr, concrete(known.dtype)
    order = _ordered(request, operands, sizes, seen, value, known, dtype, dense)
    return Schedule(request, seen, value, known, dtype, order)


def analysed(
    request: Request, operands: Sequence[Any], sizes: Mapping[str, int]
) -> structures.Analysis:
    """The fill, dtype and structures of the values of a request on operands."""
    return _analysed(request, _seen(request, operands, sizes), sizes)


def reads_gaps_at_constants(
    request: Request, operands: Sequence[Any], sizes: Mapping[str, int]
) -> bool:
    """Whether a level with gaps is read at one index, that of a dimension of size 1 that stands for
    a longer one, or within a loop over a dimension that is not in the result. Nothing may be stored
    there, whatever the structure of the result, and yet an element of it is written: turns of such
    a loop write it again."""
    leaves = _seen(request, operands, sizes).leaves.values()
    drops = any(name not in request.out for leaf in leaves for name in leaf.structures)
    kinds = [kind for leaf in leaves for kind in leaf.at_constants]
    if drops:
        kinds += [kind for leaf in leaves for kind in leaf.structures.values()]
    return any(kind.gaps for kind in kinds)


def _analysed(request: Request, seen: _Operands, sizes: Mapping[str, int]) -> structures.Analysis:
    value = request.valued(seen.exprs)
    found = structures.analyse(value, seen.leaves, seen.numbers, tuple(sizes))
    return structures.settled(found, request.dtype)


def make(
    schedule: Schedule, operands: Sequence[Any], sizes: Mapping[str, int], dense: bool
) -> Plan:
    """A plan for operands like these; ``dense``: the result may be dense (see ``DENSE_RATIO``)."""
    order = schedule.order
    turned = {k for k in order.copied if is_dense(operands[k])}
    copies = {
        k: _permutation(schedule.seen.indices[k], order.loops, order.last if k in turned else None)
        for k in order.copied
    }
    plan = Plan(schedule.request, order, copies)
    if not copies:
        _complete(plan, schedule, operands, sizes, dense)
    return plan


def _seen(request: Request, operands: Sequence[Any], sizes: Mapping[str, int]) -> _Operands:
    sources: list[Stored | None] = []
    indices: list[tuple[str | None, ...]] = []
    exprs: list[Expr] = []
    leaves: dict[str, structures.Leaf] = {}
    numbers: dict[str, Type] = {}
    for k, (names, array) in enumerate(zip(request.inputs, operands, strict=True)):
        if isinstance(array, NUMBERS):
            numbers[f"s{k}"] = type_of(array)
            sources.append(None)
            indices.append(())
            exprs.append(Name(f"s{k}"))
            continue
        found = stored(array)
        own = tuple(
            None
            if names[axis] in request.fixed or array.shape[axis] == 1 != sizes[names[axis]]
            else names[axis]
            for axis in found.axes
        )
        kinds = kinds_of(array)
        axes = list(zip(own, found.axes, strict=True))
        per_index = {name: kinds[axis] for name, axis in axes if name is not None}
        fixed = [kinds[axis] for name, axis in axes if name is None]
        leaves[f"a{k}"] = structures.Leaf(array.fill_value, array.dtype, per_index, fixed)
        sources.append(found)
        indices.append(own)
        exprs.append(programs.access(f"a{k}", own))
    return _Operands(tuple(sources), tuple(indices), tuple(exprs), leaves, numbers)


def _ordered(
    request: Request, operands: Sequence[Any], sizes: Mapping[str, int], seen: _Operands,
    value: Expr, known: structures.Analysis, dtype: Any, dense: bool,
) -> orders.Order:  # fmt: skip
    terms = []
    for k, found in enumerate(seen.sources):
        if found is None:
            continue
        sparse = not is_dense(found.source)
        decides = sparse and _decides(value, f"a{k}", seen, known.fill)
        count = orders.NEVER if None in found.source.shape else entries(operands[k])
        widths = tuple(map(orders.rounded, fanouts(found.source)))
        levels = levels_of(found.source) or ()
        every = frozenset(n for n, level in enumerate(levels) if level.layout == "dense")
        count = orders.rounded(count)
        terms.append(orders.Term(seen.indices[k], widths, sparse, count, decides, every))
    places = [k for k, found in enumerate(seen.sources) if found is not None]
    in_turn = request.op is not None and not _at_fill(request, seen, known.fill, dtype)
    # one array, element by element: a copy in another order would walk it as the function does
    copying = request.op is not None or len(terms) > 1
    kinds = zip(sizes, known.shapes or (), strict=False)
    full = frozenset(name for name, kind in kinds if not kind.gaps)
    counts = {i: orders.rounded(n) for i, n in sizes.items()}
    order = _given(request, terms, in_turn) or orders.choose(
        terms, counts, request.out, in_turn, copying, full, dense
    )
    copied = tuple(places[n] for n in order.copied)
    leading = () if copied else orders.leading(terms, counts, order.loops)
    there = ((places[n], level) for n, level in leading)
    leads = tuple((k, level) for k, level in there if _gallops(seen.sources[k], level))
    return orders.Order(order.loops, copied, leads, order.last)


def _gallops(found: Stored | None, place: int) -> bool:
    """Whether the level of this place can lead a loop."""
    levels = levels_of(found.source) if found is not None else None
    return levels is not None and "gallop" in levels[place].protocols


def _given(request: Request, terms: Sequence[orders.Term], in_turn: bool) -> orders.Order | None:
    """The order that the request asks for; None if there is none, or it would miss elements."""
    loops = request.loops
    if loops is None:
        return None
    first = [name for name in loops if name in request.out]
    if in_turn and not request.dense and list(loops[: len(first)]) != first:
        return None
    return orders.Order(
        loops, tuple(k for k, term in enumerate(terms) if not orders.in_order(term, loops))
    )


def _decides(value: Expr, name: str, seen: _Operands, fill: Expr) -> bool:
    """Whether the value is its fill wherever operand ``name`` is its own fill."""
    if not isinstance(fill, Literal):
        return False

    def known(expr: Expr) -> Expr:
        if isinstance(expr, IsStored):  # whose access is not an access any more
            return FALSE if isinstance(expr.access, Literal) else Var("stored", BOOL)
        if isinstance(expr, Access):
            leaf = seen.leaves[expr.tensor]
            if expr.tensor == name:
                return Literal(leaf.fill, leaf.dtype, structural=True)
            return Var(expr.tensor, leaf.dtype)
        return Var(expr.name, seen.numbers[expr.name]) if isinstance(expr, Name) else expr

    return structures.equal(structures.simplified(rewrite_expr(value, known)), fill)


def _at_fill(request: Request, seen: _Operands, fill: Expr, dtype: Any) -> bool:
    """Whether a reduction need not visit fills: it begins with the fill of its values, or there are
    none."""
    kinds = [kind for leaf in seen.leaves.values() for kind in leaf.structures.values()]
    if not any(kind.gaps for kind in kinds):
        return True
    start = start_of(request, dtype)
    return isinstance(fill, Literal) and start is not None and alike(fill.value, start)


def _permutation(
    indices: Sequence[str | None], loops: Sequence[str], last: str | None
) -> tuple[int, ...]:
    """The dimensions of an operand, as stored, in the order of the loops, but for the last one."""
    places = {name: k if name != last else len(loops) for k, name in enumerate(loops)}
    return tuple(sorted(range(len(indices)), key=lambda k: places.get(indices[k] or "", -1)))


def _complete(
    plan: Plan, schedule: Schedule, operands: Sequence[Any], sizes: Mapping[str, int], dense: bool
) -> None:
    """Choose the format of the result, and make the kernel."""
    request, loops = plan.request, plan.order.loops
    seen, value, known, dtype = schedule.seen, schedule.value, schedule.known, schedule.dtype
    own = request.out if request.dense else tuple(name for name in loops if name in request.out)
    in_turn = orders.appends(loops, own)
    at_fill = request.op is None or _at_fill(request, seen, known.fill, dtype)
    late = in_turn < len(own) and request.op is not None
    start = start_of(request, dtype) if request.op is not None else None
    fill = final_fill(request, known.fill, sizes, dtype, own)
    collected = late and not in_turn and dense and request.dense is None
    if request.dense or collected or not isinstance(known.fill, Literal):
        wanted = [structures.DENSE] * len(own)  # a fill that depends on numbers leaves nothing out
    else:
        wanted = _structures(request, seen, value, loops, own)
    full = all(not kind.gaps and kind.pieces == structures.DENSE.pieces for kind in wanted)
    own_fill = known.fill
    if full and all(found is None or is_dense(found.source) for found in seen.sources):
        own_fill = Literal(dense_fill(dtype), dtype)
        fill = final_fill(request, own_fill, sizes, dtype, own)
    kept = start if request.op is not None and full else fill
    leaf = structures.leaf_for(kept, dtype)
    offered = [_levels_along(name, seen) for name in own]
    plan.format = structures.nested(wanted, offered, leaf)
    sieved = not request.keeps and any(level.structure.gaps for level in plan.format.levels()[:-1])
    rest = [sizes[name] for name in own[in_turn:]]
    read = {node.tensor for node in value.walk() if isinstance(node, Access)}
    given = {
        n
        for k, (names, found) in enumerate(zip(seen.indices, seen.sources, strict=True))
        if f"a{k}" in read and found is not None and gives_extents(found.source)
        for n in names
    }
    extended = tuple(n for n in loops if n not in given)
    apart = request.op is not None and not full and in_turn == len(own) and not alike(fill, start)
    work = structures.leaf_for(start, dtype) if late else leaf
    every = not in_turn and not any(kind.gaps for kind in wanted)  # and is made but once
    writing = programs.Writing(
        own, in_turn, request.op, start, kept, dtype, sieved,
        apart=apart, direct=full and bool(request.op is not None or request.dense),
        extended=frozenset(extended),
        workspace=programs.workspace_format(rest, work, every) if late else None,
    )  # fmt: skip
    program = _program(request, seen, value, plan.order, sizes, writing, extended)
    full_sources = [found is None or is_dense(found.source) for found in seen.sources]
    linear = orders.is_linear(loops, seen.indices, full_sources)
    options = LINEAR if linear else Options(small=ALONG_DATA)
    plan.kernel = Kernel.of_program(program, options, quiet=True)
    outermost = dict(zip(sizes, known.shapes or (), strict=False)).get(loops[0]) if loops else None
    # parts of a run would each do its one turn again
    if loops and (outermost is None or outermost.pieces is not Pieces.RUNS):
        several = programs.on_several_cores(program)
        plan.shared = Kernel.of_program(several, options, quiet=True)
    plan.stored, plan.extended = own, extended
    plan.back = None if own == request.out else tuple(request.out.index(name) for name in own)
    refill = Refill(request, own_fill, dtype, own)
    settled = isinstance(own_fill, Literal) and alike(own_fill.value, start)
    plan.refill = refill if request.op is not None and full and not settled else None
    plan.varies = refill if request.op is not None and not full and not at_fill else None
    plan.blank = blank_of(plan.format)
    aligned, fold = own, None
    if request.op is not None:
        aligned, fold = tuple(loops), Fold(tuple(loops), own, request.op, start)
    if fold is None or (at_fill and own and (writing.direct or late)):
        plan.pointwise = pointwise_of(
            value, seen.indices, seen.leaves, seen.numbers, aligned, fold, plan.format, sieved
        )
        plan.elementwise = plan.pointwise if fold is None else None
    plan.plain = not extended and not any(getattr(x, "permutes", False) for x in operands)
    plan.collects = late and not in_turn
    plan.watched = full and not all(is_dense(a) for a in operands if not isinstance(a, NUMBERS))


def _program(
    request: Request, seen: _Operands, value: Expr, order: orders.Order,
    sizes: Mapping[str, int], writing: programs.Writing, extended: Sequence[str],
) -> Program:  # fmt: skip
    """The program that writes ``value`` into the result."""
    loops = order.loops
    marks = _marks(request, seen, loops, sizes)
    places = _leading(seen, order)
    if marks:
        writing = evolve(writing, marks=marks)
        places |= {mark.source: mark.access for mark in marks}
    if places:
        value = rewrite_expr(value, lambda e: places.get(e, e) if isinstance(e, Access) else e)
    params = ("out", *_parameters(seen), *(f"n_{name}" for name in extended))
    return programs.program_of(_identifier(request.name), value, loops, writing, params)


def _leading(seen: _Operands, order: orders.Order) -> dict[Expr, Expr]:
    """The accesses that lead loops, and what replaces them."""
    found: dict[Expr, Expr] = {}
    for k, place in order.leading:
        access = found.get(seen.exprs[k], seen.exprs[k])
        assert isinstance(access, Access)
        indices = list(access.indices)
        indices[place] = Modified("gallop", indices[place])
        found[seen.exprs[k]] = evolve(access, indices=tuple(indices))
    return found


def _marks(
    request: Request, seen: _Operands, loops: Sequence[str], sizes: Mapping[str, int]
) -> tuple[programs.Mark, ...]:
    """The workspaces of the operands whose rows are looked up."""
    found = []
    for k in request.marked:
        source, names = seen.exprs[k], seen.indices[k]
        last = names[-1]
        if not isinstance(source, Access) or last is None:
            continue
        places = [loops.index(name) for name in names[:-1] if name is not None]
        leaf = seen.leaves[f"a{k}"]
        format = programs.workspace_format(
            [sizes[last]], structures.leaf_for(leaf.fill, leaf.dtype)
        )
        after = loops[max(places)] if places else None
        fill = Literal(leaf.fill, leaf.dtype)
        found.append(programs.Mark(f"m{k}", source, last, after, fill, format))
    return tuple(found)


def _identifier(name: str) -> str:
    return name if name.isidentifier() else "array_function"


def _parameters(seen: _Operands) -> list[str]:
    return [f"s{k}" if found is None else f"a{k}" for k, found in enumerate(seen.sources)]


def _structures(
    request: Request, seen: _Operands, value: Expr, loops: Sequence[str], own: Sequence[str]
) -> list[Structure]:
    shapes = structures.analyse(value, seen.leaves, seen.numbers, loops).shapes
    if shapes is None:
        shapes = (structures.CONSTANT,) * len(loops)
    kept = structures.reduced(shapes, loops, own)
    return [kept[name] for name in own]


def _levels_along(name: str, seen: _Operands) -> list[Format]:
    found = []
    for source, indices in zip(seen.sources, seen.indices, strict=True):
        levels = levels_of(source.source) if source is not None else None
        if levels is not None and name in indices:
            found.append(levels[indices.index(name)])
    return found


__all__ = ["Plan", "make", "sizes_of"]
