"""Variances by one kernel: where the result is dense, of arrays of real numbers whose fill is 0.

The sum, the squares of what is stored and how much is stored are made in turn, so that a call costs
as much as that of a sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from finch_array import plans, programs
from finch_array.operands import has_memory, is_dense, tells_absent
from finch_array.ready import Ready, blank_of
from finch_array.requests import Request, letters
from finch_array.run import prepared
from finch_core.interface.plugins import hub
from finch_core.ir import primitives as prim
from finch_core.ir.expressions import Call, Cast, Expr, Index, Literal, Name
from finch_core.ir.operators import Operator
from finch_core.ir.program import (
    Declare,
    Local,
    Loop,
    Program,
    Sequential,
    Stmt,
    Stored,
    Update,
)
from finch_core.runtime.kernel import Kernel
from finch_core.runtime.options import LINEAR

MOST = 4096
"""The most calls that are remembered; beyond it all are forgotten."""
WIDE = np.dtype(np.float64)

_calls: dict[Any, Ready | None] = {}


def spread(
    array: Any, axes: tuple[int, ...], count: int, divisor: float, dtype: np.dtype[Any], of: Any
) -> Any:
    """The sum of squared distances from the mean of ``count`` elements along ``axes``, divided by
    ``divisor``, to which the operator ``of`` is applied (None: none); of ``dtype``. None where one
    kernel cannot do it: see above, and for what runs on several cores."""
    key = (array.signature, array.shape, axes, divisor, of, hub().generation)
    try:
        ready = _calls[key]
    except KeyError:
        if len(_calls) >= MOST:
            _calls.clear()
        ready = _calls[key] = _ready(array, axes, count, divisor, dtype, of)
    return None if ready is None else ready([array])


def _ready(
    array: Any, axes: tuple[int, ...], count: int, divisor: float, dtype: np.dtype[Any], of: Any
) -> Ready | None:
    if dtype.kind != "f" or not axes or not has_memory(array):
        return None
    if array.fill_value != 0 and (not is_dense(array) or tells_absent(array)):
        return None
    names = letters(array.ndim)
    kept = tuple(n for k, n in enumerate(names) if k not in axes)

    def value(x: Expr) -> Expr:
        return x if array.dtype == dtype else Cast(x, dtype)

    request = Request("var", value, (names,), kept, prim.add, dtype)
    key = ("spread", array.ndim, axes, dtype)
    known, operands = prepared(key, request, [array])
    plan = known.plan
    if operands[0] is not array or known.kernel is not plan.kernel or plan.extended:
        return None  # copied to be read in another order, or large
    if any(level.layout != "dense" for level in plan.format.levels()[:-1]):
        return None
    if plan.collects and known.cells > plans.DENSE_LEAST:
        return None  # which is dense for as many elements alone
    found = _plans.get((plan, of))
    if found is None:
        if len(_plans) >= MOST:
            _plans.clear()
        seen = plans.schedule(request, operands, known.sizes).seen
        read = value(seen.exprs[0])
        stored = Stored(seen.exprs[0])
        program = _program(read, stored, plan.order.loops, plan.stored, dtype, of)
        found = plans.Plan(
            request, plan.order, {},
            Kernel.of_program(program, LINEAR, quiet=True),
            format=plan.format, back=plan.back, stored=plan.stored, blank=blank_of(plan.format),
        )  # fmt: skip
        _plans[plan, of] = found
    numbers: Any = (WIDE.type(count), dtype.type(divisor))
    return Ready(
        found, known.sizes, found.kernel, known.shape, known.cells, found.blank(known.shape),
        numbers, None, found.back, False, None,
    )  # fmt: skip


_plans: dict[Any, plans.Plan] = {}


def _program(
    read: Expr, stored: Expr, loops: Sequence[str], kept: Sequence[str], dtype: np.dtype[Any],
    of: Operator | None,
) -> Program:  # fmt: skip
    """``out[kept] = of((squares + (n - stored) * mean ** 2) / d)``, from two walks of an array.

    Where the outermost loops are those of ``kept``, each row is walked twice; otherwise the array,
    with an element of each workspace for each of the result.
    """
    apart = tuple(loops[: len(kept)]) == tuple(kept)
    outer, inner = (loops[: len(kept)], loops[len(kept) :]) if apart else ((), loops)
    places: Sequence[str] = () if apart else kept
    total, mean, squares, there = (programs.access(w, places) for w in "tmsc")
    zero, none = Literal(dtype.type(0), dtype), Literal(WIDE.type(0), WIDE)
    nothing = Literal(dtype.type(0), dtype, structural=True)  # what is not stored adds nothing
    absent_none = Literal(WIDE.type(0), WIDE, structural=True)
    away = Call(prim.sub, (read, mean))
    square = Call(prim.ifelse, (stored, Call(prim.mul, (away, away)), nothing))
    one = Call(prim.ifelse, (stored, Literal(WIDE.type(1), WIDE), absent_none))
    absent = Call(prim.sub, (Name("n"), there))
    rest = Call(prim.mul, (Call(prim.mul, (mean, mean)), absent))
    whole = Call(
        prim.ifelse,
        (Call(prim.gt, (absent, none)), Cast(Call(prim.add, (squares, rest)), dtype), squares),
    )
    result: Expr = Call(prim.truediv, (whole, Name("d")))
    if of is not None:
        result = Call(of, (result,))
    count = Cast(Name("n"), dtype)
    steps = (
        Declare("t", zero),
        _nest(inner, Update(total, prim.add, read)),
        Declare("m", zero),
        _nest(places, Update(mean, None, Call(prim.truediv, (total, count)))),
        Declare("s", zero),
        Declare("c", none),
        _nest(inner, Sequential((Update(squares, prim.add, square), Update(there, prim.add, one)))),
        _nest(places, Update(programs.access("out", kept), None, result)),
    )
    body = Sequential((Declare("out", zero), _nest(outer, Sequential(steps))))
    locals_ = tuple(
        Local(name, programs.dense_workspace(len(places), kind))
        for name, kind in zip("tmsc", (dtype, dtype, dtype, WIDE), strict=True)
    )
    return Program("var", ("out", "a0", "n", "d"), body, locals_, ("out",))


def _nest(loops: Sequence[str], body: Stmt) -> Stmt:
    for name in reversed(loops):
        body = Loop(Index(name), None, body)
    return body


__all__ = ["spread"]
