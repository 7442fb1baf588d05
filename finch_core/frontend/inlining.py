"""Inlining: a Python function of scalars becomes the expression that it computes.

Its body may have assignments, ``if``/``elif``/``else``, conditional expressions and returns;
its branches become ``ifelse``. Parameters are replaced by the argument expressions.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any, NoReturn

from finch_core.errors import KernelSyntaxError
from finch_core.frontend.context import NUMBERS, ParseContext
from finch_core.frontend.expressions import BINARY, ExpressionParser, literal
from finch_core.frontend.names import Binding, Scope
from finch_core.frontend.refusals import STATEMENTS
from finch_core.frontend.seen import Seen
from finch_core.frontend.source import read_source
from finch_core.ir import primitives as prim
from finch_core.ir.defined_operators import operator_from
from finch_core.ir.expressions import Call, Expr, Name
from finch_core.ir.operators import Operator
from finch_core.records import frozen

Values = Mapping[str, Expr]

MOST_NODES = 20_000
"""The greatest size of an expression that a function becomes: calls of calls multiply."""


@frozen
class InlineParser(ExpressionParser):
    """Parses the expressions of a function that is being inlined into ``caller``."""

    caller: ParseContext | None = None

    def free_number(self, node: ast.Name, value: Any) -> Expr:
        """A number from outside the function: that of the kernel, a run-time value, where the name
        is the same there; else a constant, with which the expression is made again if it has
        changed."""
        function, caller = self.context.source.function, self.caller
        if caller is None or not _same_world(caller, function, node.id):
            self.context.seen.name(function, node.id)
            return literal(value)
        caller.free[node.id] = None
        return Name(node.id, span=self.context.span(node))

    def access(self, node: ast.Subscript, scope: Scope) -> Any:
        self.context.refuse(
            node, "it reads a tensor",
            "pass the element as an argument, 'f(A[i])', or make it a kernel",
        )  # fmt: skip

    def one_bracket(self, node: ast.Subscript) -> None:
        self.access(node, Scope(None, {}))


def _same_world(caller: ParseContext, function: FunctionType, name: str) -> bool:
    """Whether a free name refers to the same variable in the kernel and in the function."""
    kernel = caller.source.function
    return (
        caller.site is None
        and kernel.__globals__ is function.__globals__
        and name not in kernel.__code__.co_varnames
        and name not in kernel.__code__.co_cellvars
        and name not in kernel.__code__.co_freevars
        and name not in function.__code__.co_freevars
    )


def inline(parser: ExpressionParser, node: ast.Call, function: FunctionType, scope: Scope) -> Expr:
    """The expression that the call ``node`` of ``function`` computes."""
    context = parser.context
    if any(isinstance(arg, ast.Starred) for arg in node.args):
        context.refuse(node, "'*' before a value is not part of the language")
    if any(keyword.arg is None for keyword in node.keywords):
        context.refuse(node, "'**' before a value is not part of the language")
    args = [parser.parse(arg, scope) for arg in node.args]
    keywords = {str(k.arg): parser.parse(k.value, scope) for k in node.keywords}
    root = parser.caller if isinstance(parser, InlineParser) else context
    return _inline(function, args, keywords, context, node, root)


@frozen(eq=False)
class Template:
    """Builds the expression of a Python function for given arguments."""

    expr: Expr
    names: tuple[str, ...]
    seen: Seen
    """The objects that names in the function were resolved to."""

    def template(self) -> Template:
        return self

    def __call__(self, *args: Expr) -> Expr:
        return substitute(self.expr, dict(zip(self.names, args, strict=True)))


def expression_of(function: Callable[..., Any]) -> Template:
    """The template that builds the expression of a Python function for given arguments.

    Raises ``KernelSyntaxError`` if the function cannot be inlined.
    """
    source = read_source(function, lambdas=True)
    given = source.node.args
    context = ParseContext(source, callers=(source.function,), site=source.header)
    if given.vararg is not None or given.kwarg is not None:
        context.refuse(source.node, "it takes any number of arguments")
    names = [arg.arg for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    expr = _Inliner(InlineParser(context)).run_function({n: Name(n) for n in names})
    see_operators(context.seen, (node.op for node in expr.walk() if hasattr(node, "op")))
    return Template(expr, tuple(names), context.seen)


def see_operators(seen: Seen, operators: Iterable[Operator]) -> None:
    """Record what those of ``operators`` depend on that were defined by Python functions."""
    for op in operators:
        template = getattr(op.definition, "template", None)
        if template is not None:
            seen.include(template().seen)


def substitute(expr: Expr, values: Values) -> Expr:
    """``expr`` with names replaced by expressions."""
    if isinstance(expr, Name):
        return values.get(expr.name, expr)
    if not expr.children:
        return expr
    return expr.rebuild(tuple(substitute(child, values) for child in expr.children))


def reduction(context: ParseContext, node: ast.Call, function: FunctionType) -> Operator:
    """The anonymous operator of a Python function ``f`` in ``A[i] = f(A[i], e)``.

    Raises ``KernelSyntaxError`` if it cannot be inlined.
    """
    if function not in context.operators:
        try:
            definition = expression_of(function)
        except KernelSyntaxError as error:
            raise KernelSyntaxError(
                error.message, span=context.span(node), hint=error.hint
            ) from None
        context.operators[function] = operator_from(
            function.__name__, definition, python=(function,)
        )
    return context.operators[function]


def _inline(
    function: FunctionType,
    args: list[Expr],
    keywords: dict[str, Expr],
    context: ParseContext,
    node: ast.Call,
    root: ParseContext | None,
) -> Expr:
    name = function.__name__
    if function in context.callers:
        calls = "itself" if function is context.callers[-1] else f"{name!r}, which calls it"
        context.refuse(node, f"it calls {calls}", "write a loop in the kernel")
    try:
        source = read_source(function, lambdas=True)
    except KernelSyntaxError as error:
        context.refuse(node, f"{name!r} cannot be inlined: {error.message}", error.hint)
    site = context.span(node)
    callers = (*context.callers, function)
    inner = ParseContext(source, site=site, callers=callers, seen=context.seen)
    values = _arguments(function, args, keywords, context, node)
    return _Inliner(InlineParser(inner, root)).run_function(values)


def _arguments(
    function: FunctionType,
    args: list[Expr],
    keywords: dict[str, Expr],
    context: ParseContext,
    node: ast.Call,
) -> dict[str, Expr]:
    """The expression of each parameter, bound as in Python; a default must be a number."""
    name = function.__name__
    signature = inspect.signature(function)
    kinds = {p.kind for p in signature.parameters.values()}
    if kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}:
        context.refuse(node, f"{name!r} cannot be inlined: it takes any number of arguments")
    try:
        bound = signature.bind(*args, **keywords)
    except TypeError as error:
        context.refuse(node, f"{name!r} cannot be called with these arguments: {error}")
    bound.apply_defaults()
    values = {}
    for parameter, value in bound.arguments.items():
        if not isinstance(value, (Expr, *NUMBERS)):
            context.refuse(
                node, f"{name!r} cannot be inlined: the default of {parameter!r} is not a number"
            )
        values[parameter] = value if isinstance(value, Expr) else literal(value)
    return values


@frozen
class _Inliner:
    """Executes a function's statements symbolically, on expressions."""

    parser: InlineParser

    def run_function(self, values: dict[str, Expr]) -> Expr:
        source = self.parser.context.source
        result = self.run(source.node.body, values)
        if not isinstance(result, Expr):
            self.parser.context.refuse(source.node, "it does not always return a value")
        if _size(result) > MOST_NODES:
            self.parser.context.refuse(
                source.node, f"it becomes an expression of more than {MOST_NODES:,} operations",
                "what it uses more than once is repeated: assign it to a variable of the kernel",
            )  # fmt: skip
        return result

    def run(self, body: list[ast.stmt], values: Values) -> Expr | Values:
        """The returned expression, or the values of the variables at the end."""
        for position, node in enumerate(body):
            if isinstance(node, ast.Return):
                return self.returned(node, values)
            if isinstance(node, ast.If):
                rest = body[position + 1 :]
                if _returns(node):
                    return self.branches(node, rest, values)
                values = self.merge(node, values)
            else:
                values = self.step(node, values)
        return values

    def step(self, node: ast.stmt, values: Values) -> Values:
        """The variables after a statement that is neither a branch nor a return."""
        if isinstance(node, ast.Pass) or _is_text(node):
            return values
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            return {**values, self.target(node.targets[0]): self.value(node.value, values)}
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            return {**values, self.target(node.target): self.value(node.value, values)}
        if isinstance(node, ast.AugAssign) and type(node.op) in BINARY:
            name = self.target(node.target)
            left = self.value(ast.copy_location(ast.Name(name, ast.Load()), node.target), values)
            new = Call(BINARY[type(node.op)], (left, self.value(node.value, values)))
            return {**values, name: new}
        self.refuse_statement(node)

    def refuse_statement(self, node: ast.stmt) -> NoReturn:
        shown = "it has a loop" if isinstance(node, (ast.For, ast.While)) else None
        message, _ = STATEMENTS.get(type(node), ("it has a statement that is no assignment", ""))
        self.parser.context.refuse(
            node, shown or message,
            "assignments, 'if', conditional expressions and 'return' can be inlined",
        )  # fmt: skip

    def target(self, node: ast.expr) -> str:
        if not isinstance(node, ast.Name):
            self.parser.context.refuse(node, "it assigns to something other than a plain name")
        return node.id

    def value(self, node: ast.expr, values: Values) -> Expr:
        return self.parser.parse(node, _scope(values))

    def condition(self, node: ast.expr, values: Values) -> Expr:
        return self.parser.condition(node, _scope(values))

    def returned(self, node: ast.Return, values: Values) -> Expr:
        if node.value is None:
            self.parser.context.refuse(node, "it returns nothing")
        return self.value(node.value, values)

    def branches(self, node: ast.If, rest: list[ast.stmt], values: Values) -> Expr | Values:
        """An ``if`` with a return: the statements after it belong to the other branch."""
        cond = self.condition(node.test, values)
        results = [self.run([*part, *rest], values) for part in (node.body, node.orelse)]
        first, second = results
        if isinstance(first, Expr) and isinstance(second, Expr):
            return Call(prim.ifelse, (cond, first, second))
        self.parser.context.refuse(node, "it does not always return a value")

    def merge(self, node: ast.If, values: Values) -> Values:
        """The variables after an ``if`` without returns: each is selected by the condition."""
        cond = self.condition(node.test, values)
        first, second = self.run(node.body, values), self.run(node.orelse, values)
        assert not isinstance(first, Expr)
        assert not isinstance(second, Expr)
        return {
            name: first[name]
            if first[name] is second[name]
            else Call(prim.ifelse, (cond, first[name], second[name]))
            for name in first
            if name in second
        }


def _scope(values: Values) -> Scope:
    return Scope(None, {name: Binding("variable", None, v) for name, v in values.items()})


def _size(expr: Expr) -> int:
    """The nodes of an expression as a tree; a part that occurs twice is counted once, and added
    twice."""
    sizes: dict[int, int] = {}

    def size(part: Expr) -> int:
        if id(part) not in sizes:
            sizes[id(part)] = 1 + sum(map(size, part.children))
        return sizes[id(part)]

    return size(expr)


def _returns(node: ast.stmt) -> bool:
    return any(isinstance(part, ast.Return) for part in ast.walk(node))


def _is_text(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
