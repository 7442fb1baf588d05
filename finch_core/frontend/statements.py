"""Parsing of statements: from Python's syntax tree to statements of the program."""

from __future__ import annotations

import ast
import builtins
from typing import Any

from finch_core.frontend.assignments import AssignmentParser, scope_free
from finch_core.frontend.expressions import literal
from finch_core.frontend.functions import _ as WHOLE
from finch_core.frontend.functions import freeze, thaw
from finch_core.frontend.kernel_calls import inline_kernel, is_kernel
from finch_core.frontend.names import Binding, Scope
from finch_core.frontend.refusals import STATEMENTS
from finch_core.ir.expressions import Index
from finch_core.ir.program import (
    BREAK,
    CONTINUE,
    Define,
    Extent,
    Freeze,
    Labelled,
    Leave,
    Loop,
    Sequential,
    Sieve,
    Stmt,
    Thaw,
    While,
    leaves,
)
from finch_core.records import frozen


@frozen
class StatementParser(AssignmentParser):
    """Parses the statements of one kernel, and collects its locals."""

    def block(self, body: list[ast.stmt], scope: Scope) -> Stmt:
        """The statements of a block; a variable is in scope for the statements after it."""
        return sequence(self.rest(body, scope))

    def rest(self, body: list[ast.stmt], scope: Scope) -> list[Stmt]:
        done: list[Stmt] = []
        for position, node in enumerate(body):
            done += self.beginnings(node)
            if self.is_let(node, scope):
                assert isinstance(node, ast.Assign)
                name, value = self.let(node, scope)
                inner = sequence(self.rest(body[position + 1 :], scope))
                return [*done, Define(name, value, inner, span=self.context.span(node))]
            done += self.statement(node, scope)
        return done

    def statement(self, node: ast.stmt, scope: Scope) -> list[Stmt]:
        handler = _HANDLERS.get(type(node))
        if handler is None:
            message, hint = STATEMENTS.get(
                type(node), (f"{type(node).__name__!r} is not part of the language", "")
            )
            self.context.refuse(node, message, hint)
        result: list[Stmt] = handler(self, node, scope)
        return result

    # -- control ----------------------------------------------------------------------------

    def loop(self, node: ast.For, scope: Scope) -> list[Stmt]:
        self.refuse_else(node)
        targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
        extent = self.extent(node, scope)
        if extent is not None and len(targets) > 1:
            self.context.refuse(
                node.iter, "a range has one index", "nest the loops: one 'for' for each index"
            )
        inner = scope.inner()
        indices = [self.new_index(target, inner) for target in targets]
        body = self.turn(node.body, inner)
        for index, target in reversed(list(zip(indices, targets, strict=True))):
            body = Loop(index, extent, body, span=self.context.span(target))
        return [labelled(BREAK, body)]

    def while_(self, node: ast.While, scope: Scope) -> list[Stmt]:
        self.refuse_else(node)
        cond = self.expressions.parse(node.test, scope)
        body = self.turn(node.body, scope.inner())
        return [labelled(BREAK, While(cond, body, span=self.context.span(node.test)))]

    def refuse_else(self, node: ast.For | ast.While) -> None:
        if node.orelse:
            self.context.refuse(
                node.orelse[0], "'else' of a loop is not part of the language",
                "write it after the loop",
            )  # fmt: skip

    def turn(self, body: list[ast.stmt], scope: Scope) -> Stmt:
        """The body of a loop."""
        return labelled(CONTINUE, self.block(body, scope))

    def leave(self, node: ast.Break | ast.Continue, scope: Scope) -> list[Stmt]:
        label = BREAK if isinstance(node, ast.Break) else CONTINUE
        return [Leave(label, span=self.context.span(node))]

    def new_index(self, node: ast.expr, scope: Scope) -> Index:
        if not isinstance(node, ast.Name):
            self.context.refuse(node, "a loop index must be a plain name")
        if node.id == "_":
            self.context.refuse(
                node, "'_' is an extent, not an index", "give the index a name, used or not"
            )
        index = Index(node.id)
        self.context.bind(node, scope, node.id, Binding("index", self.context.span(node), index))
        return index

    def extent(self, node: ast.For, scope: Scope) -> Extent | None:
        """``_`` (``None``) or ``range(a, b)``."""
        over = node.iter
        if isinstance(over, ast.Name) and over.id == "_":
            return None
        if isinstance(over, (ast.Name, ast.Attribute)):
            if scope_free(over, scope) and self.context.object_of(over, scope) is WHOLE:
                return None
        elif isinstance(over, ast.Call) and self.calls_range(over, scope):
            return self.range(over, scope)
        self.context.refuse(
            over, "a loop runs over '_' or a 'range'", "write 'for i in _:' or 'range(a, b)'"
        )

    def calls_range(self, node: ast.Call, scope: Scope) -> bool:
        return self.context.object_of(node.func, scope) is builtins.range

    def range(self, node: ast.Call, scope: Scope) -> Extent:
        if len(node.args) == 3:
            self.context.refuse(
                node.args[2], "a range has no step",
                "loop over the number of steps and compute the index: 'A[2 * i]'",
            )  # fmt: skip
        if node.keywords or not 1 <= len(node.args) <= 2:
            self.context.refuse(node, "'range' takes a start and a stop, or a stop alone")
        bounds = [self.expressions.parse(arg, scope) for arg in node.args]
        return Extent(bounds[0], bounds[1]) if len(bounds) == 2 else Extent(literal(0), bounds[0])

    def branch(self, node: ast.If, scope: Scope) -> list[Stmt]:
        cond = self.expressions.parse(node.test, scope)
        body = self.block(node.body, scope.inner())
        orelse = self.block(node.orelse, scope.inner()) if node.orelse else Sequential()
        return [Sieve(cond, body, orelse, span=self.context.span(node.test))]

    def nothing(self, node: ast.Pass, scope: Scope) -> list[Stmt]:
        return []

    def early_return(self, node: ast.Return, scope: Scope) -> list[Stmt]:
        self.context.refuse(
            node, "'return' is only allowed at the end of a kernel", "put the rest under an 'if'"
        )

    def expression(self, node: ast.Expr, scope: Scope) -> list[Stmt]:
        """``freeze(A)``, ``thaw(A)``, the call of a kernel; any other value has no effect."""
        if isinstance(node.value, ast.Call):
            function = self.context.object_of(node.value.func, scope)
            if function is freeze or function is thaw:
                return [self.lifecycle(node.value, Freeze if function is freeze else Thaw, scope)]
            if is_kernel(function):
                return [inline_kernel(self, node.value, function, scope)]
        self.expressions.parse(node.value, scope)
        self.context.refuse(
            node, "a value by itself has no effect", "assign it: 'A[i] = e' or 'x = e'"
        )

    def lifecycle(self, node: ast.Call, kind: type[Freeze] | type[Thaw], scope: Scope) -> Stmt:
        if node.keywords or len(node.args) != 1:
            self.context.refuse(node, f"{ast.unparse(node.func)!r} takes one tensor")
        name = self.expressions.tensor_name(node.args[0], scope)
        return kind(name, span=self.context.span(node))


_HANDLERS: dict[type[ast.AST], Any] = {
    ast.For: StatementParser.loop,
    ast.While: StatementParser.while_,
    ast.Break: StatementParser.leave,
    ast.Continue: StatementParser.leave,
    ast.If: StatementParser.branch,
    ast.Pass: StatementParser.nothing,
    ast.Return: StatementParser.early_return,
    ast.Expr: StatementParser.expression,
    ast.Assign: StatementParser.assign,
    ast.AugAssign: StatementParser.augmented,
}


def sequence(statements: list[Stmt]) -> Stmt:
    """One statement by itself, or several in order."""
    return statements[0] if len(statements) == 1 else Sequential(tuple(statements))


def labelled(label: str, stmt: Stmt) -> Stmt:
    """``stmt``, labelled if it contains a ``Leave`` of that label."""
    return Labelled(label, stmt, span=stmt.span) if label in leaves(stmt) else stmt
