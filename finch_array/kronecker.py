"""Kronecker products."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from finch_array import functions as fn
from finch_array import programs, structures
from finch_array.listed import dense_above_lists, listed
from finch_array.manipulation import check_size, expand_dims, reshape
from finch_array.operands import LONG, MOST, entries, has_gaps
from finch_array.plans import Plan
from finch_array.reductions import array_operand
from finch_array.requests import Indices, letters
from finch_array.run import coordinates, is_short, sorted_tensor
from finch_array.sorted_coordinates import order_of
from finch_array.written_plans import Known, again, plan_of, result_of, told
from finch_core.interface.level import Format
from finch_core.interface.plugins import when_plugins_change
from finch_core.ir import primitives as prim
from finch_core.ir.expressions import Access, Call, Cast, Index, Literal, Name
from finch_core.ir.program import (
    Declare,
    Extent,
    Local,
    Loop,
    Program,
    Sequential,
    Sieve,
    Stmt,
    Stored,
    Update,
)
from finch_core.runtime.tensor import Tensor
from finch_core.runtime.worth import are_few


def kron(x1: Any, x2: Any, /) -> Any:
    """The Kronecker product: blocks of ``x2``, scaled by the elements of ``x1``, of the dtype to
    which both are promoted; each dimension is as long as both of them multiplied."""
    a, b = array_operand(x1), array_operand(x2)
    key = told("kron", (a, b))
    if key is not None and (found := again(key, (a, b))) is not None:
        return found
    ndim = max(a.ndim, b.ndim)
    a = reshape(a, (1,) * (ndim - a.ndim) + a.shape)
    b = reshape(b, (1,) * (ndim - b.ndim) + b.shape)
    shape = tuple([m * n for m, n in zip(a.shape, b.shape, strict=True)])
    check_size(shape)
    if ndim and _is_of_stored(a, b):
        return _kron_of_stored(a, b, shape, key)
    wide = fn.multiply(
        expand_dims(a, axis=tuple(range(1, 2 * ndim, 2))),
        expand_dims(b, axis=tuple(range(0, 2 * ndim, 2))),
    )
    return reshape(wide, shape)


def _is_of_stored(a: Any, b: Any) -> bool:
    """Whether the products of two sparse arrays are 0 but for those of what both store."""
    if a.dtype.kind not in "biufc" or b.dtype.kind not in "biufc" or a.fill_value or b.fill_value:
        return False
    return has_gaps(a) and has_gaps(b)


def _kron_of_stored(a: Any, b: Any, shape: tuple[int, ...], called: Any) -> Any:
    """The Kronecker product from all pairs of stored elements; ``called`` is the key of the call
    on them, or on arrays of fewer dimensions."""
    format, dense = _kron_format(a, b, shape)
    key = ("kron", a.signature, b.signature)
    if format is not None and not (dense and are_few(key, entries(a) * entries(b))):
        return _kron_by_rows(key, a, b, shape, format, called)
    _, rows, ours = coordinates(a)
    sizes, columns, theirs = coordinates(b)
    with np.errstate(all="ignore"):
        values = np.multiply.outer(ours, theirs).reshape(-1)
    coords = [
        np.add.outer(r * n, c).reshape(-1) for r, n, c in zip(rows, sizes, columns, strict=True)
    ]
    in_order = a.__class__ is Tensor and b.__class__ is Tensor
    if in_order and len(shape) > 1:  # but for the pairs of each row
        order = order_of(shape[:-1], coords[:-1])
        if order is not None:
            coords, values = [c[order] for c in coords], values[order]
    kept = values != 0
    if not kept.all():
        coords, values = [c[kept] for c in coords], values[kept]
    if format is not None and dense is not None:
        return listed(format, shape, coords, values, in_order)
    fill = values.dtype.type(0)
    return sorted_tensor(shape, coords, values, fill, of=(a, b), in_order=in_order)


def _kron_format(a: Any, b: Any, shape: tuple[int, ...]) -> tuple[Any, int | None]:
    """The format of the Kronecker product of matrices that are dense but in their last dimension,
    and how many levels are dense before lists; None for others, whose rows would be looked for, or
    are many."""
    if a.__class__ is not Tensor or b.__class__ is not Tensor:
        return None, None
    there = entries(a) * entries(b)
    if shape[-1] > LONG + 4 * there or not is_short(math.prod(shape[:-1]), there):
        return None, None
    key = a.signature, b.signature
    known = _kron_formats.get(key)
    if known is None:
        if len(_kron_formats) >= MOST:
            _kron_formats.clear()
        known = _kron_formats[key] = _new_kron_format(a, b)
    return known


_kron_formats: dict[Any, tuple[Any, int | None]] = {}
when_plugins_change(_kron_formats.clear)


def _new_kron_format(a: Tensor, b: Tensor) -> tuple[Any, int | None]:
    dtype = np.result_type(a.dtype, b.dtype)
    above = [level for x in (a, b) for level in x.layout.levels[:-2]]
    if dtype.kind == "b" or any(level.layout != "dense" for level in above):
        return None, None
    kinds = [*[structures.DENSE] * (a.ndim - 1), structures.LISTED]
    offered = [[x.layout.levels[k] for x in (a, b)] for k in range(a.ndim)]
    format = structures.nested(kinds, offered, structures.leaf_for(dtype.type(0), dtype))
    return format, dense_above_lists(format)


def _kron_by_rows(
    key: Any, a: Tensor, b: Tensor, shape: tuple[int, ...], format: Any, called: Any
) -> Any:
    """The Kronecker product, each row of which is collected in a workspace from one row of ``a``
    and one of ``b``."""
    names = letters(len(shape))
    numbers = {f"b_{name}": n for name, n in zip(names, b.shape, strict=True)}
    numbers |= {f"n_{name}": n for name, n in zip(names, shape, strict=True)}

    def make(through: Callable[[Format], Format]) -> Plan:
        return _kron_plan(names, through(format), tuple(numbers), shape[-1])

    sizes = numbers | dict(zip(names, shape, strict=True))
    call = None
    if called == told("kron", (a, b)):
        call = Known(called, (0, 1), tuple(range(len(shape))))
    key = (*key, shape[-1] > programs.ROOM)
    return result_of(key, make, sizes, shape, [a, b], call)


def _kron_plan(names: Indices, format: Format, numbers: Indices, length: int) -> Plan:
    *outer, last = names
    left, right = Index("j"), Index("l")
    fill = Literal(format.fill_value, format.dtype)
    above = [(Index(name), Name(f"b_{name}")) for name in outer]
    ours = Access("a", (*[Call(prim.floordiv, pair) for pair in above], left))
    theirs = Access("b", (*[Call(prim.mod, pair) for pair in above], right))
    place = Call(prim.add, (Call(prim.mul, (left, Name(f"b_{last}"))), right))
    value = Call(prim.mul, (Cast(ours, format.dtype), Cast(theirs, format.dtype)))
    write = Update(Access(programs.WORKSPACE, (place,)), None, value)
    pairs = Sieve(Stored(ours), Loop(right, None, Sieve(Stored(theirs), write)))
    found = programs.access(programs.WORKSPACE, (last,))
    store: Stmt = Update(programs.access("out", names), None, found)
    store = Sieve(programs.differs(found, fill.value, format.dtype), store)
    body: Stmt = Sequential((
        Declare(programs.WORKSPACE, fill),
        Loop(left, None, pairs),
        Loop(Index(last), None, store),
    ))  # fmt: skip
    for name in reversed(outer):
        body = Loop(Index(name), Extent(Literal(0, int), Name(f"n_{name}")), body)
    leaf = structures.leaf_for(format.fill_value, format.dtype)
    work = Local(
        programs.WORKSPACE, programs.workspace_format([length], leaf), (Name(f"n_{last}"),)
    )
    whole = Sequential((Declare("out", fill), body))
    program = Program("kron", ("out", "a", "b", *numbers), whole, (work,), ("out",))
    return plan_of(program, names, format, numbers, programs.on_several_cores(program))
