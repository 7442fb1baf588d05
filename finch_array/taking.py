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
from finch_core.interface.structure import Structure
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
        format = _taken_format(array, found.axes.index(place))
        plan = _remember(key, _plan("taken", own, loops, format))
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
        format = _diagonal_format(array)
        plan = _remember(key, _plan("diagonal", own, loops, format, ("row", "column", "n")))
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
    name: str, own: Sequence[Expr], loops: Indices, format: Format, numbers: Indices = ()
) -> Plan:
    """The plan of ``out[loops] = a[own]``: of ``indices``, or for so many ``n`` of the last loop as
    is the last of some ``numbers``."""
    fill, extent = format.fill_value, None
    store: Stmt = Update(programs.access("out", loops), None, Access("a", tuple(own)))
    if any(level.structure.gaps for level in format.levels()[:-1]):
        store = Sieve(programs.differs(Access("a", tuple(own)), fill, format.dtype), store)
    if numbers:
        extent = Extent(Literal(0, int), Name(numbers[-1]))
    for loop in reversed(loops):
        store, extent = Loop(Index(loop), extent, store), None
    params = ("out", "a", *(numbers or ("indices",)))
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


__all__ = ["diagonal", "elements", "taken"]
