"""Arrays one after another along a dimension, by a kernel that keeps how they are stored: one loop
for each segment of the result, or one that is split into them, which is written in order.

What is stored as single elements is joined by its coordinates instead (``points``) where it is few.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from finch_array import programs, structures
from finch_array.listed import widened
from finch_array.operands import MOST, is_dense, kinds_of, levels_of, stored
from finch_array.plans import Plan
from finch_array.ready import warn_if_dense
from finch_array.requests import letters
from finch_array.run import as_seen, reordered, sorted_tensor
from finch_array.written_plans import Known, again, plan_of, result_of, told
from finch_core.interface.abilities import Order
from finch_core.interface.level import Format
from finch_core.interface.storage import integer_parameters
from finch_core.interface.structure import Pieces
from finch_core.ir import primitives as prim
from finch_core.ir.expressions import FALSE, Call, Cast, Expr, Index, Literal, Name, alike
from finch_core.ir.operators import cast_value
from finch_core.ir.program import Declare, Extent, Loop, Program, Sequential, Sieve, Stmt, Update
from finch_core.ir.rewrite import rewrite_expr
from finch_core.records import frozen
from finch_core.runtime.tensor import Tensor, checked_shape
from finch_core.runtime.worth import WORTH_OF_RUNS, are_few


@frozen(eq=False)
class Segment:
    """The indices of ``array`` from ``start`` up to ``stop`` along a dimension; those of a number
    are all this number."""

    array: Any
    start: int
    stop: int

    @classmethod
    def whole(cls, array: Any, place: int) -> Segment:
        """All indices of an array along dimension ``place``."""
        return cls(array, 0, array.shape[place])


def has_structure(array: Any) -> bool:
    """Whether coordinates lose how an array is stored: it has runs, blocks or bands, or dense
    dimensions below others."""
    found = _structured.get(array.signature)
    if found is None:
        if len(_structured) >= MOST:
            _structured.clear()
        levels = None if is_dense(array) else levels_of(stored(array).source)
        kinds = [level.structure for level in levels or ()]
        found = any(
            kind.pieces is not Pieces.POINTS and (kind.gaps or kind.pieces is Pieces.RUNS or k > 0)
            for k, kind in enumerate(kinds)
        )
        _structured[array.signature] = found
    return found


_structured: dict[Any, bool] = {}
DEEP, LARGE, WHOLE = 2, 1 << 20, 1 << 22


def moves_in_pieces(array: Any) -> bool:
    """Whether an array is joined, cut and moved by kernels: it ``has_structure``, and no more than
    ``DEEP`` levels that are not dense, for which kernels take seconds to compile, or more than
    ``LARGE`` elements."""
    if not has_structure(array):
        return False
    levels = levels_of(stored(array).source) or ()
    return not is_deep(levels) or math.prod(array.shape) > LARGE


def is_deep(levels: Sequence[Format]) -> bool:
    """Whether more than ``DEEP`` levels are not dense."""
    return sum([level.layout != "dense" for level in levels]) > DEEP


FEW, MERGED = 4, 2
"""So many segments are joined by one kernel: fewer where their outer dimensions are merged, which
takes code for each subset of the arrays, and where fibers of single elements are joined, which each
begin by a search."""


def joined(
    segments: Sequence[Segment], place: int, dtype: np.dtype[Any], fill: Any, new: bool = False,
    key: Any = None,
) -> Any:  # fmt: skip
    """The segments one after another along dimension ``place``, as an array with this fill: at
    least one is of an array, and all have the same other dimensions. Each of arrays without this
    dimension is at an index of a ``new`` one. ``key`` is that of a call with these arrays (see
    ``written_plans.told``)."""
    shape = list(next(x.array for x in segments if hasattr(x.array, "signature")).shape)
    shape[place : place + (not new)] = [sum([x.stop - x.start for x in segments])]
    if 0 in shape:
        none = np.zeros(0, np.intp)
        return sorted_tensor(tuple(shape), [none] * len(shape), np.zeros(0, dtype), fill)
    few = MERGED if any(_is_merged(x.array, place, new) for x in segments) else FEW
    key = key if len(segments) <= few else None
    while len(segments) > 1 or new:
        segments = [
            _joined_few(segments[k : k + few], place, dtype, fill, new, key)
            for k in range(0, len(segments), few)
        ]
        new = False
    return segments[0].array


def axes_of_join(array: Any, place: int, new: bool) -> tuple[int, ...]:
    """The order in which the dimensions of an array are stored, with a ``new`` one."""
    axes = stored(array).axes
    if not new:
        return axes
    at = axes.index(place) if place < len(axes) else place
    later = [axis + (axis >= place) for axis in axes]
    return (*later[:at], place, *later[at:])


def rolled(array: Any, by: Sequence[int]) -> Any:
    """A sparse array whose elements move by so many indices of each dimension, not 0 of all; those
    that leave come in at the other end."""
    dtype, fill = array.dtype, array.fill_value
    for k, (move, n) in enumerate(zip(by, array.shape, strict=True)):
        if move:
            start = n - move % n if n else 0
            array = joined([Segment(array, start, n), Segment(array, 0, start)], k, dtype, fill)
    return array


def tiled(array: Any, times: Sequence[int]) -> Any:
    """A sparse array repeated along each dimension, once at least, and along one more often."""
    checked_shape([m * n for m, n in zip(array.shape, times, strict=True)], array.ndim)
    dtype, fill = array.dtype, array.fill_value

    def one_behind_another(arrays: Sequence[Any], axis: int) -> Any:
        if len(arrays) == 1:
            return arrays[0]
        key = told("concat", arrays, axis)
        if key is not None and (found := again(key, arrays)) is not None:
            return found
        return joined([Segment.whole(x, axis) for x in arrays], axis, dtype, fill, key=key)

    for axis, n in enumerate(times):
        parts = []  # copies in twice as many repetitions each time
        while n:
            if n % 2:
                parts.append(array)
            n //= 2
            if n:
                array = one_behind_another([array, array], axis)
        array = one_behind_another(parts, axis)
    return array


def framed(array: Any, widths: Sequence[Sequence[int]], value: Any) -> Any:
    """A sparse array with a number around it: so often before and after each dimension, and once
    at least."""
    dtype, fill = array.dtype, array.fill_value
    for k, (before, after) in enumerate(widths):
        whole = Segment.whole(array, k)
        around = [Segment(value, 0, before), whole, Segment(value, 0, after)]
        array = joined(around if before or after else [whole], k, dtype, fill)
    return array


def _is_merged(array: Any, place: int, new: bool) -> bool:
    """Whether a dimension that is stored outside of ``place`` is not dense, or fibers of single
    elements are joined."""
    if not hasattr(array, "signature") or is_dense(array):
        return False
    levels, at = levels_of(stored(array).source) or (), axes_of_join(array, place, new).index(place)
    inner = at > 0 and not new and not has_structure(array)
    return inner or any(level.layout != "dense" for level in levels[:at])


def _joined_few(
    segments: Sequence[Segment], place: int, dtype: np.dtype[Any], fill: Any, new: bool,
    key_of_call: Any,
) -> Segment:  # fmt: skip
    """Some segments as one, of the array that they are joined to."""
    if len(segments) == 1 and not new:
        return segments[0]
    arrays = [x.array for x in segments]
    first = min([x for x in arrays if hasattr(x, "signature")], key=is_dense)
    own_axes = stored(first).axes
    axes = axes_of_join(first, place, new)
    other = [*first.shape[:place], *first.shape[place + (not new) :]]
    sources: list[Any] = []
    places: list[int] = []
    parts: list[Any] = []  # of a segment: the place, axes and shift of its source, or its number
    sizes = {f"n_i{k + (k >= place)}": n for k, n in enumerate(other)}
    end = 0
    for k, (x, array) in enumerate(zip(segments, arrays, strict=True)):
        if hasattr(array, "signature"):
            known = next((n for n, y in enumerate(arrays[:k]) if y is array), None)
            if known is None:
                sources.append(_along(array, own_axes))
                places.append(k)
            at = len(sources) - 1 if known is None else parts[known][0]
            own = stored(array).axes if is_dense(array) else own_axes
            if new:
                own = tuple([axis + (axis >= place) for axis in own])
            shifted = not new and end != x.start
            parts.append((at, own, shifted))
            sizes[f"s{k}"] = end - x.start
        else:
            parts.append(np.asarray(array, dtype).tobytes())
        end += x.stop - x.start
        sizes[f"t{k}"] = end
    shape = (*other[:place], end, *other[place:])
    key = (
        "concat", place, new, axes, tuple(parts), dtype, np.asarray(fill).tobytes(),
        *[s.signature for s in sources],
    )  # fmt: skip
    sizes |= dict(zip(letters(len(shape)), shape, strict=True))

    def make(through: Callable[[Format], Format]) -> Plan:
        plan = _plan(arrays, parts, sources, axes, place, dtype, fill, new, through)
        warn_if_dense("concat", plan.format, shape, sources)
        return plan

    count = max(math.prod(shape), *[x.size for x in arrays if hasattr(x, "signature")])
    new_fill = count <= WHOLE and _has_new_fill(arrays, dtype, fill)
    if new_fill and are_few(key, count, WORTH_OF_RUNS):
        format = format_of_join(arrays, axes, place, dtype, fill, new)[0]
        warn_if_dense("concat", format, shape, sources)
        data = _joined_in_numpy(segments, place, shape, dtype, new)
        return Segment(as_seen(Tensor(format, data.transpose(axes)), axes), 0, end)
    stored_shape = tuple([shape[axis] for axis in axes])
    call = None
    if key_of_call is not None and all(s.__class__ is Tensor for s in arrays):
        call = Known(key_of_call, tuple(places), axes)
    found = result_of(key, make, sizes, stored_shape, sources, call)
    return Segment(as_seen(found, axes), 0, end)


def _has_new_fill(arrays: Sequence[Any], dtype: np.dtype[Any], fill: Any) -> bool:
    """Whether a number or a sparse array is joined to arrays of another fill: all of it is stored,
    by a kernel that takes seconds to compile, or as an array of ``WHOLE`` elements at most."""
    return any(
        not is_dense(x) and not _alike(x.fill_value, fill, dtype)
        if hasattr(x, "signature")
        else not _alike(x, fill, dtype)
        for x in arrays
    )


def _joined_in_numpy(
    segments: Sequence[Segment], place: int, shape: tuple[int, ...], dtype: np.dtype[Any], new: bool
) -> np.ndarray[Any, Any]:
    """The elements of few and small segments one after another."""
    data = np.empty(shape, dtype)
    end = 0
    for x in segments:
        begin, end = end, end + x.stop - x.start
        here: tuple[Any, ...] = (slice(None),) * place
        if not hasattr(x.array, "signature"):
            data[(*here, slice(begin, end))] = x.array
        elif new:
            data[(*here, begin)] = x.array.to_numpy()
        else:
            data[(*here, slice(begin, end))] = x.array.to_numpy()[(*here, slice(x.start, x.stop))]
    return data


def _along(array: Any, axes: tuple[int, ...]) -> Any:
    """What stores ``array`` with its dimensions in the order ``axes``; a dense one in its own."""
    found = stored(array)
    if found.axes == axes or is_dense(array):
        return found.source
    return reordered(found.source, [found.axes.index(axis) for axis in axes])


def _plan(
    arrays: Sequence[Any], parts: Sequence[Any], sources: Sequence[Any], axes: tuple[int, ...],
    place: int, dtype: np.dtype[Any], fill: Any, new: bool,
    through: Callable[[Format], Format],
) -> Plan:  # fmt: skip
    """The plan of joins of arrays with these signatures, whose format is passed ``through``."""
    names = letters(len(axes))
    loops = tuple([names[axis] for axis in axes])
    format, sieved = format_of_join(arrays, axes, place, dtype, fill, new)
    format = through(format)
    stores: list[Stmt] = []
    numbers: dict[str, None] = {}
    for k, (part, array) in enumerate(zip(parts, arrays, strict=True)):
        if isinstance(part, tuple):
            source, own, shifted = part
            value: Expr = programs.access(f"a{source}", [names[axis] for axis in own])
            if array.dtype != dtype:
                value = Cast(value, dtype)
            if shifted:
                value = _shifted(value, names[place], f"s{k}")
                numbers[f"s{k}"] = None
        else:
            value = Literal(np.asarray(array, dtype)[()], dtype)
        store: Stmt = Update(programs.access("out", loops), None, value)
        if sieved[k]:
            store = Sieve(programs.differs(value, fill, dtype), store)
        elif not isinstance(part, tuple) and _alike(array, fill, dtype):
            store = Sieve(FALSE, store)  # which gives the result its shape, and stores nothing
        stores.append(store)
        numbers[f"t{k}"] = None
    points = all(isinstance(part, tuple) for part in parts) and not any(sieved)
    points = points and not any(map(has_structure, arrays))
    at = loops.index(names[place])
    if points:
        body = _in_one_nest(stores, loops, at)
    else:
        sized = [not isinstance(part, tuple) for part in parts]
        if any(sized):
            numbers |= dict.fromkeys([f"n_{name}" for name in loops[at + 1 :]])
        body = _one_behind_another(stores, sized, loops, at)
    whole = Sequential((Declare("out", Literal(np.asarray(fill, dtype)[()], dtype)), body))
    params = ("out", *[f"a{k}" for k in range(len(sources))], *numbers)
    program = Program("concat", params, whole, (), ("out",))
    several = programs.on_several_cores(program) if points and at > 0 else None
    return plan_of(program, loops, format, tuple(numbers), several)


def _in_one_nest(stores: Sequence[Stmt], loops: Sequence[str], at: int) -> Stmt:
    """One nest of loops, of which the one of this place is split where segments end: the compiler
    sees that the result is written in order."""
    index = Index(loops[at])
    body = stores[-1]
    for k in reversed(range(len(stores) - 1)):
        body = Sieve(Call(prim.lt, (index, Name(f"t{k}"))), stores[k], body)
    whole = Extent(Literal(0, int), Name(f"t{len(stores) - 1}"))
    for name in reversed(loops):
        body = Loop(Index(name), whole if name == index.name else None, body)
    return body


def _one_behind_another(
    stores: Sequence[Stmt], sized: Sequence[bool], loops: Sequence[str], at: int
) -> Stmt:
    """A loop for each segment; ``sized`` are those that have no array to give loops their ends."""
    bodies: list[Stmt] = []
    for k, store in enumerate(stores):
        for name in reversed(loops[at + 1 :]):
            extent = Extent(Literal(0, int), Name(f"n_{name}")) if sized[k] else None
            store = Loop(Index(name), extent, store)
        start = _greatest([Name(f"t{n}") for n in range(k)])
        bodies.append(Loop(Index(loops[at]), Extent(start, Name(f"t{k}")), store))
    body: Stmt = Sequential(tuple(bodies))
    for name in reversed(loops[:at]):
        body = Loop(Index(name), None, body)
    return body


def _greatest(ends: Sequence[Expr]) -> Expr:
    """Where a segment begins: behind all those before it, as the compiler is to see."""
    if not ends:
        return Literal(0, int)
    return reduce(lambda found, end: Call(prim.maximum_, (found, end)), ends)


def _shifted(value: Expr, name: str, by: str) -> Expr:
    """``value`` with its index ``name`` less a number."""

    def shifted(e: Expr) -> Expr:
        return Call(prim.sub, (e, Name(by))) if e == Index(name) else e

    return rewrite_expr(value, shifted)


def format_of_join(
    arrays: Sequence[Any], axes: tuple[int, ...], place: int, dtype: np.dtype[Any], fill: Any,
    new: bool,
) -> tuple[Format, list[bool]]:  # fmt: skip
    """The format of the result, and for each segment whether it has elements that equal the fill
    and are not to be stored."""
    at = axes.index(place)
    columns: list[structures.Shapes] = []
    full: list[bool] = []
    constant = False
    for array in arrays:
        if not hasattr(array, "signature"):
            full.append(False)
            constant = constant or not _alike(array, fill, dtype)
            continue
        kinds = _kinds(array, axes, place, new)
        same = _alike(array.fill_value, fill, dtype)
        gaps = any(kind.gaps for kind in kinds)
        columns.append(kinds if same or not gaps else structures.in_another_fill(kinds))
        full.append(not gaps or not same)
    if constant:
        columns.append(structures.in_another_fill(columns[0]))
    wanted = structures.side_by_side(columns, at)
    offered: list[list[Format]] = [[] for _ in axes]
    in_pieces = any(hasattr(x, "signature") and has_structure(x) for x in arrays)
    for array in arrays:
        for own, level in zip(offered, _levels(array, axes, place, new), strict=False):
            if level is not None and not (in_pieces and _takes_one_segment(level)):
                own.append(level)
    format = structures.nested(wanted, offered, structures.leaf_for(cast_value(fill, dtype), dtype))
    widths = {dtype for own in offered for x in own for dtype in integer_parameters(x).values()}
    if len(widths) > 1:
        format = widened(format)
    gaps = any(level.structure.gaps for level in format.levels()[:-1])
    return format, [gaps and x for x in full]


def _takes_one_segment(level: Format) -> bool:
    """Whether a fiber of a level cannot be appended to: segments are written one after another."""
    return level.order is Order.ONCE and not level.resumes


def _alike(number: Any, fill: Any, dtype: np.dtype[Any]) -> bool:
    return alike(cast_value(number, dtype), cast_value(fill, dtype))


def _kinds(array: Any, axes: tuple[int, ...], place: int, new: bool) -> structures.Shapes:
    """The structures of an array along dimensions in this order. A new one is dense, but of single
    elements below others."""
    kinds = list(kinds_of(array))
    if new:
        kinds.insert(place, structures.DENSE)
    found = [kinds[axis] for axis in axes]
    at = axes.index(place)
    if new and not has_structure(array) and any(kind.gaps for kind in found[:at]):
        found[at] = structures.LISTED
    return tuple(found)


def _levels(array: Any, axes: tuple[int, ...], place: int, new: bool) -> Sequence[Format | None]:
    """The levels of an array whose dimensions are stored in this order, with None for a new one;
    empty where they are not known."""
    if not hasattr(array, "signature") or axes_of_join(array, place, new) != axes:
        return ()
    levels = levels_of(stored(array).source) or ()
    if not levels or not new:
        return levels
    at = axes.index(place)
    return [*levels[:at], None, *levels[at:]]


__all__ = [
    "LARGE", "Segment", "axes_of_join", "format_of_join", "framed", "has_structure", "is_deep",
    "joined", "moves_in_pieces", "rolled", "tiled",
]  # fmt: skip
