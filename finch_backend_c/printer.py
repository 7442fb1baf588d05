"""Prints the C tree, with parentheses where precedence requires them, and where compilers warn that
a reader may expect another one (``-Wparentheses``)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from finch_backend_c import ctree as c

WIDTH = 100
INDENT = "    "

POSTFIX, UNARY, TERNARY, LOWEST = 15, 14, 3, 0
BINARY: dict[str, int] = {
    **dict.fromkeys(("*", "/", "%"), 13),
    **dict.fromkeys(("+", "-"), 12),
    **dict.fromkeys(("<<", ">>"), 11),
    **dict.fromkeys(("<", "<=", ">", ">="), 10),
    **dict.fromkeys(("==", "!="), 9),
    "&": 8,
    "^": 7,
    "|": 6,
    "&&": 5,
    "||": 4,
}
"""How tightly each binary operator binds (C11 6.5.5 to 6.5.14); all associate to the left."""

_SUMS, _COMPARISONS = ("+", "-"), ("<", "<=", ">", ">=", "==", "!=")
UNCLEAR: dict[str, frozenset[str]] = {
    **dict.fromkeys(("<<", ">>"), frozenset(_SUMS)),
    **dict.fromkeys(_COMPARISONS, frozenset(_COMPARISONS)),
    "&": frozenset((*_SUMS, *_COMPARISONS)),
    "^": frozenset((*_SUMS, *_COMPARISONS, "&")),
    "|": frozenset((*_SUMS, *_COMPARISONS, "&", "^")),
    "||": frozenset(("&&",)),
}
"""For binary operators, those of operands that are in parentheses although they bind more tightly.
"""


# -- expressions ------------------------------------------------------------------------------


def expression(node: c.Expr, least: int = LOWEST) -> str:
    """``node`` as C, in parentheses if it binds less tightly than ``least``."""
    text, binds = _EXPRESSIONS[type(node)](node)
    return text if binds >= least else f"({text})"


def _arguments(nodes: tuple[c.Expr, ...]) -> str:
    return ", ".join(expression(node) for node in nodes)


def _number(node: c.Number) -> tuple[str, int]:
    return node.text, UNARY if node.text.startswith("-") else POSTFIX


def _unary(node: c.Unary) -> tuple[str, int]:
    operand = expression(node.operand, UNARY)
    if operand.startswith(node.op):  # - -x must not become --x
        operand = f"({operand})"
    space = " " if node.op[-1].isalnum() or node.op.endswith("_") else ""
    return f"{node.op}{space}{operand}", UNARY


def _binary(node: c.Binary) -> tuple[str, int]:
    binds = BINARY[node.op]
    left, right = _operand(node, node.left, binds), _operand(node, node.right, binds + 1)
    return f"{left} {node.op} {right}", binds


def _operand(node: c.Binary, operand: c.Expr, least: int) -> str:
    unclear = isinstance(operand, c.Binary) and operand.op in UNCLEAR.get(node.op, ())
    return expression(operand, POSTFIX if unclear else least)


def _ternary(node: c.Ternary) -> tuple[str, int]:
    cond, orelse = expression(node.cond, TERNARY + 1), expression(node.orelse, TERNARY)
    return f"{cond} ? {expression(node.then)} : {orelse}", TERNARY


def _compound(node: c.Compound) -> tuple[str, int]:
    return f"({node.type}){{{_arguments(node.items)}}}", POSTFIX


_EXPRESSIONS: dict[type, Any] = {
    c.Name: lambda node: (node.text, POSTFIX),
    c.Number: _number,
    c.Unary: _unary,
    c.Binary: _binary,
    c.Ternary: _ternary,
    c.Subscript: lambda node: (
        f"{expression(node.base, POSTFIX)}[{expression(node.index)}]",
        POSTFIX,
    ),
    c.Member: lambda node: (f"{expression(node.base, POSTFIX)}.{node.field}", POSTFIX),
    c.Call: lambda node: (f"{node.function}({_arguments(node.args)})", POSTFIX),
    c.Cast: lambda node: (f"({node.type}){expression(node.operand, UNARY)}", UNARY),
    c.Compound: _compound,
    c.Range: lambda node: (f"[0 ... {node.count - 1}] = {expression(node.value)}", LOWEST),
    c.Initializer: lambda node: (f"{{{_arguments(node.items)}}}", POSTFIX),
}


# -- statements -------------------------------------------------------------------------------


def declaration(type: str, name: str) -> str:
    """``int64_t n`` and ``double *x``: a pointer's star stands with the name."""
    return f"{type}{name}" if type.endswith("*") else f"{type} {name}"


def _declare(node: c.Declare) -> str:
    value = "" if node.value is None else f" = {expression(node.value)}"
    return f"{declaration(node.type, node.name)}{value};"


_SIMPLE: dict[type, Any] = {
    c.Assign: lambda node: f"{expression(node.target)} {node.op} {expression(node.value)};",
    c.Increment: lambda node: f"{expression(node.target, POSTFIX)}++;",
    c.Evaluate: lambda node: f"{expression(node.value)};",
    c.Goto: lambda node: f"goto {node.label};",
    c.Return: lambda node: f"return {expression(node.value)};",
    c.Break: lambda node: "break;",
}
"""Statements of one line that may stand as a body without braces."""


_BREAK = re.compile(r"(?<=,) | (?=(?:[-+*/%&|^?:]|&&|\|\||<<|>>|[<>=!]=|<|>) )")
"""Where a line may be broken: after a comma, or before an operator other than assignment."""


def wrapped(line: str) -> Iterator[str]:
    """Break a long line where the fewest brackets are open; align the rest with the contents of the
    innermost open bracket."""
    begin = len(line) - len(line.lstrip())
    columns: tuple[int, ...] = (begin + len(INDENT),)
    while len(line) > WIDTH:
        places = [m.end() for m in _BREAK.finditer(line, begin + 1, WIDTH + 1)]
        if not places:
            break
        opened = {place: _opened(line, begin, place, columns) for place in places}
        at = min(reversed(places), key=lambda place: len(opened[place]))
        yield line[:at].rstrip()
        columns = opened[at]
        begin = columns[-1]
        line = " " * begin + line[at:]
    yield line


def _opened(line: str, begin: int, end: int, columns: tuple[int, ...]) -> tuple[int, ...]:
    """The columns at which lines go on behind ``line[begin:end]``: the innermost bracket's last."""
    for column in range(begin, end):
        if line[column] in "([{":
            columns += (column + 1,)
        elif line[column] in ")]}":
            columns = columns[:-1]
    return columns


def _for_head(node: c.For) -> str:
    limit = expression(node.limit)
    shown = expression(node.limit, BINARY["<"] + 1)
    start = f"{declaration(node.type, node.name)} = {expression(node.start)}"
    if node.bound:
        start, shown = f"{start}, {node.bound} = {limit}", node.bound
    return f"for ({start}; {node.name} < {shown};{f' {node.name}++' if node.counts else ''})"


def _bare(body: c.Block) -> str | None:
    """The text of a body that needs no braces, or ``None``."""
    if len(body.statements) != 1 or type(body.statements[0]) not in _SIMPLE:
        return None
    return str(_SIMPLE[type(body.statements[0])](body.statements[0]))


def _is_loop(body: c.Block) -> bool:
    """Whether a body is a counted loop and nothing else, which needs no braces in another."""
    first = body.statements[0] if len(body.statements) == 1 else None
    return isinstance(first, c.For) and not first.pragma


def _headed(head: str, body: c.Block, depth: int, tail: str = "") -> Iterator[str]:
    """A head and its body: on one line where it fits, or in braces."""
    pad, bare = INDENT * depth, _bare(body)
    if bare is not None and not tail:
        if len(pad) + len(head) + 1 + len(bare) <= WIDTH:
            yield f"{pad}{head} {bare}"
        else:
            yield from wrapped(f"{pad}{head}")
            yield from wrapped(f"{pad}{INDENT}{bare}")
        return
    if head.startswith("for") and _is_loop(body):
        yield f"{pad}{head}"
        yield from block(body, depth + 1)
        return
    yield from wrapped(f"{pad}{head} {{")
    yield from block(body, depth + 1)
    yield f"{pad}}}{tail}"


def _for(node: c.For, depth: int) -> Iterator[str]:
    if node.pragma:
        yield f"{INDENT * depth}#pragma {node.pragma}"
    yield from _headed(_for_head(node), node.body, depth)


def _scope(node: c.Scope, depth: int) -> Iterator[str]:
    yield INDENT * depth + "{"
    yield from block(node.body, depth + 1)
    yield INDENT * depth + "}"


def _while(node: c.While, depth: int) -> Iterator[str]:
    return _headed(f"while ({expression(node.cond)})", node.body, depth)


def _do_while(node: c.DoWhile, depth: int) -> Iterator[str]:
    pad = INDENT * depth
    yield f"{pad}do {{"
    yield from block(node.body, depth + 1)
    yield from wrapped(f"{pad}}} while ({expression(node.cond)});")


def _if(node: c.If, depth: int, head: str = "") -> Iterator[str]:
    head = f"{head}if ({expression(node.cond)})"
    if not node.orelse.statements:
        yield from _headed(head, node.body, depth)
        return
    only = node.orelse.statements[0] if len(node.orelse.statements) == 1 else None
    yield from _headed(head, node.body, depth, " else" if isinstance(only, c.If) else " else {")
    if isinstance(only, c.If):
        yield from _if(only, depth)
        return
    yield from block(node.orelse, depth + 1)
    yield INDENT * depth + "}"


def _joined(lines: Iterator[str]) -> Iterator[str]:
    """``} else`` and the ``if`` on the line after it as one line."""
    held = ""
    for line in lines:
        if line.endswith("} else"):
            held = line
        elif held:
            yield f"{held} {line.lstrip()}"
            held = ""
        else:
            yield line


_COMPOUND: dict[type, Any] = {
    c.For: _for,
    c.While: _while,
    c.DoWhile: _do_while,
    c.Scope: _scope,
    c.If: lambda node, depth: _joined(_if(node, depth)),
    c.Declare: lambda node, depth: wrapped(INDENT * depth + _declare(node)),
    c.Label: lambda node, depth: iter([f"{node.name}:"]),
    c.Comment: lambda node, depth: iter(
        [f"{INDENT * depth}// {line}".replace("\\", "/") for line in node.text.splitlines()]
    ),
}


def statement(node: c.Stmt, depth: int) -> Iterator[str]:
    """The lines of a statement at an indentation of ``depth``."""
    if type(node) in _SIMPLE:
        yield from wrapped(INDENT * depth + _SIMPLE[type(node)](node))
    else:
        yield from _COMPOUND[type(node)](node, depth)


def block(node: c.Block, depth: int) -> Iterator[str]:
    """The lines of the statements of a block."""
    for child in node.statements:
        yield from statement(child, depth)


def _signature(node: c.Function) -> str:
    one_line = f"{declaration(node.result, node.name)}({', '.join(node.params)})"
    if len(one_line) <= WIDTH:
        return one_line
    head = f"{declaration(node.result, node.name)}("
    return head + (",\n" + " " * len(head)).join(node.params) + ")"


def function(node: c.Function) -> str:
    """A definition."""
    return "\n".join([_signature(node), "{", *block(node.body, 1), "}", ""])
