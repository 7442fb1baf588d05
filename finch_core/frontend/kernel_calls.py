"""Kernels that call kernels: the program of the one that is called stands where it is called.

    @kernel
    def axpy(y, a, x):                    axpy(r, 2 * t, p)
        for i in _:               ->      a = 2 * t
            y[i] += a * x[i]              for i in _:
                                              r[i] += a * p[i]

Tensors are given by name; a number is given by any expression, whose value is taken once. What the
called kernel binds keeps its own meaning: names that the caller has, too, get a number. Where it
returns numbers, its call is a value, and its program stands before the statement that needs it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from finch_core.frontend.assignments import AssignmentParser, scope_free
from finch_core.frontend.conditional_calls import is_kernel, is_part
from finch_core.frontend.names import Scope, found
from finch_core.ir import primitives as prim
from finch_core.ir.dense_like import DenseLike
from finch_core.ir.expressions import Access, Call, Dimension, Expr, Index, Name
from finch_core.ir.program import (
    Declare,
    Define,
    Freeze,
    Local,
    Loop,
    Program,
    Stmt,
    Swap,
    Thaw,
    written,
)
from finch_core.ir.rewrite import rewrite, rewrite_expr, rewrite_statements
from finch_core.records import evolve


def inline_kernel(parser: AssignmentParser, node: ast.Call, kernel: Any, scope: Scope) -> Stmt:
    """The statement that the call ``node`` of a kernel stands for.

    Raises ``KernelSyntaxError`` for recursion, and for arguments that do not fit.
    """
    return _inlined(parser, node, kernel, scope).at(node, scope)


def before(parser: AssignmentParser, node: ast.stmt, scope: Scope) -> list[Stmt]:
    """The programs of the kernels whose calls are values in ``node``, in their order.

    Raises ``KernelSyntaxError`` as ``inline_kernel``, for a kernel that does not return numbers,
    and for one that writes to its arguments where its call is only a part of a value.
    """
    done: list[Stmt] = []
    whole = getattr(node, _VALUES.get(type(node), ""), None)
    function = parser.context.source.function
    for call in () if whole is None else _evaluated(whole):
        if call is whole and isinstance(node, ast.Expr):
            continue  # what it returns is left out
        if not scope_free(call.func, scope) or not is_kernel(found(function, call.func)):
            continue
        kernel = parser.context.object_of(call.func, scope)
        inlined = _inlined(parser, call, kernel, scope)
        shown, program = ast.unparse(call.func), inlined.program
        numbers = {local.name for local in program.locals if local.is_variable}
        if not program.results or not numbers.issuperset(program.results):
            parser.context.refuse(
                call, f"{shown!r} is a kernel that returns no number",
                "call it on a line of its own: it writes to its arguments",
            )  # fmt: skip
        alone = call is whole and not isinstance(node, ast.AugAssign) and not is_part(call)
        if not alone and not written(program).isdisjoint(program.params):
            parser.context.refuse(
                call, f"{shown!r} writes to its arguments, and its call is a part of a value",
                f"give its value a name on a line before: 'value = {shown}(...)'",
            )  # fmt: skip
        done.append(inlined.at(call, scope))
        span = parser.context.span(call)
        values = tuple(Access(inlined.names[name], (), span) for name in program.results)
        value = values[0] if program.single else Call(prim.make_tuple, values)
        parser.context.computed[id(call)] = value
    return done


_VALUES = {
    ast.Assign: "value", ast.AugAssign: "value", ast.Expr: "value", ast.If: "test", ast.For: "iter",
}  # fmt: skip
"""What each kind of statement evaluates once, and first."""


def _evaluated(node: ast.expr) -> Iterator[ast.Call]:
    """The calls in an expression that are certainly evaluated, the inner ones first."""
    children: list[ast.AST] = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.BoolOp):
        children = [node.values[0]]
    elif isinstance(node, ast.IfExp):
        children = [node.test]
    elif isinstance(node, ast.Compare):
        children = [node.left, node.comparators[0]]
    for child in children:
        if isinstance(child, (ast.expr, ast.keyword)):
            yield from _evaluated(child.value if isinstance(child, ast.keyword) else child)
    if isinstance(node, ast.Call):
        yield node


def _inlined(parser: AssignmentParser, node: ast.Call, kernel: Any, scope: Scope) -> _Inlined:
    context = parser.context
    shown, function = ast.unparse(node.func), kernel.__wrapped__
    context.refuse_recursion(node, kernel)
    program: Program | None = kernel.__finch_program__(context.kernels)
    if program is None:
        context.refuse(
            node, f"{shown!r} has rewrite rules of its own, and cannot be called here",
            "give the rules to the kernel that calls it",
        )  # fmt: skip
    context.strict = context.strict or program.strict
    if program.seen is not None:
        context.seen.include(program.seen)
    given = _arguments(parser, node, shown, program)
    return _Inlined(parser, program, function, given)


def _arguments(
    parser: AssignmentParser, node: ast.Call, shown: str, program: Program
) -> dict[str, ast.expr]:
    """The argument of each parameter."""
    for arg in node.args:
        if isinstance(arg, ast.Starred):
            parser.context.refuse(arg, "'*' before a value is not part of the language")
    if len(node.args) > len(program.params):
        count = len(program.params)
        message = f"{shown!r} takes {count} argument{'s' * (count != 1)}, not {len(node.args)}"
        parser.context.refuse(node, message)
    given = dict(zip(program.params, node.args, strict=False))
    for keyword in node.keywords:
        if keyword.arg not in program.params or keyword.arg in given:
            parser.context.refuse(keyword, f"{shown!r} does not take {keyword.arg!r} here")
        given[str(keyword.arg)] = keyword.value
    for name, value in program.defaults.items():
        if name not in given:
            given[name] = ast.copy_location(ast.Constant(value), node)
    missing = [name for name in program.params if name not in given]
    if missing:
        parser.context.refuse(node, f"{shown!r} lacks an argument for {missing[0]!r}")
    return given


class _Inlined:
    """A program whose names are made those of the caller.

    ``names`` maps the tensors and bound names of the program, ``values`` its numbers.
    """

    def __init__(
        self, parser: AssignmentParser, program: Program, function: Any, given: dict[str, ast.expr]
    ) -> None:
        self.parser, self.program, self.function, self.given = parser, program, function, given
        self.names: dict[str, str] = {}
        self.values: dict[str, Expr] = {}

    def at(self, node: ast.Call, scope: Scope) -> Stmt:
        """The statements of the program, for a call at ``node``."""
        taken: list[tuple[Name, Expr]] = []
        tensors = _tensors(self.program)
        for name, value in self.given.items():
            if name in tensors:
                self.names[name] = self.parser.expressions.tensor_name(value, scope)
            else:
                taken += self.number(name, value, scope)
        for name in _bound(self.program):
            self.names[name] = self.parser.context.fresh(name)
        self.outside()
        self.locals()
        body = rewrite_statements(rewrite(self.program.body, self.expr, self.expr), self.stmt)
        span = self.parser.context.span(node)
        for name_, value_ in reversed(taken):
            body = Define(name_, value_, body, span=span)
        return body

    def number(self, name: str, node: ast.expr, scope: Scope) -> list[tuple[Name, Expr]]:
        """Let a parameter stand for a number; a value that may change is taken first."""
        known = self.parser.known_value(node, scope)
        if known is not None:
            self.values[name] = known
            return []
        own = Name(self.parser.context.fresh(name), span=self.parser.context.span(node))
        self.values[name] = own
        return [(own, self.parser.expressions.parse(node, scope))]

    def outside(self) -> None:
        """Let the program's free names be free names of the caller's program."""
        context, homes = self.parser.context, {name: rest for name, *rest in self.program.homes}
        for name in self.program.free:
            function, original = homes.get(name, (self.function, name))
            self.names[name] = own = context.shared(function, original)
            context.free[own] = None

    def locals(self) -> None:
        """Let the tensors and variables that the program makes be some of the caller's program."""
        for local in self.program.locals:
            own, shape = self.names[local.name], local.shape
            if shape is not None:
                shape = tuple(
                    rewrite_expr(size, self.expr) if isinstance(size, Expr) else size
                    for size in shape
                )
            format = local.format
            if isinstance(format, DenseLike):
                format = format.renamed(self.names.__getitem__)
            self.parser.locals[own] = Local(own, format, shape, local.span)

    def expr(self, node: Expr) -> Expr:
        if isinstance(node, Index):
            return Index(self.names[node.name])
        if isinstance(node, Name):
            value = self.values.get(node.name)
            return evolve(node, name=self.names[node.name]) if value is None else value
        if isinstance(node, (Access, Dimension)):
            return evolve(node, tensor=self.names[node.tensor])
        return node

    def stmt(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, Loop):
            return evolve(stmt, index=Index(self.names[stmt.index.name]))
        if isinstance(stmt, Define):
            return evolve(stmt, name=Name(self.names[stmt.name.name], span=stmt.name.span))
        if isinstance(stmt, (Declare, Freeze, Thaw)):
            return evolve(stmt, tensor=self.names[stmt.tensor])
        if isinstance(stmt, Swap):
            names = self.names[stmt.first], self.names[stmt.second]
            return evolve(stmt, first=names[0], second=names[1])
        return stmt


def _tensors(program: Program) -> set[str]:
    """The names that a program uses as tensors."""
    likes = (local.format for local in program.locals if isinstance(local.format, DenseLike))
    found = {name for like in likes for name in like.sources}
    for part in program.body.walk():
        if isinstance(part, (Declare, Freeze, Thaw)):
            found.add(part.tensor)
        if isinstance(part, Swap):
            found |= {part.first, part.second}
        nodes = (node for expr in part.exprs for node in expr.walk())
        found |= {node.tensor for node in nodes if isinstance(node, (Access, Dimension))}
    return found


def _bound(program: Program) -> list[str]:
    """The names that a program binds: indices, lets, and what it makes."""
    found = {local.name: None for local in program.locals}
    for part in program.body.walk():
        if isinstance(part, Loop):
            found[part.index.name] = None
        elif isinstance(part, Define):
            found[part.name.name] = None
    return list(found)


__all__ = ["before", "inline_kernel", "is_kernel"]
