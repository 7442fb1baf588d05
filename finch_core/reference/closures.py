"""Assembly as Python closures: what the reference interpreter runs.

Each node becomes a closure over a frame once; running is calling. A frame is a list: what belongs
to the whole call, then variables and buffers (NumPy arrays as long as the buffer has room) in the
places that ``Scope`` gives them. Values are NumPy scalars of the exact dtype, but for int64 and
bool, which are Python's (sums of int64 wrap by hand): loops over positions are most of the work.
"""

from __future__ import annotations

import operator as py
from collections.abc import Callable, Sequence
from functools import singledispatch
from typing import Any, NoReturn

import numpy as np

from finch_core.ir import primitives as prim
from finch_core.ir.assembly import (
    OUT_OF_MEMORY,
    Assign,
    Block,
    Break,
    Comment,
    Fail,
    Fill,
    For,
    Function,
    Grow,
    If,
    Let,
    Move,
    Prefetch,
    Return,
    Sort,
    Statement,
    Store,
    While,
)
from finch_core.ir.assembly_text import block_text, expr_text
from finch_core.ir.dtypes import BOOL, Type, concrete
from finch_core.ir.expressions import (
    Buffer,
    Call,
    Cast,
    Expr,
    Invoke,
    Length,
    Literal,
    Load,
    Overlaps,
    Var,
)
from finch_core.ir.operators import Operator, cast_value, literal_value
from finch_core.records import define, frozen

INT64 = np.dtype(np.int64)
POISON = 0xA5
"""Fills new room, so that a read of what nobody wrote shows as a wrong answer."""

Frame = list[Any]
Code = Callable[[Frame], Any]

CALL, RESULT, FIRST = 0, 1, 2
"""Places of a frame: what belongs to the whole call, a function's result, the first free one."""

BREAKING, RETURNING = "break", "return"


class AssemblyFault(AssertionError):
    """Assembly that does what no correct compiler emits, such as a load out of bounds."""


class Failure(Exception):
    """A kernel that leaves through ``Fail`` or runs out of memory."""

    def __init__(self, site: int, values: tuple[int, ...] = ()) -> None:
        self.site, self.values = site, values


@define
class Memory:
    """Where a call's ``Grow`` gets memory; allocation number ``fail_alloc`` (from 0) fails."""

    fail_alloc: int | None = None
    count: int = 0

    def allocate(self, size: int, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """Poisoned room for ``size`` elements; raises ``Failure`` if there is none."""
        self.count += 1
        if self.count - 1 == self.fail_alloc:
            raise Failure(OUT_OF_MEMORY)
        try:
            room = np.empty(size * dtype.itemsize, np.uint8)
        except (MemoryError, ValueError):
            raise Failure(OUT_OF_MEMORY) from None
        room[:] = POISON
        return room.view(dtype)


class Scope:
    """The places of the names of one kernel or function, and the code of its expressions."""

    def __init__(self, functions: dict[str, Routine]) -> None:
        self.functions = functions
        self._places: dict[str, int] = {}
        self._codes: dict[Expr, Code] = {}

    def place(self, target: Var | Buffer) -> int:
        """Where the variable or buffer of this name is in a frame."""
        return self._places.setdefault(target.name, FIRST + len(self._places))

    def frame(self, memory: Memory) -> Frame:
        """An empty frame."""
        return [memory, None, *[None] * len(self._places)]

    def code(self, expr: Expr) -> Code:
        """The closure that evaluates ``expr``."""
        code = self._codes.get(expr)
        if code is None:
            code = self._codes[expr] = _evaluate(expr, self)
        return code


@frozen
class Routine:
    """The code of a ``Function``."""

    scope: Scope
    params: tuple[int, ...]
    body: Code

    def __call__(self, memory: Memory, args: Sequence[Any]) -> Any:
        frame = self.scope.frame(memory)
        for place, arg in zip(self.params, args, strict=True):
            frame[place] = arg
        self.body(frame)
        return frame[RESULT]


def routine(function: Function, functions: dict[str, Routine]) -> Routine:
    """The code of ``function``, which calls only ``functions``."""
    scope = Scope(functions)
    params = tuple(map(scope.place, function.params))
    return Routine(scope, params, block_code(function.body, scope))


# -- values ---------------------------------------------------------------------------------


def wrap(value: int) -> int:
    """An integer modulo 2**64, as int64 has it."""
    return (value + 2**63) % 2**64 - 2**63


def plain(value: Any, dtype: Type) -> Any:
    """A NumPy scalar as frames hold it."""
    return value.item() if dtype in (INT64, BOOL) else value


def scalar(value: Any, dtype: Type) -> Any:
    """A value of a frame as a NumPy scalar."""
    if dtype == INT64:
        return np.int64(value)
    return np.bool_(value) if dtype == BOOL else value


def _wrapping(function: Callable[[int, int], int]) -> Callable[[int, int], int]:
    return lambda a, b: wrap(function(a, b))


# The same meaning as ``Operator.evaluate``, quicker; tests compare the two.
_INT64: dict[Operator, Callable[..., Any]] = {
    prim.add: _wrapping(py.add),
    prim.sub: _wrapping(py.sub),
    prim.mul: _wrapping(py.mul),
    prim.floordiv: lambda a, b: wrap(a // b) if b else 0,
    prim.mod: lambda a, b: a % b if b else 0,
    prim.neg: lambda a: wrap(-a),
    prim.bitand: py.and_,
    prim.bitor: py.or_,
    prim.bitxor: py.xor,
    prim.invert: py.invert,
    prim.minimum_: min,
    prim.maximum_: max,
    prim.lt: py.lt,
    prim.le: py.le,
    prim.gt: py.gt,
    prim.ge: py.ge,
    prim.eq: py.eq,
    prim.ne: py.ne,
}
_FLOAT: dict[Operator, Callable[..., Any]] = {
    prim.add: py.add,
    prim.sub: py.sub,
    prim.mul: py.mul,
}


def operator_code(op: Operator, dtypes: tuple[Type, ...]) -> Callable[..., Any]:
    """``op`` on values of frames."""
    if all(dtype == INT64 for dtype in dtypes) and op in _INT64:
        return _INT64[op]
    if all(concrete(dtype).kind == "f" for dtype in dtypes) and op in _FLOAT:
        return _FLOAT[op]
    evaluate, result = op.evaluate, op.result(*dtypes)

    def apply(*args: Any) -> Any:
        return plain(evaluate(*map(scalar, args, dtypes)), result)

    return apply


# -- expressions ----------------------------------------------------------------------------


@singledispatch
def _evaluate(expr: Expr, scope: Scope) -> Code:
    raise AssemblyFault(f"no expression of assembly: {expr!r}")


@_evaluate.register
def _(expr: Literal, scope: Scope) -> Code:
    value = plain(literal_value(expr.value, expr.type), concrete(expr.type))
    return lambda frame: value


@_evaluate.register
def _(expr: Var, scope: Scope) -> Code:
    return py.itemgetter(scope.place(expr))


@_evaluate.register
def _(expr: Call, scope: Scope) -> Code:
    codes = tuple(map(scope.code, expr.args))
    lazy = _LAZY.get(expr.op)
    if lazy is not None:
        return lazy(*codes)
    return _apply(operator_code(expr.op, tuple(arg.dtype for arg in expr.args)), codes)


def _apply(function: Callable[..., Any], codes: tuple[Code, ...]) -> Code:
    if len(codes) == 1:
        (only,) = codes
        return lambda frame: function(only(frame))
    if len(codes) == 2:
        first, second = codes
        return lambda frame: function(first(frame), second(frame))
    return lambda frame: function(*[code(frame) for code in codes])


_LAZY: dict[Operator, Callable[..., Code]] = {
    prim.and_: lambda a, b: lambda frame: a(frame) and b(frame),
    prim.or_: lambda a, b: lambda frame: a(frame) or b(frame),
    prim.ifelse: lambda c, a, b: lambda frame: a(frame) if c(frame) else b(frame),
}


@_evaluate.register
def _(expr: Cast, scope: Scope) -> Code:
    code, source, target = scope.code(expr.value), concrete(expr.value.dtype), expr.type
    if target == INT64 and source.kind in "biu":
        return lambda frame: wrap(int(code(frame)))
    return lambda frame: plain(cast_value(scalar(code(frame), source), target), target)


@_evaluate.register
def _(expr: Load, scope: Scope) -> Code:
    place, index, read = scope.place(expr.buffer), scope.code(expr.index), reader(expr.dtype)

    def load(frame: Frame) -> Any:
        array, at = frame[place], index(frame)
        if not 0 <= at < len(array):
            _out_of_bounds(expr_text(expr), at, at + 1, array)
        return read(array, at)

    return load


def reader(dtype: Type) -> Callable[[Any, int], Any]:
    """How an element of an array is read: tuples are copied, as NumPy gives a view of them."""
    if dtype in (INT64, BOOL):
        return lambda array, at: array.item(at)
    if concrete(dtype).names:
        return lambda array, at: array[at].copy()
    return py.getitem


@_evaluate.register
def _(expr: Length, scope: Scope) -> Code:
    place = scope.place(expr.buffer)
    return lambda frame: len(frame[place])


@_evaluate.register
def _(expr: Overlaps, scope: Scope) -> Code:
    first, second = scope.place(expr.first), scope.place(expr.second)
    return lambda frame: bool(np.may_share_memory(frame[first], frame[second]))


@_evaluate.register
def _(expr: Invoke, scope: Scope) -> Code:
    function = scope.functions[expr.function.name]
    codes = tuple(
        py.itemgetter(scope.place(arg)) if isinstance(arg, Buffer) else scope.code(arg)
        for arg in expr.args
    )
    return lambda frame: function(frame[CALL], [code(frame) for code in codes])


def _out_of_bounds(text: str, start: int, stop: int, array: Any) -> NoReturn:
    what = f"[{start}:{stop}]" if stop - start != 1 else f"[{start}]"
    raise AssemblyFault(f"{text}: {what} is outside of {len(array)} elements")


# -- statements -----------------------------------------------------------------------------


def block_code(block: Block, scope: Scope) -> Code:
    """The closure that runs ``block``; it returns how control leaves, ``None`` for its end."""
    codes = tuple(_run(s, scope) for s in block.statements if not isinstance(s, Comment))
    if len(codes) == 1:
        return codes[0]

    def run(frame: Frame) -> str | None:
        for code in codes:
            leaving = code(frame)
            if leaving is not None:
                return leaving  # type: ignore[no-any-return]
        return None

    return run


@singledispatch
def _run(statement: Statement, scope: Scope) -> Code:
    raise AssemblyFault(f"no statement of assembly: {statement!r}")


@_run.register(Let)
@_run.register(Assign)
def _(statement: Let | Assign, scope: Scope) -> Code:
    place, value = scope.place(statement.var), scope.code(statement.value)

    def assign(frame: Frame) -> None:
        frame[place] = value(frame)

    return assign


@_run.register
def _(statement: Store, scope: Scope) -> Code:
    place, index = scope.place(statement.buffer), scope.code(statement.index)
    value = scope.code(statement.value)

    def store(frame: Frame) -> None:
        at, new = index(frame), value(frame)
        array = frame[place]
        if not 0 <= at < len(array):
            _out_of_bounds(_text(statement), at, at + 1, array)
        array[at] = new

    return store


@_run.register
def _(statement: For, scope: Scope) -> Code:
    place, body = scope.place(statement.var), block_code(statement.body, scope)
    start, stop = scope.code(statement.start), scope.code(statement.stop)

    def loop(frame: Frame) -> str | None:
        for at in range(start(frame), stop(frame)):
            frame[place] = at
            leaving = body(frame)
            if leaving is not None:
                return None if leaving is BREAKING else leaving
        return None

    return loop


@_run.register
def _(statement: While, scope: Scope) -> Code:
    cond, body = scope.code(statement.cond), block_code(statement.body, scope)

    def loop(frame: Frame) -> str | None:
        while cond(frame):
            leaving = body(frame)
            if leaving is not None:
                return None if leaving is BREAKING else leaving
        return None

    return loop


@_run.register
def _(statement: If, scope: Scope) -> Code:
    cond, body = scope.code(statement.cond), block_code(statement.body, scope)
    orelse = block_code(statement.orelse, scope)
    return lambda frame: body(frame) if cond(frame) else orelse(frame)


@_run.register
def _(statement: Break, scope: Scope) -> Code:
    return lambda frame: BREAKING


@_run.register
def _(statement: Return, scope: Scope) -> Code:
    value = scope.code(statement.value)

    def leave(frame: Frame) -> str:
        frame[RESULT] = value(frame)
        return RETURNING

    return leave


@_run.register
def _(statement: Fail, scope: Scope) -> Code:
    values = tuple(map(scope.code, statement.values))

    def fail(frame: Frame) -> NoReturn:
        raise Failure(statement.site, tuple(value(frame) for value in values))

    return fail


@_run.register
def _(statement: Grow, scope: Scope) -> Code:
    place, size = scope.place(statement.buffer), scope.code(statement.size)

    def grow(frame: Frame) -> None:
        old, wanted = frame[place], size(frame)
        if wanted > len(old):
            new = frame[CALL].allocate(max(wanted, 2 * len(old)), old.dtype)
            new[: len(old)] = old
            frame[place] = new

    return grow


@_run.register
def _(statement: Fill, scope: Scope) -> Code:
    part = _part(statement, statement.start, statement.stop, scope)
    value = scope.code(statement.value)

    def fill(frame: Frame) -> None:
        new = value(frame)
        part(frame)[:] = new

    return fill


@_run.register
def _(statement: Sort, scope: Scope) -> Code:
    part = _part(statement, statement.start, statement.stop, scope)
    return lambda frame: part(frame).sort()


@_run.register
def _(statement: Prefetch, scope: Scope) -> Code:
    index = scope.code(statement.index)

    def prefetch(frame: Frame) -> None:
        index(frame)  # which tells whether its loads are within their buffers

    return prefetch


def _part(statement: Fill | Sort, start: Expr, stop: Expr, scope: Scope) -> Code:
    """The elements of ``statement.buffer`` from ``start`` to ``stop``, which must be inside."""
    place, first, last = scope.place(statement.buffer), scope.code(start), scope.code(stop)
    return lambda frame: _checked(statement, frame[place], first(frame), last(frame))


def _checked(statement: Statement, array: Any, start: int, stop: int) -> Any:
    if stop <= start:
        return array[:0]
    if start < 0 or stop > len(array):
        _out_of_bounds(_text(statement), start, stop, array)
    return array[start:stop]


@_run.register
def _(statement: Move, scope: Scope) -> Code:
    target, source = scope.place(statement.target), scope.place(statement.source)
    to, begin, count = map(scope.code, statement.expressions)

    def move(frame: Frame) -> None:
        into, out_of, number = to(frame), begin(frame), count(frame)
        read = _checked(statement, frame[source], out_of, out_of + number)
        _checked(statement, frame[target], into, into + number)[:] = read

    return move


def _text(statement: Statement) -> str:
    return block_text(Block((statement,))).rstrip("\n")
