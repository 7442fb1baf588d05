"""Subarrays at integers along a dimension, elements at coordinates, and diagonals, by kernels:
``out[i, k] = A[i, indices[k]]``. They keep runs, blocks and bands.

Along the last dimension, elements that are stored one by one go to the places where they are wanted
instead. Few of them are chosen by their coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from finch_array import programs, structures
from finch_array.joining import LARGE, has_structure, is_deep
from finch_array.listed import dense_above_lists, listed
from finch_array.operands import LONG, MOST, entries, kinds_of, levels_of, stored
from finch_array.plans import Plan
from finch_array.requests import Indices, letters
from finch_array.run import (
    MOST_NARROW,
    as_seen,
    coordinates,
    in_format,
    materialised,
    sorted_tensor,
)
from finch_array.runs import has_runs, runs_of
from finch_array.sorted_coordinates import FEW, matches, matches_in_order
from finch_array.written_plans import Known, again, plan_of, result_of, told
from finch_core.interface.level import Format
from finch_core.interface.plugins import hub, when_plugins_change
from finch_core.interface.structure import Pieces, Structure
from finch_core.ir import primitives as prim
from finch_core.ir.expressions import Access, Call, Cast, Expr, Index, Literal, Name
from finch_core.ir.program import (
    Declare,
    Extent,
    Local,
    Loop,
    Program,
    Sequential,
    Sieve,
    Stmt,
    Update,
    While,
)
from finch_core.ir.program import Stored as IsStored
from finch_core.records import evolve
from finch_core.runtime.arrays import from_array
from finch_core.runtime.tensor import Tensor
from finch_core.runtime.worth import are_few
from finch_levels import Dense, Element

_plans: dict[Any, Plan] = {}


def taken(array: Any, indices: Any, place: int) -> Any:
    """The subarrays at ``indices``, a vector of integers within bounds, along dimension
    ``place``."""
    vector = np.ascontiguousarray(indices, np.intp)
    chosen = from_array(vector, Tensor)
    called = told("taken", [array], place, len(vector))
    if called is not None and (result := again(called, [array, chosen])) is not None:
        return result
    source, axes, at, points = _seen(array, place)
    shape = (*source.shape[:at], len(vector), *source.shape[at + 1 :])
    key = ("taken", at, source.signature)
    call = Known(called, (0, 1), axes) if called is not None else None
    if points:
        format, dense = _format_of(key, source, at)
        if dense is not None and (
            _is_slow(source, at, len(vector)) or are_few(key, entries(source) + len(vector))
        ):
            return as_seen(_taken_by_coordinates(source, vector, at, shape, format), axes)
        if at == source.ndim - 1 and _is_scattered(source, at):
            return as_seen(_scattered(key, source, chosen, shape, call), axes)
    elif at == source.ndim - 1 and _is_torn(source, len(vector)):
        format = _format_of(key, source, at)[0]
        found = _chosen(source, vector, at)
        made = sorted_tensor(shape, *found, source.fill_value, of=(source,))
        return as_seen(in_format(made, format), axes)
    sizes = dict(zip(letters(array.ndim), shape, strict=True))

    def make(through: Callable[[Format], Format]) -> Plan:
        names = letters(array.ndim)
        chosen = Access("indices", (Index(names[at]),))
        own: list[Expr] = [Index(name) if k != at else chosen for k, name in enumerate(names)]
        format = through(_format_of(key, source, at)[0])
        return _plan("taken", own, names, format, sieved=not points)

    return as_seen(result_of(key, make, sizes, shape, [source, chosen], call), axes)


def repeated(array: Any, count: int, place: int) -> Any:
    """An array of single elements with each index along dimension ``place`` so often."""
    source, axes, at, _ = _seen(array, place)
    key = ("taken", at, source.signature)
    format, dense = _format_of(key, source, at)
    length, there = source.shape[at], entries(source) * count
    if dense is not None:
        long = length * count > FEW + 4 * there
        if long or _is_slow(source, at, length * count) or are_few(key, there + length * count):
            return as_seen(_repeated_by_coordinates(source, count, at, format), axes)
    return taken(array, np.repeat(np.arange(length), count), place)


def _repeated_by_coordinates(source: Tensor, count: int, at: int, format: Format) -> Tensor:
    shape, coords, values = coordinates(source)
    coords = [c.repeat(count) for c in coords]
    coords[at] *= count
    coords[at].reshape(len(values), count)[...] += np.arange(count)
    longer = [n * count if k == at else n for k, n in enumerate(shape)]
    return listed(format, longer, coords, values.repeat(count), in_order=at == len(shape) - 1)


def _seen(array: Any, place: int) -> tuple[Any, tuple[int, ...], int, bool]:
    """What stores an array, the order of its dimensions there, the place of one of them in it, and
    whether the array stores single elements: then it is a tensor."""
    found = stored(array)
    source, points = found.source, not has_structure(array)
    if points and source.__class__ is not Tensor:
        source = materialised(source)
    return source, found.axes, found.axes.index(place), points


def _format_of(key: Any, source: Any, at: int) -> tuple[Format, int | None]:
    """The format of subarrays of arrays like this one, and how many levels are dense before lists,
    if it has no others."""
    known = _formats.get(key)
    if known is None:
        if len(_formats) >= MOST:
            _formats.clear()
        format = _taken_format(source, at)
        known = _formats[key] = format, dense_above_lists(format)
    return known


_formats: dict[Any, tuple[Format, int | None]] = {}
when_plugins_change(_formats.clear)


def _is_scattered(source: Any, at: int) -> bool:
    """Whether the elements of a fiber are to go where they are wanted: to look for each that is
    wanted in each fiber takes time for what is not stored."""
    level = source.layout.levels[at]
    return bool(at > 0 and level.layout != "dense")


def _is_slow(source: Any, at: int, count: int) -> bool:
    """Whether so many subarrays are found sooner by coordinates than by a kernel: of many levels
    that are not dense, in a workspace of several dimensions, or in a table that is much longer than
    what is stored."""
    levels = source.layout.levels[:-1]
    if _is_scattered(source, at):
        long = source.shape[at] > LONG + 4 * (entries(source) + count)
        if long or at < len(levels) - 1:
            return True
    return is_deep(levels) and math.prod(source.shape) <= LARGE


def _taken_by_coordinates(
    source: Tensor, vector: Any, at: int, shape: tuple[int, ...], format: Format
) -> Tensor:
    return listed(format, shape, *_chosen(source, vector, at), in_order=at == 0)


def _chosen(source: Any, vector: Any, at: int) -> tuple[list[Any], Any]:
    """The coordinates and values of the stored elements of the subarrays."""
    _, coords, values = coordinates(source)
    match = matches_in_order if at == 0 else matches
    entry, position = match(coords[at], vector, source.shape[at])
    return [position if k == at else c[entry] for k, c in enumerate(coords)], values[entry]


def _is_torn(source: Any, count: int) -> bool:
    """Whether ``count`` subarrays along the last dimension of an array of runs or blocks, of which
    a kernel looks for each in each fiber, are found sooner by what single elements it stores."""
    looked_up = math.prod(source.shape[:-1]) * count
    if looked_up <= TORN or looked_up <= PER_ELEMENT * entries(source):
        return False
    if any(kind.pieces is Pieces.RUNS for kind in kinds_of(source)[:-1]):
        return False
    if not has_runs(source):
        return True
    runs = runs_of(source)
    return bool(looked_up > PER_ELEMENT * (runs.stops - runs.starts).sum())


TORN, PER_ELEMENT = 1 << 20, 16
"""More than ``TORN`` subarrays of fibers are not looked for one by one where that are more than
``PER_ELEMENT`` for each element."""


def _scattered(
    key: Any, source: Tensor, chosen: Tensor, shape: tuple[int, ...], call: Known | None
) -> Any:
    """The subarrays along the last dimension: each stored element goes to all places where it is
    wanted, in a workspace that holds one fiber."""
    numbers = {"n": shape[-1], "m": source.shape[-1]}
    long = shape[-1] > programs.ROOM
    index = np.dtype(np.int32 if max(numbers.values()) < MOST_NARROW else np.int64)

    def make(through: Callable[[Format], Format]) -> Plan:
        format = through(_format_of(key, source, source.ndim - 1)[0])
        return _scattering(source.ndim, format, shape[-1], index)

    sizes = dict(zip(letters(source.ndim), shape, strict=True)) | numbers
    return result_of((key, long, index), make, sizes, shape, [source, chosen], call)


def _scattering(ndim: int, format: Format, length: int, index: np.dtype[Any]) -> Plan:
    """The places where each index is wanted are a linked list: ``head[j]`` is the last one, and
    ``before[k]`` the one before ``k``; -1 where there is none."""
    *outer, last = letters(ndim)
    leaf = structures.leaf_for(format.fill_value, format.dtype)
    fill, none = Literal(format.fill_value, format.dtype), Literal(index.type(-1), index)
    work, at = programs.WORKSPACE, Index("j")
    value, head = Access("a", (*map(Index, outer), at)), Access("head", (at,))
    place, turn = Access("p", ()), Index("k")
    wanted = Access("head", (Access("indices", (turn,)),))
    link = Sequential((
        Update(Access("before", (turn,)), None, wanted),
        Update(wanted, None, Cast(turn, index)),
    ))  # fmt: skip
    follow = Sequential((
        Update(Access(work, (place,)), None, value),
        Update(place, None, Access("before", (place,))),
    ))  # fmt: skip
    spread = Sequential((
        Declare("p", none),
        Update(place, None, head),
        While(Call(prim.ge, (place, Literal(0, int))), follow),
    ))  # fmt: skip
    row: Stmt = Sequential((
        Declare(work, fill),
        Loop(at, Extent(Literal(0, int), Name("m")), Sieve(IsStored(value), spread)),
        Loop(Index(last), None, Update(programs.access("out", (*outer, last)), None,
                                       programs.access(work, (last,)))),
    ))  # fmt: skip
    for name in reversed(outer):
        row = Loop(Index(name), None, row)

    def program(rows: Stmt) -> Program:
        body = Sequential((
            Declare("out", fill),
            Declare("head", none),
            Declare("before", none),
            Loop(turn, Extent(Literal(0, int), Name("n")), link),
            rows,
        ))  # fmt: skip
        locals_ = (
            Local("head", Dense(Element(none.value)), (Name("m"),)),
            Local("before", Dense(Element(none.value)), (Name("n"),)),
            Local(work, programs.workspace_format([length], leaf), (Name("n"),)),
            Local("p", programs.total_format(none.value, index)),
        )
        return Program("taken", ("out", "a", "indices", "n", "m"), body, locals_, ("out",))

    several = program(programs.parallel(row))
    return plan_of(program(row), (*outer, last), format, ("n", "m"), several)


def elements(array: Any, indices: Sequence[Any]) -> Any:
    """The elements of an array at coordinates within bounds, one vector of them for each
    dimension: a NumPy array."""
    leaf = structures.leaf_for(array.fill_value, array.dtype)
    return _at("elements", array, indices, lambda: structures.dense_levels(1, leaf)).to_numpy()


def listed_elements(array: Any, indices: Sequence[Any]) -> Any:
    """The elements of an array at coordinates within bounds, one vector of them for each
    dimension: a vector that stores those that are not the fill."""
    return _at("listed elements", array, indices, lambda: _listed_format(array))


def _listed_format(array: Any) -> Format:
    """The format of vectors of single elements, with indices as narrow as those of an array."""
    levels = [level for level in levels_of(stored(array).source) or () if level.layout != "dense"]
    leaf = structures.leaf_for(array.fill_value, array.dtype)
    return structures.nested([structures.LISTED], [levels[-1:]], leaf)


def _at(name: str, array: Any, indices: Sequence[Any], format: Callable[[], Format]) -> Any:
    count = len(indices[0])
    vectors = [from_array(np.ascontiguousarray(index, np.intp), Tensor) for index in indices]
    called = told(name, [array], count)
    if called is not None and (result := again(called, [array, *vectors])) is not None:
        return result
    found = stored(array)

    def make(through: Callable[[Format], Format]) -> Plan:
        own = [Access(f"x{axis}", (Index("i0"),)) for axis in found.axes]
        operands = tuple([f"x{axis}" for axis in range(array.ndim)])
        return _plan(name, own, ("i0",), through(format()), operands)

    call = Known(called, tuple(range(1 + array.ndim)), (0,)) if called is not None else None
    key = (name, found.axes, found.source.signature)
    return result_of(key, make, {"i0": count}, (count,), [found.source, *vectors], call)


def diagonal(array: Any, offset: int, length: int) -> Any:
    """Diagonal ``offset`` of matrices, of this length, as the last dimension of the result."""
    found = stored(array)
    first = array.ndim - 2
    key = ("diagonal", found.axes, found.source.signature, hub().generation)
    plan = _plans.get(key)
    if plan is None:
        names = letters(array.ndim)
        kept = [axis for axis in found.axes if axis < first]
        loops = (*[names[axis] for axis in kept], names[first])
        row, column = (Call(prim.add, (Index(names[first]), Name(x))) for x in ("row", "column"))
        own = [
            row if axis == first else column if axis == first + 1 else Index(names[axis])
            for axis in found.axes
        ]
        format = _diagonal_format(array)
        plan = _remember(key, _plan("diagonal", own, loops, format, (), ("row", "column", "n")))
    shape = (*array.shape[:first], length)
    sizes = dict(zip(letters(array.ndim), shape, strict=False))
    sizes |= {"row": max(-offset, 0), "column": max(offset, 0), "n": length}
    ready = plan.ready(sizes, tuple([n.bit_length() for n in shape]))
    kept = [axis for axis in found.axes if axis < first]
    return as_seen(ready([found.source]), (*kept, first))


def _remember(key: Any, plan: Plan) -> Plan:
    if len(_plans) >= MOST:
        _plans.clear()
    _plans[key] = plan
    return plan


def _plan(
    name: str, own: Sequence[Expr], loops: Indices, format: Format,
    operands: Indices = ("indices",), numbers: Indices = (), sieved: bool = True,
) -> Plan:  # fmt: skip
    """The plan of ``out[loops] = a[own]``: of further ``operands``, or for so many ``n`` of the
    last loop as is the last of some ``numbers``. ``sieved``: elements that equal the fill are not
    stored."""
    fill, extent = format.fill_value, None
    store: Stmt = Update(programs.access("out", loops), None, Access("a", tuple(own)))
    if sieved and any(level.structure.gaps for level in format.levels()[:-1]):
        store = Sieve(programs.differs(Access("a", tuple(own)), fill, format.dtype), store)
    if numbers:
        extent = Extent(Literal(0, int), Name(numbers[-1]))
    for loop in reversed(loops):
        store, extent = Loop(Index(loop), extent, store), None
    params = ("out", "a", *operands, *numbers)
    body = Sequential((Declare("out", Literal(fill, format.dtype)), store))
    return plan_of(Program(name, params, body, (), ("out",)), loops, format, numbers)


def _taken_format(array: Any, place: int) -> Format:
    """The format of subarrays along a dimension, the one stored at ``place``: elements that are
    next to each other along it need not be so in the array."""
    kinds, levels = _stored_kinds(array)
    kinds[place] = evolve(kinds[place], single=False, pads=False)
    leaf = structures.leaf_for(array.fill_value, array.dtype)
    return structures.nested(kinds, levels, leaf)


def _diagonal_format(array: Any) -> Format:
    """The format of diagonals: single elements, or runs where all elements are stored."""
    kinds, levels = _stored_kinds(array)
    rest = [k for k, axis in enumerate(stored(array).axes) if axis < array.ndim - 2]
    last = structures.LISTED
    if not any(kind.gaps for kind in kinds):
        pieces = max(kind.pieces for k, kind in enumerate(kinds) if k not in rest)
        last = evolve(structures.DENSE, pieces=pieces)
    leaf = structures.leaf_for(array.fill_value, array.dtype)
    return structures.nested(
        [*[kinds[k] for k in rest], last], [*[levels[k] for k in rest], []], leaf
    )


def _stored_kinds(array: Any) -> tuple[list[Structure], list[list[Format]]]:
    """The structure of each dimension of an array, in the order in which they are stored, and the
    level, in a list, if it is known."""
    found = stored(array)
    kinds = kinds_of(array)
    levels = [[level] for level in levels_of(found.source) or ()]
    return [kinds[axis] for axis in found.axes], levels or [[] for _ in kinds]


__all__ = ["diagonal", "elements", "listed_elements", "repeated", "taken"]
