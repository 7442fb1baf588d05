"""The syntax trees of lambdas. Their text is within a statement that may have several, so each is
found by the places that Python kept of its instructions."""

from __future__ import annotations

import ast
import dis
from collections.abc import Iterator, Sequence
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import CodeType, FunctionType
from typing import Any

NAME = "<lambda>"


def _place_of_body(function: FunctionType) -> tuple[int, int, int, int] | None:
    """The first line, column, last line and end of a lambda's expression, in bytes; None if Python
    has not kept them (its option ``no_debug_ranges``)."""
    places: list[Any] = [  # of what a function begins with there is no column
        (line, start, last, end)
        for line, last, start, end in function.__code__.co_positions()
        if None not in (line, last, start, end) and (line, start) != (last, end)
    ]
    if not places:
        return None
    starts, ends = [place[:2] for place in places], [place[2:] for place in places]
    return (*min(starts), *max(ends))


def tree_of_lambda(
    function: FunctionType, lines: Sequence[str], first_line: int
) -> ast.FunctionDef | None:
    """A definition that returns the expression of a lambda, with the lines and columns of its file,
    whose ``lines`` begin at ``first_line``; None if it is not there, or compiles to other code."""
    place = _place_of_body(function)
    if place is None:
        return None
    line, start, last, end = place
    held = [text.encode() for text in lines]
    first, height = line - first_line, last - first_line
    if not 0 <= first <= height < len(held):
        return None
    before = held[first][:start].rstrip(b" \t(")
    while not before and first:  # there is but a bracket, and perhaps a comment
        first -= 1
        before = held[first].rstrip(b" \t(\r\n")
        if not before.endswith(b":"):
            before = before.partition(b"#")[0].rstrip(b" \t(")
    if before and not before.endswith(b":"):
        return None
    line, height, held = first_line + first, height - first, held[first:]
    held[0] = b" " * len(before) + held[0][len(before) :]
    for size, column in _ends(held, height, end):
        body = _parsed([*held[:size], held[size][:column]])
        if body is not None:
            break
    else:
        return None
    body = _Private(_names(function.__code__)).visit(body)
    if not _compiles_to(function.__code__, _parameters(function), body):
        return None
    ast.increment_lineno(body, line - 2)
    made = ast.FunctionDef(NAME, _parameters(function), [ast.Return(body)], [])
    ast.copy_location(made, body)
    ast.copy_location(made.body[0], body)
    return ast.fix_missing_locations(made)


def _ends(lines: Sequence[bytes], line: int, column: int) -> Iterator[tuple[int, int]]:
    """Where an expression may end whose last instruction ends here: behind the brackets that
    follow."""
    yield line, column
    while line < len(lines):
        rest = lines[line][column:]
        text = rest.lstrip()
        if text.startswith(b")"):
            column += len(rest) - len(text) + 1
            yield line, column
        elif not text or text.startswith(b"#"):
            line, column = line + 1, 0
        else:
            return


def _parsed(lines: Sequence[bytes]) -> ast.expr | None:
    """The tree of an expression, in brackets, so that it may go on in other lines."""
    try:
        return ast.parse(b"(\n" + b"".join(lines) + b"\n)", mode="eval").body
    except SyntaxError:
        return None


class _Private(ast.NodeTransformer):
    """Puts the name of the class before private names, as Python does in a class."""

    def __init__(self, names: set[str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if node.id.startswith("__") and node.id not in self._names:
            found = (name for name in self._names if name[0] == "_" and name.endswith(node.id))
            node.id = next(found, node.id)
        return node


def _compiles_to(code: CodeType, parameters: ast.arguments, body: ast.expr) -> bool:
    """Whether a lambda of this expression has this code, so that the text is that which Python
    read."""
    free = [ast.arg(name) for name in code.co_freevars]
    outer = ast.arguments(posonlyargs=[], args=free, kwonlyargs=[], kw_defaults=[], defaults=[])
    lambda_ = ast.Expression(ast.Lambda(outer, ast.Lambda(parameters, body)))
    try:
        made = compile(ast.fix_missing_locations(lambda_), NAME, "eval", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    (whole,) = (x for x in made.co_consts if isinstance(x, CodeType))
    inner = [x for x in whole.co_consts if isinstance(x, CodeType)]
    return len(inner) == 1 and _told(inner[0]) == _told(code)


def _told(code: CodeType) -> Any:
    """What code does, without its places: its instructions, but for those that depend on whether
    the statement around it is in a function, and on whether a name is that of a module."""
    steps: list[Any] = []
    for step in dis.get_instructions(code):
        name = "LOAD_ATTR" if step.opname == "LOAD_METHOD" else step.opname
        if name in _LEFT_OUT:
            continue
        given = step.argval
        if step.opcode in dis.hasjrel or step.opcode in dis.hasjabs:
            given = None
        steps.append((name, _told(given) if isinstance(given, CodeType) else _typed(given)))
    return steps, code.co_varnames, code.co_freevars


_LEFT_OUT = {"CACHE", "COPY_FREE_VARS", "EXTENDED_ARG", "NOP", "PRECALL", "PUSH_NULL", "RESUME"}


def _typed(value: Any) -> Any:
    return type(value), repr(value)


def _names(code: CodeType) -> set[str]:
    """The names of the variables that an expression reads, and functions within it."""
    inner = [_names(x) for x in code.co_consts if isinstance(x, CodeType)]
    own = {*code.co_varnames, *code.co_names, *code.co_freevars, *code.co_cellvars}
    return own.union(*inner)


def _parameters(function: FunctionType) -> ast.arguments:
    """The names of the parameters; what they are by default is asked of the function."""
    code = function.__code__
    names = [ast.arg(name) for name in code.co_varnames]
    plain, last = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    rest = names[last:]
    vararg = rest.pop(0) if code.co_flags & CO_VARARGS else None
    kwarg = rest.pop(0) if code.co_flags & CO_VARKEYWORDS else None
    return ast.arguments(
        posonlyargs=[], args=names[:plain], vararg=vararg, kwonlyargs=names[plain:last],
        kw_defaults=[None] * (last - plain), kwarg=kwarg, defaults=[],
    )  # fmt: skip


__all__ = ["NAME", "tree_of_lambda"]
