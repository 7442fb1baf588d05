"""Parsing of statements: from Python's syntax tree to statements of the program."""

from __future__ import annotations

import ast
import builtins
from itertools import pairwise
from typing import Any

from finch_core.errors import FormatError
from finch_core.frontend.assignments import AssignmentParser, scope_free
from finch_core.frontend.expressions import literal
from finch_core.frontend.functions import _ as WHOLE
from finch_core.frontend.functions import freeze, parallel, swap, thaw
from finch_core.frontend.kernel_calls import before, inline_kernel, is_kernel
from finch_core.frontend.names import Binding, Scope
from finch_core.frontend.refusals import STATEMENTS
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Expr, Index, Literal
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
    Swap,
    Thaw,
    While,
    leaves,
)
from finch_core.records import evolve, frozen


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
            done += before(self, node, scope)
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
        over, is_parallel = self.parallel(node.iter, scope)
        extent = self.extent(over, scope)
        if extent is not None and len(targets) > 1:
            self.context.refuse(
                node.iter, "a range has one index", "nest the loops: one 'for' for each index"
            )
        inner = scope.inner()
        indices = [self.new_index(target, inner) for target in targets]
        body = self.turn(node.body, inner)
        for index, target in reversed(list(zip(indices, targets, strict=True))):
            first = is_parallel and index is indices[0]
            body = Loop(index, extent, body, parallel=first, span=self.context.span(target))
        return [labelled(BREAK, body)]

    def while_(self, node: ast.While, scope: Scope) -> list[Stmt]:
        self.refuse_else(node)
        cond = self.expressions.condition(node.test, scope)
        body = self.turn(node.body, scope.inner())
        return [labelled(BREAK, While(cond, body, span=self.context.span(node.test)))]

    def refuse_else(self, node: ast.For | ast.While) -> None:
        if node.orelse:
            self.context.refuse(
                node.orelse[0], "'else' of a loop is not part of the language",
                "set a name before each 'break', and test it after the loop",
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

    def parallel(self, over: ast.expr, scope: Scope) -> tuple[ast.expr, bool]:
        """What a loop runs over, without ``parallel(...)`` around it, and whether that is there."""
        if not isinstance(over, ast.Call) or not self.calls(over, parallel, scope):
            return over, False
        if over.keywords or len(over.args) != 1:
            self.context.refuse(over, "'parallel' takes '_' or a 'range'", "write 'parallel(_)'")
        return over.args[0], True

    def extent(self, over: ast.expr, scope: Scope) -> Extent | None:
        """``_`` (``None``) or ``range(a, b)``, or whole numbers at equal distances, ``(-1, 1)``."""
        if isinstance(over, ast.Name) and over.id == "_":
            return None
        if isinstance(over, (ast.Name, ast.Attribute)):
            if scope_free(over, scope) and self.context.object_of(over, scope) is WHOLE:
                return None
        elif isinstance(over, ast.Call) and self.calls(over, builtins.range, scope):
            return self.range(over, scope)
        elif isinstance(over, ast.Call) and self.calls(over, builtins.reversed, scope):
            return self.reversed(over, scope)
        elif isinstance(over, (ast.Tuple, ast.List)):
            found = self.progression(over, scope)
            if found is not None:
                return found
        self.context.refuse(over, "a loop runs over '_' or a 'range'", self.range_for(over))

    def progression(self, node: ast.Tuple | ast.List, scope: Scope) -> Extent | None:
        """The range of the numbers that are written, if it has these alone."""
        if not node.elts or any(isinstance(part, (ast.Tuple, ast.List)) for part in node.elts):
            return None
        if any(isinstance(part, ast.Name) and part.id == "_" for part in node.elts):
            hint = "one '_' is for all indices: write 'for i, j in _:'"
            self.context.refuse(node, "a loop runs over '_' or a 'range'", hint)
        terms = [self.expressions.parse(part, scope) for part in node.elts]
        values = [t.value for t in terms if isinstance(t, Literal) and type(t.value) is int]
        steps = {b - a for a, b in pairwise(values)} or {1}
        if len(values) < len(terms) or len(steps) > 1 or steps == {0}:
            return None
        step, end = steps.pop(), values[-1]
        if step == 1:
            return Extent(literal(values[0]), literal(end + 1))
        return Extent(literal(values[0]), literal(end + step), literal(step))

    def range_for(self, node: ast.expr) -> str:
        """What to write for a loop over something else than a range."""
        over: ast.expr | None = node
        if isinstance(node, (ast.Tuple, ast.List)):
            return "pass the values as an array: 'for k in range(len(v)):', and read 'v[k]'"
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "np.arange" and node.args:
            return f"write 'for i in range({', '.join(map(ast.unparse, node.args))}):'"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called = node.func.id in ("enumerate", "zip", "reversed", "iter") and node.args
            over = node.args[0] if called else None
        if isinstance(over, ast.Name):
            return f"write 'for i in range(len({over.id})):', and read '{over.id}[i]'"
        return "write 'for i in _:' or 'range(a, b)'"

    def calls(self, node: ast.Call, function: Any, scope: Scope) -> bool:
        return self.context.object_of(node.func, scope) is function

    def range(self, node: ast.Call, scope: Scope) -> Extent:
        if node.keywords or not 1 <= len(node.args) <= 3:
            self.context.refuse(node, "'range' takes a start, a stop and a step, or a stop alone")
        start, *rest = (self.end(arg, scope) for arg in node.args)
        if not rest:
            return Extent(literal(0), start)
        if len(rest) == 1 or rest[1] == literal(1):
            return Extent(start, rest[0])
        if rest[1] == literal(0):
            self.context.refuse(node.args[2], "the step of a range cannot be 0")
        return Extent(start, rest[0], rest[1])

    def end(self, node: ast.expr, scope: Scope) -> Expr:
        """A part of a range; refused where it is a float, whatever the arguments are."""
        found = self.expressions.parse(node, scope)
        try:
            dtype = concrete(found.dtype)
        except TypeError:  # it depends on them
            return found
        if dtype.kind in "fc":
            code = ast.unparse(node)
            hint = f"cast it, 'int({code})'"
            if isinstance(found, Literal) and found.value == int(found.value.real):
                hint = f"write '{int(found.value.real)}'"
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
                code_ = ast.unparse(ast.BinOp(node.left, ast.FloorDiv(), node.right))
                hint = f"write '{code_}', or {hint}"
            raise FormatError(
                f"a range is of integers, and '{code}' is a value of {dtype}",
                span=self.context.span(node), hint=hint,
            )  # fmt: skip
        return found

    def reversed(self, node: ast.Call, scope: Scope) -> Extent:
        """The range with the same numbers in reverse."""
        over = node.args[0] if len(node.args) == 1 and not node.keywords else node
        if not isinstance(over, ast.Call) or not self.calls(over, builtins.range, scope):
            self.context.refuse(
                node, "only a range can be reversed", "write 'reversed(range(a, b))'"
            )
        return evolve(self.range(over, scope), backwards=True)

    def branch(self, node: ast.If, scope: Scope) -> list[Stmt]:
        cond = self.expressions.condition(node.test, scope)
        body = self.block(node.body, scope.inner())
        orelse = self.block(node.orelse, scope.inner()) if node.orelse else Sequential()
        return [Sieve(cond, body, orelse, span=self.context.span(node.test))]

    def nothing(self, node: ast.Pass, scope: Scope) -> list[Stmt]:
        return []

    def expression(self, node: ast.Expr, scope: Scope) -> list[Stmt]:
        """``freeze(A)``, ``thaw(A)``, ``swap(A, B)``, the call of a kernel; any other value has no
        effect."""
        if isinstance(node.value, ast.Call):
            function = self.context.object_of(node.value.func, scope)
            if function is freeze or function is thaw:
                return [self.lifecycle(node.value, Freeze if function is freeze else Thaw, scope)]
            if function is swap:
                return [self.exchange(node.value, scope)]
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

    def exchange(self, node: ast.Call, scope: Scope) -> Stmt:
        if node.keywords or len(node.args) != 2:
            self.context.refuse(node, f"{ast.unparse(node.func)!r} takes two tensors")
        first, second = (self.expressions.tensor_name(arg, scope) for arg in node.args)
        if first == second:
            self.context.refuse(node, f"{first!r} is swapped with itself", "name two tensors")
        return Swap(first, second, span=self.context.span(node))


_HANDLERS: dict[type[ast.AST], Any] = {
    ast.For: StatementParser.loop,
    ast.While: StatementParser.while_,
    ast.Break: StatementParser.leave,
    ast.Continue: StatementParser.leave,
    ast.If: StatementParser.branch,
    ast.Pass: StatementParser.nothing,
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
