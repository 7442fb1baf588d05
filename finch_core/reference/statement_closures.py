"""Statements of assembly as Python closures (see ``closures`` for frames and expressions)."""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NoReturn

from finch_core.ir.assembly import (
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
    Merge,
    Move,
    Parallel,
    Prefetch,
    Return,
    Sort,
    Statement,
    Store,
    Swap,
    While,
)
from finch_core.ir.assembly_text import block_text
from finch_core.ir.expressions import Expr
from finch_core.reference.closures import (
    CALL,
    RESULT,
    AssemblyFault,
    Code,
    Failure,
    Frame,
    FrameLayout,
    Routine,
    out_of_bounds,
)
from finch_core.reference.parallel_closures import parallel_code

BREAKING, RETURNING = "break", "return"


def routine(function: Function, functions: dict[str, Routine]) -> Routine:
    """Translate ``function``, which may call those in ``functions``."""
    frames = FrameLayout(functions)
    params = tuple(map(frames.place, function.params))
    return Routine(frames, params, block_code(function.body, frames))


def block_code(block: Block, frames: FrameLayout) -> Code:
    """The closure that runs ``block``. It returns ``BREAKING``, ``RETURNING``, or None at the
    end of the block."""
    codes = tuple(_run(s, frames) for s in block.statements if not isinstance(s, Comment))
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
def _run(statement: Statement, frames: FrameLayout) -> Code:
    raise AssemblyFault(f"no statement of assembly: {statement!r}")


@_run.register(Let)
@_run.register(Assign)
def _(statement: Let | Assign, frames: FrameLayout) -> Code:
    place, value = frames.place(statement.var), frames.code(statement.value)

    def assign(frame: Frame) -> None:
        frame[place] = value(frame)

    return assign


@_run.register(Store)
def _(statement: Store, frames: FrameLayout) -> Code:
    place, index = frames.place(statement.buffer), frames.code(statement.index)
    value = frames.code(statement.value)

    def store(frame: Frame) -> None:
        at, new = index(frame), value(frame)
        array = frame[place]
        if not 0 <= at < len(array):
            out_of_bounds(_text(statement), at, at + 1, array)
        array[at] = new

    return store


@_run.register(For)
def _(statement: For, frames: FrameLayout) -> Code:
    place, body = frames.place(statement.var), block_code(statement.body, frames)
    start, stop = frames.code(statement.start), frames.code(statement.stop)

    def loop(frame: Frame) -> str | None:
        for at in range(start(frame), stop(frame)):
            frame[place] = at
            leaving = body(frame)
            if leaving is not None:
                return None if leaving is BREAKING else leaving
        return None

    return loop


@_run.register(Parallel)
def _(statement: Parallel, frames: FrameLayout) -> Code:
    return parallel_code(statement, frames, block_code)


@_run.register(Merge)
def _(statement: Merge, frames: FrameLayout) -> Code:
    return block_code(statement.body, frames)


@_run.register(While)
def _(statement: While, frames: FrameLayout) -> Code:
    cond, body = frames.code(statement.cond), block_code(statement.body, frames)

    def loop(frame: Frame) -> str | None:
        while cond(frame):
            leaving = body(frame)
            if leaving is not None:
                return None if leaving is BREAKING else leaving
        return None

    return loop


@_run.register(If)
def _(statement: If, frames: FrameLayout) -> Code:
    cond, body = frames.code(statement.cond), block_code(statement.body, frames)
    orelse = block_code(statement.orelse, frames)
    return lambda frame: body(frame) if cond(frame) else orelse(frame)


@_run.register(Break)
def _(statement: Break, frames: FrameLayout) -> Code:
    return lambda frame: BREAKING


@_run.register(Return)
def _(statement: Return, frames: FrameLayout) -> Code:
    value = frames.code(statement.value)

    def leave(frame: Frame) -> str:
        frame[RESULT] = value(frame)
        return RETURNING

    return leave


@_run.register(Fail)
def _(statement: Fail, frames: FrameLayout) -> Code:
    values = tuple(map(frames.code, statement.values))

    def fail(frame: Frame) -> NoReturn:
        raise Failure(statement.site, tuple(value(frame) for value in values))

    return fail


@_run.register(Grow)
def _(statement: Grow, frames: FrameLayout) -> Code:
    place, size = frames.place(statement.buffer), frames.code(statement.size)

    def grow(frame: Frame) -> None:
        old, wanted = frame[place], size(frame)
        if wanted > len(old):
            new = frame[CALL].allocate(max(wanted, 2 * len(old)), old.dtype)
            new[: len(old)] = old
            frame[place] = new

    return grow


@_run.register(Fill)
def _(statement: Fill, frames: FrameLayout) -> Code:
    part = _part(statement, statement.start, statement.stop, frames)
    value = frames.code(statement.value)

    def fill(frame: Frame) -> None:
        new = value(frame)
        part(frame)[:] = new

    return fill


@_run.register(Sort)
def _(statement: Sort, frames: FrameLayout) -> Code:
    part = _part(statement, statement.start, statement.stop, frames)
    return lambda frame: part(frame).sort()


@_run.register(Prefetch)
def _(statement: Prefetch, frames: FrameLayout) -> Code:
    index = frames.code(statement.index)

    def prefetch(frame: Frame) -> None:
        index(frame)  # checks that loads in the index are within their buffers

    return prefetch


def _part(statement: Fill | Sort, start: Expr, stop: Expr, frames: FrameLayout) -> Code:
    """The elements of ``statement.buffer`` from ``start`` to ``stop``, which must be inside."""
    place, first, last = frames.place(statement.buffer), frames.code(start), frames.code(stop)
    return lambda frame: _checked(statement, frame[place], first(frame), last(frame))


def _checked(statement: Statement, array: Any, start: int, stop: int) -> Any:
    if stop <= start:
        return array[:0]
    if start < 0 or stop > len(array):
        out_of_bounds(_text(statement), start, stop, array)
    return array[start:stop]


@_run.register(Move)
def _(statement: Move, frames: FrameLayout) -> Code:
    target, source = frames.place(statement.target), frames.place(statement.source)
    to, begin, count = map(frames.code, statement.expressions)

    def move(frame: Frame) -> None:
        into, out_of, number = to(frame), begin(frame), count(frame)
        read = _checked(statement, frame[source], out_of, out_of + number)
        _checked(statement, frame[target], into, into + number)[:] = read

    return move


@_run.register(Swap)
def _(statement: Swap, frames: FrameLayout) -> Code:
    first, second = frames.place(statement.first), frames.place(statement.second)

    def swap(frame: Frame) -> None:
        frame[first], frame[second] = frame[second], frame[first]

    return swap


def _text(statement: Statement) -> str:
    return block_text(Block((statement,))).rstrip("\n")
