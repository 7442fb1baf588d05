"""Parsing of statements: from Python's syntax tree to statements of the program."""

from __future__ import annotations

import ast
import builtins
from types import FunctionType
from typing import Any

import attrs

from finch_core.errors import count
from finch_core.frontend.calls import operator_of
from finch_core.frontend.context import ParseContext
from finch_core.frontend.expressions import ExpressionParser, is_tensor, literal
from finch_core.frontend.functions import _ as WHOLE
from finch_core.frontend.functions import freeze, thaw
from finch_core.frontend.inlining import reduction
from finch_core.frontend.names import SHOWN, Binding, Scope
from finch_core.frontend.refusals import STATEMENTS
from finch_core.ir import primitives as prim
from finch_core.ir.expressions import Access, Call, Expr, Index, Literal, Name
from finch_core.ir.operators import Operator
from finch_core.ir.program import (
    Declare,
    Define,
    Extent,
    Freeze,
    Local,
    Loop,
    Sequential,
    Sieve,
    Stmt,
    Thaw,
    Update,
)
from finch_core.records import frozen


@frozen
class StatementParser:
    """Parses the statements of one kernel, and collects its locals."""

    context: ParseContext
    expressions: ExpressionParser
    locals: dict[str, Local] = attrs.field(factory=dict)

    def block(self, body: list[ast.stmt], scope: Scope) -> Stmt:
        """The statements of a block; a variable is in scope for the statements after it."""
        return sequence(self.rest(body, scope))

    def rest(self, body: list[ast.stmt], scope: Scope) -> list[Stmt]:
        done: list[Stmt] = []
        for position, node in enumerate(body):
            if self.is_variable(node, scope):
                assert isinstance(node, ast.Assign)
                name, value = self.variable(node, scope)
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
        if node.orelse:
            self.context.refuse(
                node.orelse[0], "'else' of a loop is not part of the language",
                "write it after the loop",
            )  # fmt: skip
        targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
        extent = self.extent(node, scope)
        if extent is not None and len(targets) > 1:
            self.context.refuse(
                node.iter, "a range has one index", "nest the loops: one 'for' for each index"
            )
        inner = scope.inner()
        indices = [self.new_index(target, inner) for target in targets]
        body = self.block(node.body, inner)
        for index, target in reversed(list(zip(indices, targets, strict=True))):
            body = Loop(index, extent, body, span=self.context.span(target))
        return [body]

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
        """``freeze(A)`` and ``thaw(A)``; any other value has no effect."""
        if isinstance(node.value, ast.Call):
            function = self.context.object_of(node.value.func, scope)
            if function is freeze or function is thaw:
                return [self.lifecycle(node.value, Freeze if function is freeze else Thaw, scope)]
        self.expressions.parse(node.value, scope)
        self.context.refuse(
            node, "a value by itself has no effect", "assign it: 'A[i] = e' or 'x = e'"
        )

    def lifecycle(self, node: ast.Call, kind: type[Freeze] | type[Thaw], scope: Scope) -> Stmt:
        if node.keywords or len(node.args) != 1:
            self.context.refuse(node, f"{ast.unparse(node.func)!r} takes one tensor")
        name = self.expressions.tensor_name(node.args[0], scope)
        return kind(name, span=self.context.span(node))

    # -- assignments ------------------------------------------------------------------------

    def is_variable(self, node: ast.stmt, scope: Scope) -> bool:
        """Whether ``node`` is ``x = e`` with a scalar ``e``."""
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            return False
        return self.maker(node.value, scope) is None

    def maker(self, node: ast.expr, scope: Scope) -> Any:
        """The class or function if ``node`` is a call that makes a local, else ``None``."""
        if not isinstance(node, ast.Call) or not scope_free(node.func, scope):
            return None
        function = self.context.object_of(node.func, scope)
        return function if getattr(function, "__finch_local__", False) else None

    def variable(self, node: ast.Assign, scope: Scope) -> tuple[Name, Expr]:
        target = self.only_target(node)
        assert isinstance(target, ast.Name)
        value = self.expressions.parse(node.value, scope)
        span = self.context.span(target)
        name = Name(target.id, span=span)
        self.context.bind(target, scope, target.id, Binding("variable", span, name))
        return name, value

    def only_target(self, node: ast.Assign) -> ast.expr:
        if len(node.targets) > 1:
            self.context.refuse(
                node.targets[1], "one assignment has one target", "write one line for each"
            )
        return node.targets[0]

    def assign(self, node: ast.Assign, scope: Scope) -> list[Stmt]:
        target = self.only_target(node)
        if isinstance(target, ast.Name):
            return [self.local(node, target, scope)]
        if not isinstance(target, ast.Subscript):
            self.context.refuse(
                target, "the target of an assignment must be a name or an access",
                "write one line for each: 'x = t[0]'",
            )  # fmt: skip
        if is_whole(target):
            return [self.declare(node, target, scope)]
        access = self.target(target, scope)
        op = self.user_reduction(node.value, access, scope)
        if op is not None:
            assert isinstance(node.value, ast.Call)
            value = self.expressions.parse(node.value.args[1], scope)
            return [Update(access, op, value, span=self.context.span(node))]
        return self.update(node, access, self.expressions.parse(node.value, scope))

    def update(self, node: ast.stmt, target: Access, value: Expr) -> list[Stmt]:
        """``A[i] = op(A[i], a)`` is an update with ``op``, ``A[i] + a + b`` is two of them."""
        terms: list[Expr] = []
        rest, op = value, value.op if isinstance(value, Call) else None
        while isinstance(rest, Call) and rest.op is op and len(rest.args) == 2:
            rest, term = rest.args
            terms.insert(0, term)
        span = self.context.span(node)
        if rest == target and terms and not any(target in term.walk() for term in terms):
            return [Update(target, op, term, span=span) for term in terms]
        return [Update(target, None, value, span=span)]

    def user_reduction(self, node: ast.expr, target: Access, scope: Scope) -> Operator | None:
        """The operator of ``f(A[i], e)`` with a Python function ``f`` and the target ``A[i]``."""
        if not isinstance(node, ast.Call) or len(node.args) != 2 or node.keywords:
            return None
        function = self.context.object_of(node.func, scope)
        if not isinstance(function, FunctionType) or operator_of(function) is not None:
            return None
        first = node.args[0]
        if not isinstance(first, ast.Subscript):
            return None
        if self.expressions.parse(first, scope) != target:
            return None
        return reduction(self.context, node, function)

    def target(self, node: ast.Subscript, scope: Scope) -> Access:
        if not isinstance(node.value, ast.Name):
            self.context.refuse(node, "the target of an update must be an access to a named tensor")
        return self.expressions.access(node, scope)

    def augmented(self, node: ast.AugAssign, scope: Scope) -> list[Stmt]:
        op = self.expressions.binary_operator(node, node.op)
        if isinstance(node.target, ast.Name):
            self.refuse_rebinding(node, node.target, scope)
        if not isinstance(node.target, ast.Subscript) or is_whole(node.target):
            self.context.refuse(
                node.target, "an update changes one element", "write 'A[i] += e' in a loop"
            )
        target = self.target(node.target, scope)
        value = self.expressions.parse(node.value, scope)
        return [Update(target, op, value, span=self.context.span(node))]

    def refuse_rebinding(self, node: ast.AugAssign, target: ast.Name, scope: Scope) -> None:
        binding = self.context.find(target, scope, target.id)
        shown = "a free name" if binding is None else SHOWN[binding.kind]
        self.context.refuse(
            node, f"{target.id!r} is {shown} and cannot be updated",
            f"use a scalar tensor: '{target.id} = Scalar(0.0)' and '{target.id}[()] += e'",
        )  # fmt: skip

    def declare(self, node: ast.Assign, target: ast.Subscript, scope: Scope) -> Stmt:
        name = self.expressions.tensor_name(target.value, scope)
        init = folded(self.expressions.parse(node.value, scope))
        return Declare(name, init, span=self.context.span(node))

    def local(self, node: ast.Assign, target: ast.Name, scope: Scope) -> Stmt:
        """``w = Tensor(fmt)``: the format is made when the kernel is parsed, the declaration
        stands here."""
        if target.id in self.locals:
            self.context.refuse(
                target, f"{target.id!r} is a tensor of this kernel already", "use another name"
            )
        maker, computed = self.computed_shape(node.value, scope)
        made = self.context.evaluate(maker, scope, "a tensor of a kernel")
        span = self.context.span(target)
        self.context.bind(target, scope, target.id, Binding("local", span))
        self.refuse_data(maker, scope)
        if computed is not None and len(computed) != len(made.shape):
            sizes = count(len(computed), "dimension")
            message = f"a shape of {sizes} for a format of {len(made.shape)}"
            self.context.refuse(node.value, message, "nest one level a dimension, ending in a leaf")
        given = tuple(made.shape) if made.shape and not made._sizeless else None
        shape = computed or given
        self.locals[target.id] = Local(target.id, made.format, shape, span)
        return Declare(target.id, fill(made.fill_value), span=self.context.span(node))

    def computed_shape(
        self, node: ast.expr, scope: Scope
    ) -> tuple[ast.expr, tuple[Expr, ...] | None]:
        """``Tensor(fmt, (n, 3))`` without a shape that names parameters, and that shape."""
        shape = node.args[1] if isinstance(node, ast.Call) and len(node.args) == 2 else None
        if not isinstance(node, ast.Call) or not isinstance(shape, ast.Tuple):
            return node, None
        names = {part.id for part in ast.walk(shape) if isinstance(part, ast.Name)}
        if all(scope.find(name) is None for name in names):
            return node, None
        maker = ast.copy_location(ast.Call(node.func, node.args[:1], node.keywords), node)
        return maker, tuple(self.expressions.parse(size, scope) for size in shape.elts)

    def refuse_data(self, node: ast.expr, scope: Scope) -> None:
        """Refuse ``Tensor(fmt, array)``: a local starts empty."""
        assert isinstance(node, ast.Call)
        for arg in node.args[1:]:
            given = self.context.evaluate(arg, scope, "a tensor of a kernel")
            if is_tensor(given) or isinstance(given, list):
                self.context.refuse(
                    arg,
                    "a tensor of a kernel starts empty: it takes a format and a shape",
                    "make it outside the kernel, and pass it or use its name",
                )


_HANDLERS: dict[type[ast.AST], Any] = {
    ast.For: StatementParser.loop,
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


def scope_free(node: ast.expr, scope: Scope) -> bool:
    """Whether the name of a callee is free in the kernel."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and scope.find(node.id) is None


def is_whole(node: ast.Subscript) -> bool:
    """Whether ``node`` is ``A[...]``."""
    return isinstance(node.slice, ast.Constant) and node.slice.value is ...


def folded(expr: Expr) -> Expr:
    """A tuple of constants as one constant."""
    if isinstance(expr, Call) and expr.op is prim.make_tuple:
        parts = [arg for arg in expr.args if isinstance(arg, Literal)]
        if len(parts) == len(expr.args):
            return Literal(tuple(part.value for part in parts), expr.dtype)
    return expr


def fill(value: Any) -> Literal:
    """A fill value as a constant."""
    return Literal(value, value.dtype) if hasattr(value, "dtype") else literal(value)
