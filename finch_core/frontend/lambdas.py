"""The syntax trees of lambdas. Their text is within a statement that may have several, so each is
found by the places that Python kept of its instructions."""

from __future__ import annotations

import ast
from collections.abc import Sequence
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
    whose ``lines`` begin at ``first_line``; None if it is not there."""
    code, place = function.__code__, _place_of_body(function)
    if place is None:
        return None
    line, start, last, end = place
    held = [text.encode() for text in lines[line - first_line : last - first_line + 1]]
    if len(held) != last - line + 1:
        return None
    before = held[0][:start].rstrip(b" \t(")
    if before and not before.endswith(b":"):
        return None
    held[-1] = held[-1][:end]
    held[0] = b" " * start + held[0][start:]
    try:  # in brackets, so that it may go on in other lines
        body = ast.parse(b"(\n" + b"".join(held) + b"\n)", mode="eval").body
    except SyntaxError:
        return None
    ends = body.lineno, body.col_offset, body.end_lineno, body.end_col_offset
    if ends != (2, start, last - line + 2, end):
        return None
    if not {node.id for node in ast.walk(body) if isinstance(node, ast.Name)} <= _names(code):
        return None
    ast.increment_lineno(body, line - 2)
    made = ast.FunctionDef(NAME, _parameters(function), [ast.Return(body)], [])
    ast.copy_location(made, body)
    ast.copy_location(made.body[0], body)
    return ast.fix_missing_locations(made)


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
        kw_defaults=[], kwarg=kwarg, defaults=[],
    )  # fmt: skip


__all__ = ["NAME", "tree_of_lambda"]
