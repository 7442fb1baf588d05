"""Expressions of assembly as Python closures, which the reference interpreter calls.

Each node is translated once into a closure that takes a frame (``statement_closures`` has the
statements). A frame is a list: the memory of the call, the result of a function, then the values
of variables and buffers at the positions that ``FrameLayout`` assigns. A buffer is a NumPy array
of its whole capacity. Values are NumPy scalars of the exact dtype, except that int64 and bool are
Python's, which is faster in the loops over positions that dominate; int64 arithmetic wraps
explicitly.
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
)
from finch_core.ir.assembly_text import expr_text
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
from finch_core.ir.python_code import wrap
from finch_core.records import define, frozen

INT64 = np.dtype(np.int64)
POISON = 0xA5
"""The byte that fills new memory, so that reading uninitialised elements gives wrong results."""

Frame = list[Any]
Code = Callable[[Frame], Any]

CALL, RESULT, FIRST = 0, 1, 2
"""Positions in a frame: the call's memory, a function's result, the first of the variables."""


class AssemblyFault(AssertionError):
    """A fault in assembly, such as a load out of bounds: an error of the compiler or a plugin."""


class Failure(Exception):
    """Raised when a kernel executes ``Fail`` or runs out of memory."""

    def __init__(self, site: int, values: tuple[int, ...] = ()) -> None:
        self.site, self.values = site, values


@define
class Memory:
    """The allocator of a call; allocation number ``fail_alloc`` (from 0) fails, for tests."""

    fail_alloc: int | None = None
    count: int = 0

    def allocate(self, size: int, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """A new array of ``size`` elements, filled with ``POISON``. Raises ``Failure`` if memory
        runs out."""
        self.count += 1
        if self.count - 1 == self.fail_alloc:
            raise Failure(OUT_OF_MEMORY)
        try:
            room = np.empty(size * dtype.itemsize, np.uint8)
        except (MemoryError, ValueError):
            raise Failure(OUT_OF_MEMORY) from None
        room[:] = POISON
        return room.view(dtype)


class FrameLayout:
    """The positions in a frame of the names of one kernel or function, and the closures of its
    expressions."""

    def __init__(self, functions: dict[str, Routine]) -> None:
        self.functions = functions
        self._places: dict[str, int] = {}
        self._codes: dict[Expr, Code] = {}

    def place(self, target: Var | Buffer) -> int:
        """The position of a variable or buffer in a frame."""
        return self._places.setdefault(target.name, FIRST + len(self._places))

    def frame(self, memory: Memory) -> Frame:
        """A new frame without values."""
        return [memory, None, *[None] * len(self._places)]

    def code(self, expr: Expr) -> Code:
        """The closure that evaluates ``expr``."""
        code = self._codes.get(expr)
        if code is None:
            code = self._codes[expr] = _evaluate(expr, self)
        return code


@frozen
class Routine:
    """A ``Function`` of assembly that can be called."""

    frames: FrameLayout
    params: tuple[int, ...]
    body: Code

    def __call__(self, memory: Memory, args: Sequence[Any]) -> Any:
        frame = self.frames.frame(memory)
        for place, arg in zip(self.params, args, strict=True):
            frame[place] = arg
        self.body(frame)
        return frame[RESULT]


# -- values ---------------------------------------------------------------------------------


def plain(value: Any, dtype: Type) -> Any:
    """A NumPy scalar as stored in a frame: int64 and bool become Python's."""
    return value.item() if dtype in (INT64, BOOL) else value


def scalar(value: Any, dtype: Type) -> Any:
    """A value from a frame as a NumPy scalar of ``dtype``."""
    if dtype == INT64:
        return np.int64(value)
    return np.bool_(value) if dtype == BOOL else value


def _wrapping(function: Callable[[int, int], int]) -> Callable[[int, int], int]:
    return lambda a, b: wrap(function(a, b))


# Faster equivalents of ``Operator.evaluate``; tests compare the two.
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
    """A function that applies ``op`` to values of frames of these dtypes."""
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
def _evaluate(expr: Expr, frames: FrameLayout) -> Code:
    raise AssemblyFault(f"no expression of assembly: {expr!r}")


@_evaluate.register(Literal)
def _(expr: Literal, frames: FrameLayout) -> Code:
    value = plain(literal_value(expr.value, expr.type), concrete(expr.type))
    return lambda frame: value


@_evaluate.register(Var)
def _(expr: Var, frames: FrameLayout) -> Code:
    return py.itemgetter(frames.place(expr))


@_evaluate.register(Call)
def _(expr: Call, frames: FrameLayout) -> Code:
    codes = tuple(map(frames.code, expr.args))
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


@_evaluate.register(Cast)
def _(expr: Cast, frames: FrameLayout) -> Code:
    code, source, target = frames.code(expr.value), concrete(expr.value.dtype), expr.type
    if target == INT64 and source.kind in "biu":
        return lambda frame: wrap(int(code(frame)))
    return lambda frame: plain(cast_value(scalar(code(frame), source), target), target)


@_evaluate.register(Load)
def _(expr: Load, frames: FrameLayout) -> Code:
    place, index, read = frames.place(expr.buffer), frames.code(expr.index), reader(expr.dtype)

    def load(frame: Frame) -> Any:
        array, at = frame[place], index(frame)
        if not 0 <= at < len(array):
            out_of_bounds(expr_text(expr), at, at + 1, array)
        return read(array, at)

    def load_nonnegative(frame: Frame) -> Any:
        value = load(frame)
        if value < 0:
            raise AssemblyFault(f"{expr_text(expr)} is {value}, and said not to be negative")
        return value

    return load_nonnegative if expr.buffer.nonnegative else load


def reader(dtype: Type) -> Callable[[Any, int], Any]:
    """A function that reads an element of an array; tuples are copied, since NumPy gives views."""
    if dtype in (INT64, BOOL):
        return lambda array, at: array.item(at)
    if concrete(dtype).names:
        return lambda array, at: array[at].copy()
    return py.getitem


@_evaluate.register(Length)
def _(expr: Length, frames: FrameLayout) -> Code:
    place = frames.place(expr.buffer)
    return lambda frame: len(frame[place])


@_evaluate.register(Overlaps)
def _(expr: Overlaps, frames: FrameLayout) -> Code:
    first, second = frames.place(expr.first), frames.place(expr.second)
    return lambda frame: bool(np.may_share_memory(frame[first], frame[second]))


@_evaluate.register(Invoke)
def _(expr: Invoke, frames: FrameLayout) -> Code:
    function = frames.functions[expr.function.name]
    codes = tuple(
        py.itemgetter(frames.place(arg)) if isinstance(arg, Buffer) else frames.code(arg)
        for arg in expr.args
    )
    return lambda frame: function(frame[CALL], [code(frame) for code in codes])


def out_of_bounds(text: str, start: int, stop: int, array: Any) -> NoReturn:
    """Raise ``AssemblyFault``: what ``text`` says reads or writes ``array[start:stop]``."""
    what = f"[{start}:{stop}]" if stop - start != 1 else f"[{start}]"
    raise AssemblyFault(f"{text}: {what} is outside of {len(array)} elements")
