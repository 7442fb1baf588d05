"""The source text and syntax tree of a Python function, with places in its file."""

from __future__ import annotations

import ast
import inspect
import linecache
from types import CodeType, FunctionType
from typing import Any, NoReturn

from finch_core.errors import KernelSyntaxError, Source, Span
from finch_core.frontend.conditional_calls import with_calls_apart
from finch_core.frontend.lambdas import NAME, tree_of_lambda
from finch_core.frontend.tuple_targets import with_single_targets
from finch_core.records import frozen


@frozen(eq=False)
class FunctionSource:
    """A function, the syntax tree of its definition, and the text that spans refer to."""

    function: Any
    node: ast.FunctionDef
    source: Source
    offset: int
    """The offset from the tree's line numbers to the file's."""

    def span(self, node: ast.AST) -> Span:
        """The place of ``node``; of its first line, if it has several."""
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
        """The place of the function's name; of a lambda's expression."""
        if self.node.name == NAME:
            return self.span(self.node.body[0])
        line = self.node.lineno + self.offset
        text = self.source.lines[line - self.source.first_line]
        start = text.index(self.node.name, _column(text, self.node.col_offset) + len("def"))
        return Span(self.source, line, start, start + len(self.node.name))


def _column(text: str, offset: int) -> int:
    """A column in characters; the syntax tree counts bytes of UTF-8."""
    return offset if text.isascii() else len(text.encode()[:offset].decode())


def read_source(
    function: Any, *, as_written: bool = False, lambdas: bool = False
) -> FunctionSource:
    """The source of a function written with ``def``, or, if ``lambdas``, of a lambda;
    ``KernelSyntaxError`` for anything else. Assignments to several targets and conditional calls of
    kernels are taken apart, unless it is to stay ``as_written``."""
    if not isinstance(function, FunctionType):
        raise KernelSyntaxError(
            f"a {type(function).__name__} is not a Python function, so it cannot be parsed"
        )
    code = function.__code__
    if lambdas and code.co_name == NAME:
        return _of_lambda(function)
    lines = _block(function)
    source = Source(code.co_filename, tuple(lines), code.co_firstlineno)
    if code.co_name == NAME:
        span = Span(source, source.first_line, 0, len(lines[0].rstrip()))
        raise KernelSyntaxError(
            "a lambda cannot be parsed", span=span, hint="write the function with 'def'"
        )
    # Indented text is put under an "if" rather than dedented, so that columns are unchanged.
    indented = lines[0][:1].isspace()
    try:
        tree = ast.parse(("if 1:\n" if indented else "") + "".join(lines))
    except SyntaxError:  # Python compiled the function: a docstring alone leaves no code
        lines = _tokenized(_lines(function))
        try:
            tree = ast.parse(("if 1:\n" if indented else "") + "".join(lines))
        except SyntaxError:  # so this is not its text
            _changed(function)
        source = Source(code.co_filename, tuple(lines), code.co_firstlineno)
    node: Any = next(iter(tree.body), None)
    node = node.body[0] if indented and isinstance(node, ast.If) else node
    if not _is_of(node, code):
        _changed(function)
    found = FunctionSource(function, node, source, source.first_line - 1 - indented)
    if not isinstance(node, ast.FunctionDef):
        found.refuse(node, "only a function written with 'def' can be parsed")
    if not as_written:
        with_calls_apart(node, function)
        with_single_targets(node, function)
    return found


def _of_lambda(function: FunctionType) -> FunctionSource:
    code = function.__code__
    lines = _kept_text(function) or _lines(function) or _no_source(function)
    tree = tree_of_lambda(function, lines, code.co_firstlineno)
    if tree is None:
        raise KernelSyntaxError(
            f"the text of the lambda is not found in line {code.co_firstlineno} of "
            f"{code.co_filename}",
            hint="write the function with 'def'",
        )
    lines = lines[: (tree.end_lineno or 0) - code.co_firstlineno + 1]
    source = Source(code.co_filename, tuple(lines), code.co_firstlineno)
    return FunctionSource(function, tree, source, 0)


def _is_of(node: ast.stmt | None, code: CodeType) -> bool:
    """Whether a statement defines a function of the name and the parameters that ``code`` has."""
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    params = [arg.arg for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if node.name != code.co_name or len(params) != len(names):
        return False
    return all(map(str.endswith, names, params))  # a class puts its name before private ones


def _block(function: FunctionType) -> list[str]:
    """The lines of a function's definition, including decorators, up to the last one that the
    function's code refers to.

    If that is not certain (statements after a ``return`` leave no code), the standard library
    finds the end, which tokenises the whole file.
    """
    code = function.__code__
    lines = _lines(function)
    if kept := _kept_text(function):
        return kept
    size = _last_line(code) - code.co_firstlineno + 1
    if not 0 < size <= len(lines) or code.co_name == NAME:
        return _tokenized(lines) or _no_source(function)
    rest = (line for line in lines[size:] if line.strip() and not line.lstrip().startswith("#"))
    following = next(rest, "")
    if _depth(following) > _depth(lines[0]):
        return _tokenized(lines) or _no_source(function)
    return lines[:size]


def _kept_text(function: FunctionType) -> list[str]:
    """The lines with which a function was unpickled (see ``pickling``); none of others."""
    made_of, kept = function.__dict__.get("__finch_text__", (b"", ()))
    return list(kept) if made_of == function.__code__.co_code else []


def _lines(function: FunctionType) -> list[str]:
    """The lines of a function's file, from its first one on."""
    code = function.__code__
    linecache.checkcache(code.co_filename)
    return linecache.getlines(code.co_filename, function.__globals__)[code.co_firstlineno - 1 :]


def _last_line(code: CodeType) -> int:
    """The last line of ``code`` and of the functions in it; 0 if line numbers were not stored
    (the interpreter's option ``no_debug_ranges``)."""
    ends = [end or 0 for _, end, _, _ in code.co_positions()]
    ends += [_last_line(inner) for inner in code.co_consts if isinstance(inner, CodeType)]
    return max(ends, default=0)


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _tokenized(lines: list[str]) -> list[str]:
    import tokenize

    try:
        return inspect.getblock(lines)
    except (IndentationError, tokenize.TokenError, SyntaxError):
        return []


def _changed(function: FunctionType) -> NoReturn:
    raise KernelSyntaxError(
        f"the source of {function.__name__!r} has changed since Python read it: "
        f"line {function.__code__.co_firstlineno} of {function.__code__.co_filename} is not its "
        "definition",
        hint="import the module again, or start Python again",
    )


def _no_source(function: FunctionType) -> NoReturn:
    raise KernelSyntaxError(
        f"the source of {function.__name__!r} cannot be read",
        hint="write it in a file or a notebook cell: its text is parsed, it is never run",
    )
