"""Arrays one after another along a dimension, by a kernel that keeps how they are stored: one loop
for each segment of the result, which is written in order.

What is stored as single elements is joined by its coordinates instead, which needs no kernel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from finch_array import programs, structures
from finch_array.operands import MOST, is_dense, kinds_of, levels_of, stored
from finch_array.plans import Plan
from finch_array.ready import Ready, warn_if_dense
from finch_array.requests import letters
from finch_array.run import as_seen, reordered, sorted_tensor
from finch_array.written_plans import plan_of
from finch_core.interface.level import Format
from finch_core.interface.plugins import hub
from finch_core.interface.structure import Pieces
from finch_core.ir import primitives as prim
from finch_core.ir.expressions import FALSE, Call, Cast, Expr, Index, Literal, Name, alike
from finch_core.ir.operators import cast_value
from finch_core.ir.program import Declare, Extent, Loop, Program, Sequential, Sieve, Stmt, Update
from finch_core.ir.rewrite import rewrite_expr
from finch_core.records import frozen
from finch_core.runtime.tensor import checked_shape


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
DEEP, LARGE = 2, 1 << 20


def moves_in_pieces(array: Any) -> bool:
    """Whether an array is joined, cut and moved by kernels: it ``has_structure``, and no more than
    ``DEEP`` levels that are not dense, for which kernels take seconds to compile, or more than
    ``LARGE`` elements."""
    if not has_structure(array):
        return False
    levels = levels_of(stored(array).source) or ()
    deep = sum([level.layout != "dense" for level in levels]) > DEEP
    return not deep or math.prod(array.shape) > LARGE


FEW, MERGED = 4, 2
"""So many segments are joined by one kernel: fewer where their outer dimensions are merged, which
takes code for each subset of the arrays."""


def joined(segments: Sequence[Segment], place: int, dtype: np.dtype[Any], fill: Any) -> Any:
    """The segments one after another along dimension ``place``, as an array with this fill: at
    least one is of an array, and all have the same other dimensions."""
    shape = list(next(x.array for x in segments if hasattr(x.array, "signature")).shape)
    shape[place] = sum([x.stop - x.start for x in segments])
    if 0 in shape:
        none = np.zeros(0, np.intp)
        return sorted_tensor(tuple(shape), [none] * len(shape), np.zeros(0, dtype), fill)
    few = MERGED if any(_is_merged(x.array, place) for x in segments) else FEW
    while len(segments) > 1:
        segments = [
            _joined_few(segments[k : k + few], place, dtype, fill)
            for k in range(0, len(segments), few)
        ]
    return segments[0].array


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
        return joined([Segment.whole(x, axis) for x in arrays], axis, dtype, fill)

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


def _is_merged(array: Any, place: int) -> bool:
    """Whether a dimension that is stored outside of ``place`` is not dense."""
    if not hasattr(array, "signature") or is_dense(array):
        return False
    found = stored(array)
    levels = levels_of(found.source) or ()
    return any(level.layout != "dense" for level in levels[: found.axes.index(place)])


def _joined_few(
    segments: Sequence[Segment], place: int, dtype: np.dtype[Any], fill: Any
) -> Segment:
    """Some segments as one, of the array that they are joined to."""
    if len(segments) == 1:
        return segments[0]
    arrays = [x.array for x in segments]
    first = min([x for x in arrays if hasattr(x, "signature")], key=is_dense)
    axes = stored(first).axes
    sources: list[Any] = []
    parts: list[Any] = []  # of a segment: the place, axes and shift of its source, or its number
    sizes = {f"n_i{k}": n for k, n in enumerate(first.shape) if k != place}
    end = 0
    for k, (x, array) in enumerate(zip(segments, arrays, strict=True)):
        if hasattr(array, "signature"):
            known = next((n for n, y in enumerate(arrays[:k]) if y is array), None)
            if known is None:
                sources.append(_along(array, axes))
            at = len(sources) - 1 if known is None else parts[known][0]
            own = stored(array).axes if is_dense(array) else axes
            parts.append((at, own, end != x.start))
            sizes[f"s{k}"] = end - x.start
        else:
            parts.append(np.asarray(array, dtype).tobytes())
        end += x.stop - x.start
        sizes[f"t{k}"] = end
    shape = (*first.shape[:place], end, *first.shape[place + 1 :])
    key = (
        place, axes, tuple(parts), dtype, np.asarray(fill).tobytes(),
        *[s.signature for s in sources], hub().generation,
    )  # fmt: skip
    plan = _plans.get(key)
    if plan is None:
        if len(_plans) >= MOST:
            _plans.clear()
        plan = _plans[key] = _plan(arrays, parts, sources, axes, place, dtype, fill)
    whole = (key, tuple(sizes.values()))
    ready = _calls.get(whole)
    if ready is None:
        if len(_calls) >= MOST:
            _calls.clear()
        names = letters(len(shape))
        sizes |= dict(zip(names, shape, strict=True))
        magnitudes = tuple([n.bit_length() for n in shape])
        ready = _calls[whole] = plan.ready(sizes, magnitudes)
    warn_if_dense("concat", plan.format, shape, sources)
    return Segment(as_seen(ready(sources), axes), 0, end)


_plans: dict[Any, Plan] = {}
_calls: dict[Any, Ready] = {}


def _along(array: Any, axes: tuple[int, ...]) -> Any:
    """What stores ``array`` with its dimensions in the order ``axes``; a dense one in its own."""
    found = stored(array)
    if found.axes == axes or is_dense(array):
        return found.source
    return reordered(found.source, [found.axes.index(axis) for axis in axes])


def _plan(
    arrays: Sequence[Any], parts: Sequence[Any], sources: Sequence[Any], axes: tuple[int, ...],
    place: int, dtype: np.dtype[Any], fill: Any,
) -> Plan:  # fmt: skip
    """The plan of joins of arrays with these signatures."""
    names = letters(len(axes))
    loops = tuple([names[axis] for axis in axes])
    format, sieved = _format(arrays, axes, place, dtype, fill)
    bodies: list[Stmt] = []
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
        below = loops[loops.index(names[place]) + 1 :]
        for name in reversed(below):
            size = None if isinstance(part, tuple) else f"n_{name}"
            if size is not None:
                numbers[size] = None
            extent = None if size is None else Extent(Literal(0, int), Name(size))
            store = Loop(Index(name), extent, store)
        start = _greatest([Name(f"t{n}") for n in range(k)])
        bodies.append(Loop(Index(names[place]), Extent(start, Name(f"t{k}")), store))
        numbers[f"t{k}"] = None
    body: Stmt = Sequential(tuple(bodies))
    for name in reversed(loops[: loops.index(names[place])]):
        body = Loop(Index(name), None, body)
    whole = Sequential((Declare("out", Literal(np.asarray(fill, dtype)[()], dtype)), body))
    params = ("out", *[f"a{k}" for k in range(len(sources))], *numbers)
    program = Program("concat", params, whole, (), ("out",))
    return plan_of(program, loops, format, tuple(numbers))


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


def _format(
    arrays: Sequence[Any], axes: tuple[int, ...], place: int, dtype: np.dtype[Any], fill: Any
) -> tuple[Format, list[bool]]:
    """The format of the result, and for each segment whether it has elements that equal the fill
    and are not to be stored."""
    columns: list[structures.Shapes] = []
    full: list[bool] = []
    constant = False
    for array in arrays:
        if not hasattr(array, "signature"):
            full.append(False)
            constant = constant or not _alike(array, fill, dtype)
            continue
        kinds = kinds_of(array)
        kinds = tuple([kinds[axis] for axis in axes])
        same = _alike(array.fill_value, fill, dtype)
        gaps = any(kind.gaps for kind in kinds)
        columns.append(kinds if same or not gaps else structures.in_another_fill(kinds))
        full.append(not gaps or not same)
    if constant:
        columns.append(structures.in_another_fill(columns[0]))
    wanted = structures.side_by_side(columns, axes.index(place))
    offered = [
        [levels[k] for x in arrays if (levels := _levels(x, axes)) is not None]
        for k in range(len(axes))
    ]
    format = structures.nested(wanted, offered, structures.leaf_for(cast_value(fill, dtype), dtype))
    gaps = any(level.structure.gaps for level in format.levels()[:-1])
    return format, [gaps and x for x in full]


def _alike(number: Any, fill: Any, dtype: np.dtype[Any]) -> bool:
    return alike(cast_value(number, dtype), cast_value(fill, dtype))


def _levels(array: Any, axes: tuple[int, ...]) -> tuple[Format, ...] | None:
    """The levels of an array whose dimensions are stored in this order."""
    if not hasattr(array, "signature") or stored(array).axes != axes:
        return None
    return levels_of(stored(array).source)


__all__ = [
    "LARGE", "Segment", "framed", "has_structure", "joined", "moves_in_pieces", "rolled", "tiled",
]  # fmt: skip
