"""Cumulative sums, products, extremes and others: recurrences along an axis, run by one kernel.

Where the fill, met again, changes nothing more (0 in a sum, any in a maximum), the result is
constant between stored elements, and is stored as runs: two for each stored element at most.
Otherwise each element is another one, and the result is dense, computed by NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from finch_array import programs, structures
from finch_array.axes import axis_of
from finch_array.fiber_rows import as_rows, below
from finch_array.joining import has_structure
from finch_array.manipulation import concat, reshape
from finch_array.operands import array_of, is_dense, stored
from finch_array.plans import Plan
from finch_array.ready import Ready, warn_dense, warn_if_dense
from finch_array.reductions import array_operand, folded_dtype, folding, sum_dtype
from finch_array.requests import letters
from finch_array.run import as_seen, coordinates, materialised, reordered, sorted_tensor
from finch_array.written_plans import plan_of
from finch_core.errors import DimensionMismatch
from finch_core.interface.level import Format
from finch_core.interface.plugins import hub
from finch_core.interface.structure import Pieces, Structure
from finch_core.ir.expressions import Access, Cast, Index, Literal, alike
from finch_core.ir.operators import Operator, cast_value
from finch_core.ir.program import Declare, Local, Loop, Program, Sequential, Stmt, Update
from finch_core.records import evolve
from finch_core.runtime.tensor import Tensor


def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """The sums of the elements up to each one along ``axis``; with ``include_initial``, a 0 before
    them. Of sparse arrays whose fill is 0 in runs."""
    return _cumulated("cumulative_sum", np.add, x, axis, dtype, include_initial)


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """The products of the elements up to each one along ``axis``; with ``include_initial``, a 1
    before them. Of sparse arrays whose fill is 1 in runs."""
    return _cumulated("cumulative_prod", np.multiply, x, axis, dtype, include_initial)


def accumulated(ufunc: np.ufunc, x: Any, axis: Any = 0, dtype: Any = None) -> Any:
    """``ufunc.accumulate``: the results of the elements up to each one along ``axis``, in the dtype
    of NumPy's. Raises ``TypeError`` for an array without dimensions, and where NumPy's ufunc has no
    such dtype."""
    array = array_operand(x)
    if not array.ndim:
        raise TypeError(f"{ufunc.__name__}.accumulate is along an axis, which a number has not")
    return _cumulated(f"{ufunc.__name__}.accumulate", ufunc, array, axis, dtype, False)


def _cumulated(name: str, ufunc: np.ufunc, x: Any, axis: Any, dtype: Any, initial: bool) -> Any:
    array, op = array_operand(x), folding(ufunc)
    if axis is None:
        if array.ndim > 1:
            raise DimensionMismatch(f"an array of {array.ndim} dimensions needs an axis")
        axis = 0
    array = array if array.ndim else reshape(array, (1,))
    place = axis_of(axis, array.ndim)
    if ufunc in (np.add, np.multiply):
        wanted = sum_dtype(array.dtype) if dtype is None else np.dtype(dtype)
    else:
        wanted = folded_dtype(ufunc, array.dtype, dtype)
    assert op is not None
    assert op.identity is not None
    start = op.identity(wanted)
    if initial:
        ends = list(array.shape)
        ends[place] = 1
        array = concat([np.full(ends, start, array.dtype), array], axis=place)
    fill = cast_value(array.fill_value, wanted)
    if start is None or is_dense(array) or not _settles(op, fill, start):
        warn_dense(name, array.shape, wanted, [array])
        with np.errstate(all="ignore"):
            return array_of(ufunc.accumulate(array.to_numpy(), axis=place, dtype=wanted))
    return _of_sparse(name, op, fill, array, place)


def _settles(op: Operator, fill: Any, start: Any) -> bool:
    """Whether the result stays the same from the second of adjacent fills on. A fill that a kernel
    takes for the result whatever came before, as an infinity in a maximum, may stand behind NaN."""
    if alike(fill, start):
        return True
    kind, ends = fill.dtype.kind, op.annihilator
    exact = ends is None or kind in op.exact_annihilator or not alike(fill, ends(fill.dtype))
    return op.idempotent and exact


def _of_sparse(name: str, op: Operator, fill: Any, array: Any, axis: int) -> Any:
    """The recurrence over an array with the axis last, whose dimensions are moved back."""
    order = [*(k for k in range(array.ndim) if k != axis), axis]
    own = _in_order(array, order)
    format = _kept_format(own, fill)
    above = own.format.levels()[:-2]
    if format is None and not has_structure(own) and any(x.layout != "dense" for x in above):
        # in lists, whose levels are kept
        shape, coords, values = coordinates(own)
        own = sorted_tensor(shape, coords, values, own.fill_value, of=(own,), in_order=True)
        format = _kept_format(own, fill)
    if format is not None and (rows := as_rows(own)) is not None:
        found = _ran(name, op, fill, rows)
        return as_seen(below(own, found, format), order)
    return as_seen(_ran(name, op, fill, own), order)


def _kept_format(array: Tensor, fill: Any) -> Format | None:
    """The format of the result if it has the outer levels of its operand, other than one dense
    level alone."""
    key = (array.signature, fill.dtype, hub().generation)
    if key not in _kept:
        if len(_kept) >= MOST:
            _kept.clear()
        format = _format(array, fill)
        before, after = array.format.levels(), format.levels()
        leaf = after[-1]
        deep = len(before) > 3 or (len(before) == 3 and before[0].layout != "dense")
        pairs = zip(before[:-2], after[:-2], strict=True)
        same = all(evolve(one, lvl=leaf) == evolve(other, lvl=leaf) for one, other in pairs)  # type: ignore[misc]
        _kept[key] = format if deep and same else None
    return _kept[key]


def _ran(name: str, op: Operator, fill: Any, own: Tensor) -> Tensor:
    """The recurrence over the last dimension, by a kernel."""
    key = (name, own.signature, own.shape, fill.dtype, hub().generation)
    ready = _calls.get(key)
    if ready is None:
        if len(_calls) >= MOST:
            _calls.clear()
        ready = _calls[key] = _ready(name, op, fill, own)
    warn_if_dense(name, ready.plan.format, own.shape, [own])
    found: Tensor = ready([own])
    return found


MOST = 1024
"""The most calls that are remembered; beyond it all are forgotten."""
_kept: dict[Any, Format | None] = {}
_calls: dict[Any, Ready] = {}
_plans: dict[Any, Plan] = {}


def _ready(name: str, op: Operator, fill: Any, array: Tensor) -> Ready:
    """What is left of calls on tensors of this format and shape."""
    names = letters(array.ndim)
    key = (name, array.signature, fill.dtype, hub().generation)
    plan = _plans.get(key)
    if plan is None:
        if len(_plans) >= MOST:
            _plans.clear()
        program = _program(name, op, array.ndim, fill)
        plan = _plans[key] = plan_of(program, names, _format(array, fill))
    return plan.ready(dict(zip(names, array.shape, strict=True)), None)


def _in_order(array: Any, order: list[int]) -> Tensor:
    """A tensor whose dimension ``k``, as it is stored, is dimension ``order[k]`` of ``array``."""
    found = stored(array)
    if list(found.axes) == order:
        source = found.source
        return source if isinstance(source, Tensor) else materialised(source)
    return reordered(found.source, [found.axes.index(k) for k in order])


def _format(array: Tensor, fill: Any) -> Format:
    """The format of the result for an operand that is stored in order, the axis last."""
    levels = array.format.levels()[:-1]
    wanted = [_of_many(level.structure) for level in levels]
    wanted[-1] = Structure(Pieces.RUNS, gaps=False) if wanted[-1].gaps else structures.DENSE
    leaf = structures.leaf_for(fill, fill.dtype)
    return structures.nested(wanted, [[level] for level in levels], leaf)


def _of_many(level: Structure) -> Structure:
    """The structure of an outer level of the result, which takes all indices: elements along outer
    dimensions are all written, also where they are the fill. One block holds any of them."""
    return evolve(level, single=level.single and level.pieces is Pieces.BLOCKS)


def _program(name: str, op: Operator, ndim: int, fill: Any) -> Program:
    """``for i, ...: t = start; for j: t op= a[i, ..., j]; out[i, ..., j] = t``."""
    names, total = letters(ndim), Access(programs.TOTAL, ())
    add = Update(total, op, Cast(programs.access("a", names), fill.dtype))
    store = Update(programs.access("out", names), None, total)
    assert op.identity is not None
    first = Literal(op.identity(fill.dtype), fill.dtype)
    body: Stmt = Loop(Index(names[-1]), None, Sequential((add, store)))
    body = Sequential((Declare(programs.TOTAL, first), body))
    for outer in reversed(names[:-1]):
        body = Loop(Index(outer), None, body)
    whole = Sequential((Declare("out", Literal(fill, fill.dtype)), body))
    locals_ = (Local(programs.TOTAL, programs.total_format(first.value, fill.dtype)),)
    return Program(name, ("out", "a"), whole, locals_, ("out",))
