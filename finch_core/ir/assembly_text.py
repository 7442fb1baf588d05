"""Assembly as text, for ``as_text("assembly")`` and for messages about faults.

It reads like Python with types on declarations: ``q: int64 = A_ptr[i]``, ``mut s: float64 =
0.0``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch

import numpy as np

from finch_core.ir import primitives as prim
from finch_core.ir.assembly import (
    Argument,
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
    Kernel,
    Let,
    Merge,
    Move,
    Parallel,
    Prefetch,
    Private,
    Record,
    Return,
    Site,
    Slot,
    Sort,
    Statement,
    Store,
    Swap,
    While,
)
from finch_core.ir.dtypes import (
    BOOL,
    FLOAT64,
    INTP,
    Type,
    concrete,
    is_tuple,
    is_weak,
    tuple_fields,
)
from finch_core.ir.expressions import (
    Buffer,
    Call,
    Cast,
    Expr,
    Index,
    Invoke,
    Length,
    Literal,
    Load,
    Name,
    Overlaps,
    Var,
)

_COMPARISON, _UNARY, _POWER, _ATOM = 4, 11, 12, 20
_PRECEDENCE = {
    **{"or": 1, "and": 2},
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), _COMPARISON),
    **{"|": 5, "^": 6, "&": 7, "<<": 8, ">>": 8, "+": 9, "-": 9},
    **dict.fromkeys(("*", "/", "//", "%"), 10),
    "**": _POWER,
}
_PREFIX = {prim.neg: ("-", _UNARY), prim.invert: ("~", _UNARY), prim.not_: ("not ", 3)}
_Piece = tuple[str, int]
"""The text of an expression and its precedence."""


def type_text(dtype: Type) -> str:
    """``int64``, ``(float64, int64)``; for a weak type its Python name and a question mark."""
    if is_tuple(dtype):
        return f"({', '.join(map(type_text, tuple_fields(dtype)))})"
    return f"{dtype.__name__}?" if isinstance(dtype, type) else dtype.name


# -- expressions ----------------------------------------------------------------------------


def expr_text(expr: Expr) -> str:
    """One expression, with parentheses only where they are needed."""
    return _piece(expr)[0]


@singledispatch
def _piece(expr: Expr) -> _Piece:
    return repr(expr), _ATOM  # a node of programs, which is not legal here


@_piece.register(Var)
@_piece.register(Index)
@_piece.register(Name)
def _(expr: Var | Index | Name) -> _Piece:
    return expr.name, _ATOM


@_piece.register(Literal)
def _(expr: Literal) -> _Piece:
    value = expr.value
    text = repr(value.item() if isinstance(value, np.generic) else value)
    if is_weak(expr.type) or is_tuple(expr.type) or expr.type in (BOOL, INTP, FLOAT64):
        return text, _UNARY if text.startswith("-") else _ATOM
    return f"{type_text(expr.type)}({text})", _ATOM


@_piece.register(Cast)
def _(expr: Cast) -> _Piece:
    return f"{type_text(expr.type)}({expr_text(expr.value)})", _ATOM


@_piece.register(Load)
def _(expr: Load) -> _Piece:
    return f"{expr.buffer.name}[{expr_text(expr.index)}]", _ATOM


@_piece.register(Length)
def _(expr: Length) -> _Piece:
    return f"length({expr.buffer.name})", _ATOM


@_piece.register(Overlaps)
def _(expr: Overlaps) -> _Piece:
    return f"overlaps({expr.first.name}, {expr.second.name})", _ATOM


@_piece.register(Invoke)
def _(expr: Invoke) -> _Piece:
    args = (a.name if isinstance(a, Buffer) else expr_text(a) for a in expr.args)
    return f"{expr.function.name}({', '.join(args)})", _ATOM


@_piece.register(Call)
def _(expr: Call) -> _Piece:
    op, args = expr.op, expr.args
    if op in _PREFIX:
        sign, level = _PREFIX[op]
        return sign + _within(args[0], level), level
    if op.symbol in _PRECEDENCE and len(args) == 2:
        return _infix(op.symbol or "", *args)
    if op is prim.make_tuple:
        return f"({', '.join(map(expr_text, args))})", _ATOM
    if op.name.startswith("field") and is_tuple(args[0].dtype):
        return f"{_within(args[0], _ATOM)}.f{op.name.removeprefix('field')}", _ATOM
    return f"{op.name}({', '.join(map(expr_text, args))})", _ATOM


def _infix(symbol: str, left: Expr, right: Expr) -> _Piece:
    level = _PRECEDENCE[symbol]
    to_the_left = level not in (
        _COMPARISON,
        _POWER,
    )  # left-associative: (a - b) - c needs no parentheses
    to_the_right = level == _POWER
    first = _within(left, level if to_the_left else level + 1)
    second = _within(right, level if to_the_right else level + 1)
    return f"{first} {symbol} {second}", level


def _within(expr: Expr, level: int) -> str:
    """The text of an operand, in parentheses if its precedence is below ``level``."""
    text, own = _piece(expr)
    return text if own >= level else f"({text})"


# -- statements -----------------------------------------------------------------------------


def block_text(block: Block, indent: str = "") -> str:
    """The statements of ``block``, one per line, each line ended."""
    return "".join(f"{indent}{line}\n" for line in _block_lines(block))


def _block_lines(block: Block) -> Iterator[str]:
    for statement in block.statements:
        yield from _lines(statement)


def _nested(head: str, block: Block) -> Iterator[str]:
    yield head
    for line in _block_lines(block) if block else ("pass",):
        yield "    " + line


def _head(name: str, *args: Buffer | Expr) -> Iterator[str]:
    shown = (a.name if isinstance(a, Buffer) else expr_text(a) for a in args)
    yield f"{name}({', '.join(shown)})"


def _update(target: str, read: Expr, value: Expr) -> str:
    """``target = value``, or ``target += x`` if the value is a sum that begins with the target."""
    if isinstance(value, Call) and len(value.args) == 2 and value.args[0] == read:
        symbol = value.op.symbol
        if symbol in _PRECEDENCE and _PRECEDENCE[symbol] > _COMPARISON:
            return f"{target} {symbol}= {expr_text(value.args[1])}"
    return f"{target} = {expr_text(value)}"


@singledispatch
def _lines(statement: Statement) -> Iterator[str]:
    raise TypeError(f"no statement of assembly: {statement!r}")


@_lines.register(Let)
def _(statement: Let) -> Iterator[str]:
    var = statement.var
    mut = "mut " if statement.mutable else ""
    yield f"{mut}{var.name}: {type_text(var.type)} = {expr_text(statement.value)}"


@_lines.register(Assign)
def _(statement: Assign) -> Iterator[str]:
    yield _update(statement.var.name, statement.var, statement.value)


@_lines.register(Store)
def _(statement: Store) -> Iterator[str]:
    place = Load(statement.buffer, statement.index)
    yield _update(expr_text(place), place, statement.value)


@_lines.register(For)
def _(statement: For) -> Iterator[str]:
    bounds = f"{expr_text(statement.start)}, {expr_text(statement.stop)}"
    lanes = ", ".join(f"{op!r} {var.name}" for var, op in statement.lanes)
    note = f"  # lanes: {lanes}" if lanes else ""
    for buffer, count in statement.banks:
        note += f"  # banks: {buffer.name}[0:{count}]"
    note += "  # jam" if statement.jam else ""
    yield from _nested(f"for {statement.var.name} in range({bounds}):{note}", statement.body)


@_lines.register(Parallel)
def _(statement: Parallel) -> Iterator[str]:
    private = ", ".join(map(_private_text, statement.private))
    shared = ", ".join(buffer.name for buffer in statement.shared)
    notes = [f"private: {private}"] * bool(private) + [f"shared: {shared}"] * bool(shared)
    notes += ["any count"] * statement.any_count
    note = f"  # {'; '.join(notes)}" if notes else ""
    head = f"for {statement.var.name} in parallel(range({expr_text(statement.count)})):{note}"
    yield from _nested(head, statement.body)


def _private_text(private: Private) -> str:
    init = "" if private.init is None else f" = {expr_text(private.init)}"
    return f"{_typed_name(private.target)}{init}"


@_lines.register(Merge)
def _(statement: Merge) -> Iterator[str]:
    yield from _nested("in order:", statement.body)


@_lines.register(While)
def _(statement: While) -> Iterator[str]:
    yield from _nested(f"while {expr_text(statement.cond)}:", statement.body)


@_lines.register(If)
def _(statement: If) -> Iterator[str]:
    yield from _branches(statement, "if")


def _branches(statement: If, word: str) -> Iterator[str]:
    hint = {None: "", True: "  # likely", False: "  # unlikely"}[statement.likely]
    yield from _nested(f"{word} {expr_text(statement.cond)}:{hint}", statement.body)
    rest = statement.orelse.statements
    if len(rest) == 1 and isinstance(rest[0], If):
        yield from _branches(rest[0], "elif")
    elif rest:
        yield from _nested("else:", statement.orelse)


@_lines.register(Break)
def _(statement: Break) -> Iterator[str]:
    yield "break"


@_lines.register(Grow)
def _(statement: Grow) -> Iterator[str]:
    return _head("grow", statement.buffer, statement.size)


@_lines.register(Fill)
def _(statement: Fill) -> Iterator[str]:
    return _head("fill", statement.buffer, *statement.expressions)


@_lines.register(Move)
def _(statement: Move) -> Iterator[str]:
    target, source = statement.target, statement.source
    return _head("move", target, statement.to, source, statement.begin, statement.count)


@_lines.register(Swap)
def _(statement: Swap) -> Iterator[str]:
    return _head("swap", statement.first, statement.second)


@_lines.register(Sort)
def _(statement: Sort) -> Iterator[str]:
    return _head("sort", statement.buffer, *statement.expressions)


@_lines.register(Prefetch)
def _(statement: Prefetch) -> Iterator[str]:
    return _head("prefetch", statement.buffer, statement.index)


@_lines.register(Fail)
def _(statement: Fail) -> Iterator[str]:
    yield f"fail({', '.join([str(statement.site), *map(expr_text, statement.values)])})"


@_lines.register(Return)
def _(statement: Return) -> Iterator[str]:
    yield f"return {expr_text(statement.value)}"


@_lines.register(Comment)
def _(statement: Comment) -> Iterator[str]:
    yield f"# {statement.text}"


# -- kernels --------------------------------------------------------------------------------


def kernel_text(kernel: Kernel) -> str:
    """A whole kernel: its functions, its parameters with their slots, its body, its sites."""
    functions = "".join(_function_text(f) + "\n" for f in kernel.functions)
    params = ", ".join(map(_param_text, kernel.params))
    slots = "".join(
        f"    {_slot_text(param.name, slot)}\n"
        for param in kernel.params
        if isinstance(param, Record)
        for slot in param.slots
    )
    body = block_text(kernel.body or Block((Comment("nothing to do"),)), "    ")
    sites = "".join(map(_site_text, range(len(kernel.sites)), kernel.sites))
    return f"{functions}kernel {kernel.name}({params}):\n{slots}{body}{sites}"


def _typed_name(target: Var | Buffer) -> str:
    brackets = "[]" if isinstance(target, Buffer) else ""
    return f"{target.name}: {type_text(concrete(target.dtype))}{brackets}"


def _param_text(param: Record | Argument) -> str:
    if isinstance(param, Argument):
        return _typed_name(param.var)
    return f"{param.name}: {'local ' if param.local else ''}record"


def _slot_text(record: str, slot: Slot) -> str:
    growable = isinstance(slot.target, Buffer) and slot.target.growable
    notes = ", ".join([*["written"] * slot.written, *["growable"] * growable])
    text = f"{_typed_name(slot.target)} = {record}[{slot.offset}]"
    return f"{text}  # {notes}" if notes else text


def _function_text(function: Function) -> str:
    params = ", ".join(map(_typed_name, function.params))
    head = f"function {function.name}({params}) -> {type_text(function.dtype)}:\n"
    return head + block_text(function.body, "    ")


def _site_text(number: int, site: Site) -> str:
    return f"site {number}: {site.error.__name__}: {site.message}\n"


__all__ = ["block_text", "expr_text", "kernel_text", "type_text"]
