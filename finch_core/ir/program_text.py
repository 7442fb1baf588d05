"""Programs as text, in the Python of a kernel.

Also for programs in normal form, whose accesses have bound tensors (printed by ``str``) and
whose extents are known.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from typing import Any, TypeGuard

import numpy as np

from finch_core.ir import primitives as prim
from finch_core.ir.dense_like import DenseLike
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import (
    Access,
    Call,
    Cast,
    Dimension,
    Expr,
    Index,
    Literal,
    Modified,
    Name,
    Var,
    lift,
)
from finch_core.ir.missing import Missing
from finch_core.ir.operators import Operator
from finch_core.ir.program import (
    Declare,
    Define,
    Extent,
    Freeze,
    Labelled,
    Leave,
    Loop,
    Program,
    Sequential,
    Sieve,
    Stmt,
    Stored,
    Swap,
    Thaw,
    Update,
    While,
)
from finch_core.ir.rewrite import rewrite, rewrite_statements
from finch_core.records import evolve

_LEVELS = (
    ("or",), ("and",), ("not",), ("==", "!=", "<", "<=", ">", ">="), ("|",), ("^",), ("&",),
    ("<<", ">>"), ("+", "-"), ("*", "/", "//", "%"), ("unary",), ("**",), ("atom",),
)  # fmt: skip
PRECEDENCE = {symbol: level for level, row in enumerate(_LEVELS, start=1) for symbol in row}
"""The precedence of Python's operators; a conditional expression has 0."""
_PREFIX = {prim.neg: "-", prim.invert: "~", prim.not_: "not "}
_AUGMENTED = ("+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>")
_ATOM = PRECEDENCE["atom"]


def program_text(program: Program) -> str:
    """The text of a program; parsing it again gives an equal program."""
    locals_left = {local.name: local for local in program.locals}
    named = {local.name for local in program.locals if local.is_variable}
    body_ = _with_names(program.body, named) if named else program.body
    lines = [f"def {program.name}({', '.join(program.params)}):"]
    body = [f"    {line}" for line in _lines(body_, locals_left)]
    if program.results:
        comma = "" if program.single else ("," if len(program.results) == 1 else "")
        body.append(f"    return {', '.join(program.results)}{comma}")
    return "\n".join([*lines, *(body or ["    pass"])]) + "\n"


def _with_names(stmt: Stmt, variables: set[str]) -> Stmt:
    """A statement with variables as plain names."""

    def rule(node: Expr) -> Any:
        named = isinstance(node, Access) and node.tensor in variables
        return Name(node.tensor) if named else node  # type: ignore[attr-defined]

    def updates(part: Stmt) -> Stmt:
        if not isinstance(part, Update):
            return part
        return evolve(part, target=rule(part.target))

    return rewrite_statements(rewrite(stmt, rule, lambda target: target), updates)


def statement_text(statement: Stmt) -> str:
    """The text of one statement."""
    return "\n".join(_lines(statement, {}))


def expression_text(expr: Expr) -> str:
    """The text of one expression, with the fewest parentheses."""
    return _text(expr)[0]


# -- statements -----------------------------------------------------------------------------


def _lines(node: Stmt, fresh: dict[str, Any]) -> Iterator[str]:
    return _STATEMENTS[type(node)](node, fresh)


def _below(node: Stmt, fresh: dict[str, Any]) -> Iterator[str]:
    """The lines of an indented block."""
    empty = True
    for line in _lines(node, fresh):
        empty = False
        yield f"    {line}"
    if empty:
        yield "    pass"


def _sequential(node: Sequential, fresh: dict[str, Any]) -> Iterator[str]:
    for statement in node.statements:
        yield from _lines(statement, fresh)


def _loop(node: Loop, fresh: dict[str, Any]) -> Iterator[str]:
    names, body = [node.index.name], node.body
    while node.extent is None and _continues(body):
        names.append(body.index.name)
        body = body.body
    over = "_" if node.extent is None else expression_text(node.extent)
    if node.step is not None:
        over = f"{over[:-1]}, step={expression_text(node.step)})"
    if node.parallel:
        over = f"parallel({over})"
    yield f"for {', '.join(names)} in {over}:"
    yield from _below(body, fresh)


def _continues(body: Stmt) -> TypeGuard[Loop]:
    """Whether a loop is written as another index of the one around it."""
    return isinstance(body, Loop) and body.extent is None and not body.parallel


def _update(node: Update, fresh: dict[str, Any]) -> Iterator[str]:
    target, op = expression_text(node.target), node.op
    if op is None:
        yield f"{target} = {expression_text(node.value)}"
    elif op.symbol in _AUGMENTED:
        yield f"{target} {op.symbol}= {expression_text(node.value)}"
    else:
        yield f"{target} = {_call(Call(op, (node.target, node.value)))[0]}"


def _define(node: Define, fresh: dict[str, Any]) -> Iterator[str]:
    yield f"{node.name.name} = {expression_text(node.value)}"
    yield from _lines(node.body, fresh)


def _sieve(node: Sieve, fresh: dict[str, Any]) -> Iterator[str]:
    yield f"if {expression_text(node.cond)}:"
    yield from _below(node.body, fresh)
    orelse = node.orelse
    if isinstance(orelse, Sieve):
        first, *rest = _lines(orelse, fresh)
        yield f"el{first}"
        yield from rest
    elif not (isinstance(orelse, Sequential) and not orelse.statements):
        yield "else:"
        yield from _below(orelse, fresh)


def _while(node: While, fresh: dict[str, Any]) -> Iterator[str]:
    yield f"while {expression_text(node.cond)}:"
    yield from _below(node.body, fresh)


def _labelled(node: Labelled, fresh: dict[str, Any]) -> Iterator[str]:
    return _lines(node.body, fresh)


def _leave(node: Leave, fresh: dict[str, Any]) -> Iterator[str]:
    yield node.label


def _declare(node: Declare, fresh: dict[str, Any]) -> Iterator[str]:
    local = fresh.pop(str(node.tensor), None)
    if local is not None and local.is_variable:
        if not isinstance(node.init, Missing):
            yield f"{node.tensor} = {expression_text(node.init)}"
        return
    if local is not None:
        sizes = ", ".join(expression_text(lift(size)) for size in local.shape or ())
        sizes += "," * (len(local.shape or ()) == 1)
        if isinstance(local.format, DenseLike):
            constant = expression_text(lift(local.format.fill))
            yield f"{node.tensor} = {local.format.text(sizes, constant)}"
            return
        shape = "" if local.shape is None else f", ({sizes})"
        yield f"{node.tensor} = Tensor({local.format}{shape})"
        return
    known = [expression_text(extent) for extent in node.dims if extent is not None]
    note = f"  # {', '.join(known)}" if known else ""
    yield f"{node.tensor}[...] = {expression_text(node.init)}{note}"


def _freeze(node: Freeze, fresh: dict[str, Any]) -> Iterator[str]:
    yield f"freeze({node.tensor})"


def _thaw(node: Thaw, fresh: dict[str, Any]) -> Iterator[str]:
    yield f"thaw({node.tensor})"


def _swap(node: Swap, fresh: dict[str, Any]) -> Iterator[str]:
    yield f"swap({node.first}, {node.second})"


_STATEMENTS: dict[type, Callable[[Any, dict[str, Any]], Iterator[str]]] = {
    Sequential: _sequential,
    Loop: _loop,
    Update: _update,
    Define: _define,
    Sieve: _sieve,
    While: _while,
    Labelled: _labelled,
    Leave: _leave,
    Declare: _declare,
    Freeze: _freeze,
    Thaw: _thaw,
    Swap: _swap,
}

# -- expressions: text and precedence of each --------------------------------------------------


def _text(node: Expr) -> tuple[str, int]:
    return _EXPRESSIONS[type(node)](node)


def _wrapped(node: Expr, level: int) -> str:
    """The text of an operand, in parentheses if its precedence is below ``level``."""
    text, own = _text(node)
    return text if own >= level else f"({text})"


def _literal(node: Literal) -> tuple[str, int]:
    text = value_text(node.value)
    return text, PRECEDENCE["unary"] if text.startswith("-") else _ATOM


def value_text(value: Any) -> str:
    """A number or a tuple of numbers in Python's syntax."""
    if isinstance(value, (tuple, np.void)):
        return (
            f"({', '.join(map(value_text, value.item() if isinstance(value, np.void) else value))})"
        )
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, float) and not isinstance(value, np.generic) and not np.isfinite(value):
        return {"inf": "np.inf", "-inf": "-np.inf", "nan": "np.nan"}[repr(value)]
    if isinstance(value, np.generic):
        return f"np.{value.dtype.name}({value_text(value.item())})"
    return repr(value)


def _access(node: Access) -> tuple[str, int]:
    indices = ", ".join(map(expression_text, node.indices)) or "()"
    return f"{node.tensor}[{indices}]", _ATOM


def _dimension(node: Dimension) -> tuple[str, int]:
    text = f"len({node.tensor})" if node.axis == 0 else f"{node.tensor}.shape[{node.axis}]"
    return text, _ATOM


def _modified(node: Modified) -> tuple[str, int]:
    if node.modifier == "permissive":
        return f"~{_wrapped(node.index, PRECEDENCE['unary'])}", PRECEDENCE["unary"]
    if node.modifier == "given":
        return _text(node.index)
    return f"{node.modifier}({expression_text(node.index)})", _ATOM


def _extent(node: Extent) -> tuple[str, int]:
    shown = node.children
    if node.step is None and node.start == Literal(0, int):
        shown = shown[1:]
    text = f"range({', '.join(map(expression_text, shown))})"
    return f"reversed({text})" if node.backwards else text, _ATOM


def _cast(node: Cast) -> tuple[str, int]:
    name = "bool_" if concrete(node.type).kind == "b" else concrete(node.type).name
    return f"np.{name}({expression_text(node.value)})", _ATOM


def _call(node: Call) -> tuple[str, int]:
    op, args = node.op, node.args
    if op.symbol is not None and len(args) == 2:
        return _infix(op, op.symbol, args)
    if op in _PREFIX and len(args) == 1:
        level = PRECEDENCE["not" if op is prim.not_ else "unary"]
        return _PREFIX[op] + _wrapped(args[0], level), level
    if op is prim.ifelse and len(args) == 3:
        cond, first, second = args
        return f"{_wrapped(first, 1)} if {_wrapped(cond, 1)} else {expression_text(second)}", 0
    shown = ", ".join(map(expression_text, args))
    if op is prim.make_tuple:
        return f"({shown}{',' if len(args) == 1 else ''})", _ATOM
    if op.name.startswith("field") and op.name[5:].isdigit():
        return f"{_wrapped(args[0], _ATOM)}[{op.name[5:]}]", _ATOM
    return f"{_function(op)}({shown})", _ATOM


def _infix(op: Operator, symbol: str, args: tuple[Expr, ...]) -> tuple[str, int]:
    level = PRECEDENCE[symbol]
    # comparisons do not nest without parentheses (they would chain), and ** groups to the right
    left = level + (symbol == "**" or level == PRECEDENCE["=="])
    right = PRECEDENCE["unary"] if symbol == "**" else level + 1
    return f"{_wrapped(args[0], left)} {symbol} {_wrapped(args[1], right)}", level


def _function(op: Operator) -> str:
    """The Python function for ``op``: a builtin, else NumPy's, else the operator's name."""
    names = {function: str(getattr(function, "__name__", "")) for function in op.python}
    for module, prefix in ((builtins, ""), (np, "np.")):
        for function, name in names.items():
            if name and getattr(module, name, None) is function:
                return prefix + name
    return op.name


_EXPRESSIONS: dict[type, Callable[[Any], tuple[str, int]]] = {
    Literal: _literal,
    Index: lambda node: (node.name, _ATOM),
    Name: lambda node: (node.name, _ATOM),
    Var: lambda node: (node.name, _ATOM),
    Missing: lambda node: ("missing", _ATOM),
    Access: _access,
    Dimension: _dimension,
    Modified: _modified,
    Extent: _extent,
    Stored: lambda node: (f"stored({expression_text(node.access)})", _ATOM),
    Cast: _cast,
    Call: _call,
}
