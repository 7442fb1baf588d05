"""The parser: a Python function becomes a program (signature, body, and final ``return``)."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import partial
from types import FunctionType
from typing import Any

from finch_core.errors import Span
from finch_core.frontend.assignments import is_whole
from finch_core.frontend.context import NUMBERS, ParseContext
from finch_core.frontend.exchanges import exchanged_names, restored
from finch_core.frontend.expressions import ExpressionParser
from finch_core.frontend.inlining import see_operators
from finch_core.frontend.names import Binding, Scope, makes_tensor
from finch_core.frontend.nodes import walk
from finch_core.frontend.refusals import VARIADIC
from finch_core.frontend.results import named_results, returned_values
from finch_core.frontend.source import FunctionSource, read_source
from finch_core.frontend.statements import StatementParser, sequence
from finch_core.frontend.variables import find_variables
from finch_core.ir.depth import check_depth
from finch_core.ir.program import Declare, Program, operators_in


def parse(
    function: Any,
    callers: tuple[FunctionType, ...] = (),
    declared: frozenset[str] = frozenset(),
    returned: frozenset[str] = frozenset(),
) -> Program:
    """The program that the source of a Python function describes; the function is never run.

    Free names are resolved now to distinguish functions from numbers and tensors; functions are
    recorded in ``captured``, numbers and tensors in ``free``. Raises ``KernelSyntaxError`` with
    the place in the source. ``callers`` are the kernels in which this one is inlined; ``declared``
    are tensors that kernels declare which this one calls, and ``returned`` numbers of the caller
    that are results, as an earlier attempt found.
    """
    context = _context(read_source(function), callers, declared)
    source, declared = context.source, context.declared
    params, body = _parameters(context), _statements(source.node.body)
    defaults = _defaults(context)
    is_tensor = partial(makes_tensor, source.function)
    numbers = find_variables(source.node, body, is_tensor).names | returned
    found = named_results(source.node, body, numbers, context.subscripted, context.refuse)
    last, numbered = found.last, found.numbered
    body = restored(source.node, found.body, returned_values(last), numbers, context.refuse)
    context.variables = find_variables(source.node, body, is_tensor, numbered.values())
    context.names |= _all_names(context)
    scope = Scope(None, {name: _parameter(context, name, span) for name, span in params.items()})
    statements = StatementParser(context, ExpressionParser(context))
    parsed = sequence([*statements.assigned_parameters(), *statements.rest(body, scope)])
    elsewhere = {part.tensor for part in parsed.walk() if isinstance(part, Declare)}
    if not elsewhere.isdisjoint(context.steady - declared):
        return parse(function, callers, declared | elsewhere, returned)
    given = _numbers_of_caller(context, last, numbered)
    if given:
        return parse(function, callers, declared, returned | given)
    results, single = _results(context, last, scope, statements, numbered)
    see_operators(context.seen, operators_in(parsed))
    locals_ = tuple(statements.locals.values())
    spans = {**params, **{local.name: local.span for local in locals_ if local.span}}
    if last is not None:
        spans |= {name: context.span(last) for name in results if name not in spans}
    program = Program(
        name=source.node.name, params=tuple(params), body=parsed, locals=locals_, results=results,
        single=single, free=tuple(context.free), captured=tuple(context.captured.items()),
        spans=spans, homes=tuple((own, *home) for own, home in context.homes.items()),
        defaults=defaults, strict=context.strict, source=source.source, seen=context.seen,
    )  # fmt: skip
    check_depth(program)
    return program


def _context(
    source: FunctionSource, callers: tuple[FunctionType, ...], declared: frozenset[str]
) -> ParseContext:
    return ParseContext(
        source,
        subscripted=_subscripted(source.node),
        declared=declared | _declared(source.node),
        swapped=_swapped(source.node),
        kernels=(*callers, source.function),
    )


def _subscripted(node: ast.FunctionDef) -> frozenset[str]:
    """Names that are subscripted somewhere: those that are parameters are tensors."""
    return frozenset(
        part.value.id
        for part in walk(node)
        if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name)
    )


def _swapped(node: ast.FunctionDef) -> frozenset[str]:
    """The names that are exchanged, or given to a function alone on its line."""
    nodes = list(walk(node))
    calls = (part.value for part in nodes if isinstance(part, ast.Expr))
    given = (call.args for call in calls if isinstance(call, ast.Call))
    pairs = (dict(exchanged_names(part) or ()) for part in nodes)
    names = {arg.id for args in given for arg in args if isinstance(arg, ast.Name)}
    return frozenset(names.union(*pairs))


def _all_names(context: ParseContext) -> set[str]:
    """The names in the source, and those of variables."""
    nodes = list(walk(context.source.node))
    found = {node.id for node in nodes if isinstance(node, ast.Name)}
    found |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    return found | {variable.name for variable in context.variables.by_node.values()}


def _declared(node: ast.FunctionDef) -> frozenset[str]:
    """The tensors of ``A[...] = e``, and those that the function makes."""
    targets = [t for part in walk(node) if isinstance(part, ast.Assign) for t in part.targets]
    whole = (t.value for t in targets if isinstance(t, ast.Subscript) and is_whole(t))
    return frozenset(n.id for n in (*whole, *targets) if isinstance(n, ast.Name))


def _parameters(context: ParseContext) -> dict[str, Span]:
    args = context.source.node.args
    for extra in (args.vararg, args.kwarg):
        if extra is not None:
            context.refuse(extra, "a kernel takes a fixed number of arguments", VARIADIC)
    if args.kwonlyargs:
        context.refuse(
            args.kwonlyargs[0], "a kernel has no keyword-only parameters",
            "leave out '*': any parameter can be given by name",
        )  # fmt: skip
    return {
        arg.arg: context.source.span(arg) for arg in (*args.posonlyargs, *args.args)
    }  # fmt: skip


def _defaults(context: ParseContext) -> dict[str, Any]:
    """The defaults of the last parameters, which are numbers."""
    args, values = context.source.node.args, context.source.function.__defaults__ or ()
    for node, value in zip(args.defaults, values, strict=True):
        if not isinstance(value, NUMBERS):
            context.refuse(
                node, f"the default of a parameter is a number, not a {type(value).__name__}",
                "pass the value at each call",
            )  # fmt: skip
    names = [arg.arg for arg in (*args.posonlyargs, *args.args)]
    return dict(zip(names[len(names) - len(values) :], values, strict=True))


def _parameter(context: ParseContext, name: str, span: Span) -> Binding:
    changes = name in context.variables.names
    return Binding("parameter", span, may_change=changes)


def _statements(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements after the docstring."""
    first = body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        return body[1:] if isinstance(first.value.value, str) else body
    return body


def _results(
    context: ParseContext,
    node: ast.Return | None,
    scope: Scope,
    statements: StatementParser,
    numbered: Mapping[int, str],
) -> tuple[tuple[str, ...], bool]:
    """The names of a ``return``, and whether it is a single name without a comma."""
    name_of = statements.expressions.tensor_name
    names = tuple(
        numbered.get(id(value)) or name_of(value, scope) for value in returned_values(node)
    )
    return names, not (node is not None and isinstance(node.value, ast.Tuple))


def _numbers_of_caller(
    context: ParseContext, last: ast.Return | None, numbered: Mapping[int, str]
) -> frozenset[str]:
    """The parameters that are returned, and that the program uses as numbers."""
    names = (value for value in returned_values(last) if isinstance(value, ast.Name))
    return frozenset(
        name.id for name in names if id(name) not in numbered and name.id in context.numbers
    )
