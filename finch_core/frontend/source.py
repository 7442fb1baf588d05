"""The text and the syntax tree of a Python function, with true places in its file."""

from __future__ import annotations

import ast
import inspect
import linecache
import tokenize
from types import FunctionType
from typing import Any, NoReturn

import attrs

from finch_core.errors import KernelSyntaxError, Source, Span


@attrs.frozen(eq=False)
class FunctionSource:
    """A function, its definition's syntax tree, and the text that spans point into."""

    function: Any
    node: ast.FunctionDef
    source: Source
    offset: int
    """What to add to the tree's line numbers to have the file's."""

    def span(self, node: ast.AST) -> Span:
        """The place of ``node``; its first line, where it has several."""
        located: Any = node
        line = located.lineno + self.offset
        text = self.source.lines[line - self.source.first_line]
        start = _column(text, located.col_offset)
        if located.end_lineno == located.lineno:
            return Span(self.source, line, start, _column(text, located.end_col_offset))
        return Span(self.source, line, start, len(text.rstrip()))

    def refuse(self, node: ast.AST, message: str, hint: str = "") -> NoReturn:
        """Raise ``KernelSyntaxError`` at ``node``."""
        raise KernelSyntaxError(message, span=self.span(node), hint=hint)

    @property
    def header(self) -> Span:
        """The place of the function's name."""
        line = self.node.lineno + self.offset
        text = self.source.lines[line - self.source.first_line]
        start = text.index(self.node.name, _column(text, self.node.col_offset) + len("def"))
        return Span(self.source, line, start, start + len(self.node.name))


def _column(text: str, offset: int) -> int:
    """A column in characters; the syntax tree counts bytes of UTF-8."""
    return offset if text.isascii() else len(text.encode()[:offset].decode())


def read_source(function: Any) -> FunctionSource:
    """The source of a function written with ``def``; ``KernelSyntaxError`` for anything else."""
    if not isinstance(function, FunctionType):
        raise KernelSyntaxError(
            f"a {type(function).__name__} is no Python function, so it cannot be parsed"
        )
    code = function.__code__
    lines = _block(function)
    source = Source(code.co_filename, tuple(lines), code.co_firstlineno)
    if function.__name__ == "<lambda>":
        span = Span(source, source.first_line, 0, len(lines[0].rstrip()))
        raise KernelSyntaxError(
            "a lambda cannot be parsed", span=span, hint="write the function with 'def'"
        )
    # Indented text is put below an "if" instead of being dedented, so that columns stay true.
    indented = lines[0][:1].isspace()
    tree = ast.parse(("if 1:\n" if indented else "") + "".join(lines))
    body: Any = tree.body[0]
    node = body.body[0] if indented else body
    found = FunctionSource(function, node, source, source.first_line - 1 - indented)
    if not isinstance(node, ast.FunctionDef):
        found.refuse(node, "only a function written with 'def' can be parsed")
    return found


def _block(function: FunctionType) -> list[str]:
    """The lines of a function's definition, decorators included."""
    code = function.__code__
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    try:
        return inspect.getblock(lines[code.co_firstlineno - 1 :]) or _no_source(function)
    except (IndentationError, tokenize.TokenError, SyntaxError):
        _no_source(function)


def _no_source(function: FunctionType) -> NoReturn:
    raise KernelSyntaxError(
        f"the source of {function.__name__!r} cannot be read",
        hint="write it in a file or a notebook cell: its text is parsed, it is never run",
    )
