"""Reductions with operators into which a fill enters once: of what is stored, then of the fill.

The maximum along the first dimension of rows is the greatest element that each column stores, which
one walk of the rows finds in any order, and the fill where a column stores less than all: the rows
are not copied into columns. Where a result has many more elements than are stored, these are sorted
instead, so that work and memory are those of what is stored.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from finch_array import plans
from finch_array.leaves import differs, relabelled, same, stored_values
from finch_array.operands import entries, has_memory, is_dense, kinds_of, stored
from finch_array.requests import Request, Value, letters
from finch_array.run import coordinates, is_short, run, sorted_tensor
from finch_array.scalars import scalar_tensor
from finch_array.sorted_coordinates import order_of
from finch_core.interface.plugins import when_plugins_change
from finch_core.interface.structure import Pieces
from finch_core.ir import primitives as prim
from finch_core.ir.expressions import Call, Expr, Literal, alike
from finch_core.ir.operators import Operator
from finch_core.ir.program import Stored
from finch_core.records import frozen
from finch_core.runtime.lists import memory_of
from finch_core.runtime.tensor import Tensor

UFUNCS: dict[Operator, Any] = {
    prim.maximum: np.maximum, prim.minimum: np.minimum, prim.and_: np.logical_and,
    prim.or_: np.logical_or, prim.bitand: np.bitwise_and, prim.bitor: np.bitwise_or,
    prim.mul: np.multiply, prim.add: np.add,
}  # fmt: skip
"""The operators, as NumPy's functions. Products are those with the fill 0: it may enter once, after
what is stored, unless that became infinite or NaN. Sums, and products with other fills, into which
a fill enters as often as it stands, are of lists alone whose results are much longer than what is
stored."""
_REPEATED: dict[Any, Any] = {np.add: np.multiply, np.multiply: np.power}

SPARE, LEAST = 64, 1 << 18
"""Lists whose outermost dimensions stay are sorted for results of at least ``SPARE`` times their
entries plus ``LEAST`` elements: a loop over all elements takes longer."""

MOST = 1024


@frozen(eq=False)
class _Way:
    """How arrays of one signature are reduced, from ``start`` on.

    ``inner`` is whether a dimension that stays is stored inside of one that does not, ``lists``
    whether all levels store single elements; ``whole`` whether none stays, and each element that is
    stored is a value of the array's."""

    ufunc: Any
    dtype: np.dtype[Any]
    start: Any
    fill: Any
    inner: bool
    lists: bool
    whole: bool
    repeats: bool = False
    """Whether the fill enters as often as it stands."""

    def of_fills(self, counts: Any) -> Any:
        """The reduction of the fill alone, so often, which is once or more."""
        if not self.repeats:
            return np.full(counts.shape, self.fill)
        kind = self.dtype.kind  # integers of 64 bits wrap to those of fewer
        wide = np.dtype(f"{kind}8")
        with np.errstate(all="ignore"):
            found = _REPEATED[self.ufunc](self.fill.astype(wide), counts.astype(wide))
            return found.astype(self.dtype)

    def with_fills(self, values: Any, counts: Any) -> Any:
        """The reduction of ``values``, and the fill so often. A product of fills that overflows, or
        becomes 0, is not: 0 and infinite values times it remain what they are."""
        fills = self.of_fills(counts)
        found = self.ufunc(values, fills)
        if self.repeats and self.ufunc is np.multiply and self.dtype.kind == "f":
            stays = (values == 0) | np.isinf(values)
            if self.fill and np.isfinite(self.fill):
                found = np.where(stays, values * np.copysign(self.dtype.type(1), fills), found)
        return found


_ways: dict[Any, _Way | None] = {}
when_plugins_change(_ways.clear)


def reduced(
    name: str, op: Operator, array: Any, axes: tuple[int, ...], value: Value | None, dtype: Any
) -> Any:
    """``array`` reduced along ``axes``; ``value`` casts an element to ``dtype``, where it is given.
    The result is as that of loops over all of its elements; None where these are as good."""
    key = op, array.signature, axes, dtype
    try:
        way = _ways[key]
    except KeyError:
        if len(_ways) >= MOST:
            _ways.clear()
        way = _ways[key] = _way_of(op, array, axes, dtype)
    if way is None:
        return None
    cells, count = 1, 1
    for k, n in enumerate(array.shape):
        if k in axes:
            count *= n
        else:
            cells *= n
    if not cells or not count:
        return None
    if way.whole:
        return _of_values(array, way, count)
    there = entries(array)
    if not plans.is_room_for(cells, there):
        if not way.inner and cells < SPARE * there + LEAST:
            return None
        return _of_sorted(array, axes, way, count)
    return _of_scattered(name, op, array, axes, value, way, count) if way.inner else None


def _way_of(op: Operator, array: Any, axes: tuple[int, ...], dtype: Any) -> _Way | None:
    """The way in which arrays like this are reduced; None for the general one."""
    if not has_memory(array) or is_dense(array) or not axes:
        return None
    found = stored(array)
    if not isinstance(found.source, Tensor) or not any(kind.gaps for kind in kinds_of(array)):
        return None
    dtype = array.dtype if dtype is None else dtype
    repeats = False
    if op in (prim.mul, prim.add):
        if dtype.kind not in "iuf":
            return None
        zero = alike(array.fill_value, _zero(array))
        if op is prim.add and zero:
            return None
        repeats = op is prim.add or not zero
    if dtype.kind not in "biuf" or op.identity is None:
        return None
    start, fill = op.identity(dtype), np.asarray(array.fill_value).astype(dtype)[()]
    if len(axes) == array.ndim:
        layouts = [level.layout for level in found.source.format.levels()]
        if (
            op in (prim.mul, prim.add)
            or not {"compressed", "dense"}.issuperset(layouts[:-1])
            or layouts[-1] != "values"
        ):
            return None
        return _Way(UFUNCS[op], dtype, start, fill, inner=False, lists=False, whole=True)
    stay = [axis not in axes for axis in found.axes]
    inner = stay != sorted(stay, reverse=True)
    lists = all(kind.gaps and kind.pieces is Pieces.POINTS for kind in kinds_of(array))
    inner = inner and not repeats
    if alike(start, fill) or not (inner or lists):
        return None
    return _Way(UFUNCS[op], dtype, start, fill, inner, lists, whole=False, repeats=repeats)


def _zero(array: Any) -> Any:
    return array.dtype.type(0)


def _of_values(array: Any, way: _Way, count: int) -> Any:
    """The reduction of all elements: of the values that are stored, then of the fill."""
    source = stored(array).source
    values: Any = stored_values(source)
    found = way.ufunc.reduce(values) if len(values) else way.start
    if len(values) < count:
        found = way.ufunc(found, way.fill)
    return scalar_tensor(way.dtype.type(found))


def _of_scattered(
    name: str, op: Operator, array: Any, axes: tuple[int, ...], value: Value | None, way: _Way,
    count: int,
) -> Any:  # fmt: skip
    """The reduction by a walk of what is stored."""
    found = _over_stored(name, op, array, axes, value or _itself, way.dtype, way.start)
    values = memory_of(found) if found.__class__ is Tensor else None
    if values is None:
        return None
    if op is prim.mul and not np.isfinite(values).all():
        return None
    filled = way.ufunc(values, way.fill)
    if not same(filled, values).all():
        counts = _over_stored("stored", prim.add, array, axes, _one, _COUNT, _COUNT.type(0))
        np.copyto(values, filled, where=counts.to_numpy() < count)
    there = 0 if is_short(len(values), 0) else int(stored(array).source.nnz)
    if values.ndim == 1 and is_short(len(values), there):
        return relabelled(found, way.fill)
    coords = np.nonzero(differs(values, way.fill))
    return sorted_tensor(values.shape, coords, values[coords], way.fill, there)


_COUNT = np.dtype(np.int64)


def _itself(expr: Expr) -> Expr:
    return expr


def _one(_: Expr) -> Expr:
    return Literal(_COUNT.type(1), _COUNT)


def _over_stored(
    name: str, op: Operator, array: Any, axes: tuple[int, ...], value: Value,
    dtype: np.dtype[Any], start: Any,
) -> Any:  # fmt: skip
    """``value`` of the elements that ``array`` stores, reduced from ``start``, the identity, on."""

    def request() -> Request:
        names = letters(array.ndim)
        kept = tuple(n for k, n in enumerate(names) if k not in axes)
        none = Literal(start, dtype, structural=True)

        def where_stored(x: Expr) -> Expr:
            return Call(prim.ifelse, (Stored(x), value(x), none))

        return Request(name, where_stored, (names,), kept, op, dtype)

    return run(("of stored", name, op, array.ndim, axes, dtype), request, [array])


def _of_sorted(array: Any, axes: tuple[int, ...], way: _Way, count: int) -> Any:
    """The reduction by sorting what is stored."""
    shape, coords, values = coordinates(array)
    there, fill = len(values), way.of_fills(np.array([count]))[0]
    kept = [k for k in range(array.ndim) if k not in axes]
    shape, coords = tuple(shape[k] for k in kept), [coords[k] for k in kept]
    if there:
        order = order_of(shape, coords)
        if order is not None:
            coords, values = [c[order] for c in coords], values[order]
        first = np.zeros(there, bool)
        first[0] = True
        for c in coords:
            first[1:] |= c[1:] != c[:-1]
        starts = np.flatnonzero(first)
        with np.errstate(all="ignore"):
            values = way.ufunc.reduceat(values.astype(way.dtype), starts)
        if way.ufunc is np.multiply and not way.repeats and not np.isfinite(values).all():
            return None
        absent = count - np.diff(starts, append=there)
        with np.errstate(all="ignore"):
            values = np.where(absent > 0, way.with_fills(values, absent), values)
        keep = differs(values, fill)
        coords, values = [c[starts[keep]] for c in coords], values[keep]
    return sorted_tensor(shape, coords, values.astype(way.dtype), fill, there)


__all__ = ["UFUNCS", "reduced"]
