"""Short tracebacks: the caller's frames and the line of the kernel at fault, without the frames of
the compiler. ``FINCH_TRACEBACK=1`` keeps those."""

from __future__ import annotations

import ast
import os
import sys
from types import CodeType, TracebackType
from typing import TypeVar

from finch_core.errors import FinchError, Span

Error = TypeVar("Error", bound=FinchError)


def shortened(error: Error) -> Error:
    """``error`` with a traceback of one frame, the line of the kernel at fault. Raising it again
    adds the caller's frames."""
    if os.environ.get("FINCH_TRACEBACK", "0") not in ("", "0"):
        return error
    return error.with_traceback(None if error.span is None else _at(error.span))


def _at(span: Span) -> TracebackType | None:
    """A traceback of one frame: a line of a kernel.

    The frame's code has the place of the line, the whole of it, so that tools that look up which
    expression failed find none, and say nothing.
    """
    text = span.text().rstrip()
    first = len(text) - len(text.lstrip())
    place = (span.line, first, span.line, max(len(text), first + 1))
    try:
        exec(_failing(span.source.filename, *place), {})
    except Exception:
        made = sys.exc_info()[2]
        assert made is not None
        assert made.tb_next is not None
        return made.tb_next
    return None


def _failing(filename: str, line: int, column: int, end_line: int, end_column: int) -> CodeType:
    """Code that raises at a place of a file."""
    tree = ast.parse("raise Exception")
    for node in ast.walk(tree):
        if isinstance(node, (ast.stmt, ast.expr)):
            node.lineno, node.col_offset = line, column
            node.end_lineno, node.end_col_offset = end_line, end_column
    code = compile(tree, filename, "exec")
    return code.replace(co_name="kernel", co_qualname="kernel")


__all__ = ["shortened"]
