"""Subarrays at integers along a dimension, elements at coordinates, and diagonals, by kernels:
``out[i, k] = A[i, indices[k]]``. They keep runs, blocks and bands.

Elements that are stored one by one are chosen by their coordinates instead (``indexing``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from finch_array import programs, structures
from finch_array.operands import MOST, array_of, kinds_of, levels_of, stored
from finch_array.plans import Plan
from finch_array.requests import Indices, letters
from finch_array.run import as_seen
from finch_array.written_plans import plan_of
from finch_core.interface.level import Format
from finch_core.interface.plugins import hub
from finch_core.ir import primitives as prim
from finch_core.ir.expressions import Access, Call, Expr, Index, Literal, Name
from finch_core.ir.program import Declare, Extent, Loop, Program, Sequential, Sieve, Stmt, Update
from finch_core.records import evolve

_plans: dict[Any, Plan] = {}


def taken(array: Any, indices: Any, place: int) -> Any:
    """The subarrays at ``indices``, a vector of integers within bounds, along dimension
    ``place``."""
    found = stored(array)
    vector = array_of(np.ascontiguousarray(indices, np.intp))
    key = ("taken", place, found.axes, found.source.signature, hub().generation)
    plan = _plans.get(key)
    if plan is None:
        names = letters(array.ndim)
        loops = tuple([names[axis] for axis in found.axes])
        at = Access("indices", (Index(names[place]),))
        own: list[Expr] = [Index(name) if name != names[place] else at for name in loops]
        plan = _remember(key, _plan(array, "taken", own, loops, loops.index(names[place]), ()))
    shape = (*array.shape[:place], len(indices), *array.shape[place + 1 :])
    sizes = dict(zip(letters(array.ndim), shape, strict=True))
    ready = plan.ready(sizes, tuple([n.bit_length() for n in shape]))
    return as_seen(ready([found.source, vector]), found.axes)


def elements(array: Any, indices: Sequence[Any]) -> Any:
    """The elements of an array at coordinates within bounds, one vector of them for each
    dimension: a NumPy array."""
    found = stored(array)
    key = ("elements", found.axes, found.source.signature, hub().generation)
    plan = _plans.get(key)
    if plan is None:
        own = [Access(f"x{axis}", (Index("i0"),)) for axis in found.axes]
        value = Access("a", tuple(own))
        store = Loop(Index("i0"), None, Update(programs.access("out", ("i0",)), None, value))
        body = Sequential((Declare("out", Literal(array.fill_value, array.dtype)), store))
        params = ("out", "a", *[f"x{axis}" for axis in range(array.ndim)])
        format = structures.dense_levels(1, structures.leaf_for(array.fill_value, array.dtype))
        program = Program("elements", params, body, (), ("out",))
        plan = _remember(key, plan_of(program, ("i0",), format))
    vectors = [array_of(np.ascontiguousarray(index, np.intp)) for index in indices]
    ready = plan.ready({"i0": len(indices[0])}, None)
    return ready([found.source, *vectors]).to_numpy()


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
        plan = _remember(key, _plan(array, "diagonal", own, loops, len(kept), ("row", "column")))
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
    array: Any, name: str, own: Sequence[Expr], loops: Indices, place: int, numbers: Indices
) -> Plan:
    """The plan of ``out[loops] = array[own]``, where the elements along loop ``place`` are any of
    those of the array."""
    format = _format(array, name, loops, place)
    fill = format.fill_value
    value = Access("a", tuple(own))
    store: Stmt = Update(programs.access("out", loops), None, value)
    if any(level.structure.gaps for level in format.levels()[:-1]):
        store = Sieve(programs.differs(value, fill, format.dtype), store)
    given = numbers and loops[place]
    for loop in reversed(loops):
        extent = Extent(Literal(0, int), Name("n")) if loop == given else None
        store = Loop(Index(loop), extent, store)
    extended = (*numbers, "n") if numbers else ()
    params = ("out", "a", *(extended or ("indices",)))
    body = Sequential((Declare("out", Literal(fill, format.dtype)), store))
    return plan_of(Program(name, params, body, (), ("out",)), loops, format, extended)


def _format(array: Any, name: str, loops: Indices, place: int) -> Format:
    """The format of the result: along ``place``, elements are not next to those that they are next
    to in the array."""
    found = stored(array)
    kinds = [kinds_of(array)[axis] for axis in found.axes]
    levels = [[level] for level in levels_of(found.source) or ()] or [[] for _ in kinds]
    if name == "diagonal":
        rest = [k for k, axis in enumerate(found.axes) if axis < array.ndim - 2]
        both = [kinds[k] for k in range(array.ndim) if k not in rest]
        pieces = max(kind.pieces for kind in both)
        gaps = any(kind.gaps for kind in kinds)
        kind = structures.LISTED if gaps else evolve(structures.DENSE, pieces=pieces)
        kinds = [*[kinds[k] for k in rest], kind]
        levels = [*[levels[k] for k in rest], []]
    kinds[place] = evolve(kinds[place], single=False, pads=False)
    leaf = structures.leaf_for(array.fill_value, array.dtype)
    return structures.nested(kinds, levels, leaf)


__all__ = ["diagonal", "elements", "taken"]
