"""The verifier: checks that assembly is legal before it runs.

Tests apply it to the result of each stage, the interpreter to every kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch
from typing import NoReturn

from finch_core.ir.assembly import (
    Argument,
    Assign,
    Block,
    Break,
    Comment,
    Fail,
    Fill,
    For,
    Function,
    Grow,
    If,
    Kernel,
    Let,
    Merge,
    Move,
    Parallel,
    Prefetch,
    Record,
    Return,
    Sort,
    Statement,
    Store,
    Swap,
    While,
)
from finch_core.ir.assembly_text import block_text, expr_text, type_text
from finch_core.ir.dtypes import BOOL, INTP, Type, concrete, is_weak
from finch_core.ir.expressions import (
    Buffer,
    Call,
    Cast,
    Expr,
    Invoke,
    Length,
    Literal,
    Load,
    Overlaps,
    Var,
)
from finch_core.records import evolve, frozen

_LONG = 300


@frozen
class _Context:
    """The declarations in scope at a statement."""

    declared: dict[str, tuple[Var | Buffer, bool]]
    """Each visible name with its variable or buffer, and whether that may change."""
    functions: dict[str, Function]
    sites: int
    loop: bool = False
    returns: Type | None = None
    frozen: frozenset[str] = frozenset()
    """Names of a parallel loop's surroundings, which a part does not change."""
    unshared: frozenset[str] = frozenset()
    """Those of buffers to which it does not store."""

    def inside(self, loop: bool = False) -> _Context:
        """The context of a nested block: its declarations end with it."""
        return evolve(self, declared=dict(self.declared), loop=self.loop or loop)

    def part(self, shared: tuple[Buffer, ...]) -> _Context:
        """The context of a part of a parallel loop."""
        around = frozenset(self.declared)
        return evolve(
            self, declared=dict(self.declared), loop=False, frozen=around,
            unshared=around - {buffer.name for buffer in shared},
        )  # fmt: skip

    def changes(self, target: Var | Buffer) -> None:
        """Refuse a change of a variable, or of a buffer's place, by a part."""
        assert target.name not in self.frozen, f"a part changes {target.name}, which others use"

    def stores(self, buffer: Buffer) -> None:
        """Refuse a store by a part to a buffer that it does not share."""
        assert buffer.name not in self.unshared, f"a part stores to {buffer.name}, which others use"

    def declare(self, target: Var | Buffer, mutable: bool) -> None:
        assert target.name not in self.declared, f"{target.name} is declared twice"
        assert not is_weak(target.dtype), f"{target.name} has a weak type"
        self.declared[target.name] = (target, mutable)


def check(kernel: Kernel) -> None:
    """Raise ``IllegalAssembly``, naming the statement at fault, if ``kernel`` is not legal."""
    functions: dict[str, Function] = {}
    for function in kernel.functions:
        _check_function(function, functions)
        functions[function.name] = function
    context = _Context({}, functions, len(kernel.sites))
    for target, mutable in _parameters(kernel):
        context.declare(target, mutable)
    _check_block(kernel.body, context)


def _parameters(kernel: Kernel) -> Iterator[tuple[Var | Buffer, bool]]:
    for param in kernel.params:
        if isinstance(param, Argument):
            yield param.var, False
        else:
            assert isinstance(param, Record)
            yield from ((slot.target, slot.written) for slot in param.slots)


def _check_function(function: Function, functions: dict[str, Function]) -> None:
    context = _Context({}, functions, 0, returns=function.dtype)
    for param in function.params:
        context.declare(param, isinstance(param, Buffer))
    _check_block(function.body, context)
    assert _returns(function.body), f"function {function.name} may end without a value"


def _returns(block: Block) -> bool:
    """Whether control never reaches the end of ``block``."""
    last = block.statements[-1] if block else None
    if isinstance(last, If):
        return _returns(last.body) and _returns(last.orelse)
    return isinstance(last, Return)


def _check_block(block: Block, context: _Context) -> None:
    for statement in block.statements:
        try:
            known: set[int] = set()
            for expr in statement.expressions:
                _check_expr(expr, context, known)
            _check_statement(statement, context)
        except AssertionError as error:
            if isinstance(error, IllegalAssembly):
                raise
            text = block_text(Block((statement,))).rstrip("\n")
            shown = text if len(text) < _LONG else text[:_LONG] + " ..."
            raise IllegalAssembly(f"{error}, in\n{shown}") from None


class IllegalAssembly(AssertionError):
    """Assembly that a correct compiler never emits, with the statement at fault."""


def _refuse(message: str) -> NoReturn:
    raise AssertionError(message)


def _require_type(expr: Expr, dtype: Type, what: str) -> None:
    if expr.dtype != dtype:
        _refuse(f"{what} {expr_text(expr)} is {type_text(expr.dtype)} and not {type_text(dtype)}")


def _integers(*exprs: Expr) -> None:
    for expr in exprs:
        _require_type(expr, INTP, "the index or size")


# -- expressions ----------------------------------------------------------------------------


def _check_expr(expr: Expr, context: _Context, known: set[int]) -> None:
    """Check each node once; ``known`` are the ids of those that have been."""
    if id(expr) in known:
        return
    known.add(id(expr))
    for child in expr.children:
        _check_expr(child, context, known)
    _rule(expr, context)
    assert not is_weak(expr.dtype), f"{expr_text(expr)} has the weak type {type_text(expr.dtype)}"


@singledispatch
def _rule(expr: Expr, context: _Context) -> None:
    _refuse(f"{type(expr).__name__} belongs to programs, not to assembly")


@_rule.register(Literal)
@_rule.register(Cast)
def _(expr: Literal | Cast, context: _Context) -> None:
    pass


@_rule.register(Var)
def _(expr: Var, context: _Context) -> None:
    _declared(expr, context)


def _declared(target: Var | Buffer, context: _Context) -> bool:
    """Whether ``target`` may change; refused if it is not declared exactly so."""
    known = context.declared.get(target.name)
    if known is None:
        _refuse(f"{target.name} is not declared")
    if known[0] != target:
        _refuse(f"{target} was declared as {known[0]}")
    return known[1]


@_rule.register(Call)
def _(expr: Call, context: _Context) -> None:
    op = expr.op
    assert op.definition is None, f"the defined operator {op.name} is not expanded"
    types = tuple(arg.dtype for arg in expr.args)
    if any(map(is_weak, types)):
        _refuse(f"an argument of {expr_text(expr)} has a weak type")
    for arg, wanted in zip(expr.args, op.typing(types)[0], strict=True):
        _require_type(arg, concrete(wanted), f"the argument of {op.name}")


@_rule.register(Load)
def _(expr: Load, context: _Context) -> None:
    _declared(expr.buffer, context)
    _integers(expr.index)


@_rule.register(Length)
def _(expr: Length, context: _Context) -> None:
    _declared(expr.buffer, context)


@_rule.register(Overlaps)
def _(expr: Overlaps, context: _Context) -> None:
    _declared(expr.first, context)
    _declared(expr.second, context)


@_rule.register(Invoke)
def _(expr: Invoke, context: _Context) -> None:
    function = context.functions.get(expr.function.name)
    if function is None:
        _refuse(f"the function {expr.function.name} is not among the kernel's before this")
    assert len(expr.args) == len(function.params), (
        f"{expr_text(expr)} has too many or few arguments"
    )
    for arg, param in zip(expr.args, function.params, strict=True):
        assert isinstance(arg, Buffer) == isinstance(param, Buffer), (
            f"{expr_text(expr)} mixes up values and buffers"
        )
        if isinstance(arg, Buffer):
            _declared(arg, context)
            assert arg.dtype == param.dtype, f"{arg.name} is no buffer of {param.dtype}"
        else:
            _require_type(arg, param.dtype, "the argument")


# -- statements -----------------------------------------------------------------------------


@singledispatch
def _check_statement(statement: Statement, context: _Context) -> None:
    _refuse(f"no statement of assembly: {statement!r}")


@_check_statement.register(Comment)
def _(statement: Comment, context: _Context) -> None:
    pass


@_check_statement.register(Let)
def _(statement: Let, context: _Context) -> None:
    _require_type(statement.value, statement.var.dtype, "the value")
    context.declare(statement.var, statement.mutable)


@_check_statement.register(Assign)
def _(statement: Assign, context: _Context) -> None:
    assert _declared(statement.var, context), f"{statement.var.name} is immutable"
    context.changes(statement.var)
    _require_type(statement.value, statement.var.dtype, "the value")


@_check_statement.register(Store)
def _(statement: Store, context: _Context) -> None:
    _declared(statement.buffer, context)
    context.stores(statement.buffer)
    _integers(statement.index)
    _require_type(statement.value, statement.buffer.dtype, "the value")


@_check_statement.register(Fill)
def _(statement: Fill, context: _Context) -> None:
    _declared(statement.buffer, context)
    context.stores(statement.buffer)
    _integers(statement.start, statement.stop)
    _require_type(statement.value, statement.buffer.dtype, "the value")


@_check_statement.register(Sort)
def _(statement: Sort, context: _Context) -> None:
    _declared(statement.buffer, context)
    context.stores(statement.buffer)
    _integers(statement.start, statement.stop)
    assert statement.buffer.dtype.kind in "iu", "only integers are sorted"


@_check_statement.register(Prefetch)
def _(statement: Prefetch, context: _Context) -> None:
    _declared(statement.buffer, context)
    _integers(statement.index)


@_check_statement.register(Move)
def _(statement: Move, context: _Context) -> None:
    _declared(statement.target, context)
    _declared(statement.source, context)
    context.stores(statement.target)
    _integers(*statement.expressions)
    assert statement.target.dtype == statement.source.dtype, "a move between dtypes"


@_check_statement.register(Swap)
def _(statement: Swap, context: _Context) -> None:
    for buffer in (statement.first, statement.second):
        assert _declared(buffer, context), f"the slot of {buffer.name} is not written back"
        context.changes(buffer)
    assert statement.first.dtype == statement.second.dtype, "a swap between dtypes"
    assert context.returns is None, "a function swaps no buffers"


@_check_statement.register(Grow)
def _(statement: Grow, context: _Context) -> None:
    buffer = statement.buffer
    assert _declared(buffer, context), f"the slot of {buffer.name} is not written back"
    assert buffer.growable, f"{buffer.name} is not growable"
    assert context.returns is None, "a function grows no buffer"
    context.changes(buffer)
    _integers(statement.size)


@_check_statement.register(For)
def _(statement: For, context: _Context) -> None:
    _integers(statement.var, statement.start, statement.stop)
    inner = context.inside(loop=True)
    inner.declare(statement.var, mutable=False)
    for var, _op in statement.lanes:
        _declared(var, context)
    for buffer, _count in statement.banks:
        _declared(buffer, context)
    _check_block(statement.body, inner)


@_check_statement.register(Parallel)
def _(statement: Parallel, context: _Context) -> None:
    assert context.returns is None, "a function has no parallel loop"
    assert not context.frozen, "a parallel loop in another"
    _integers(statement.var, statement.count)
    inner = context.part(statement.shared)
    inner.declare(statement.var, mutable=False)
    for private in statement.private:
        assert isinstance(private.target, Buffer) == (private.init is None)
        if private.init is not None:
            _require_type(private.init, private.target.dtype, "the value")
        inner.declare(private.target, mutable=True)
    _check_block(statement.body, inner)
    merges = [s for s in statement.body.walk() if isinstance(s, Merge)]
    assert merges in ([], [statement.body.statements[-1]]), "a merge is the end of a part"


@_check_statement.register(Merge)
def _(statement: Merge, context: _Context) -> None:
    assert context.frozen, "a merge outside of a parallel loop"
    free = evolve(context.inside(), frozen=frozenset(), unshared=frozenset())
    _check_block(statement.body, free)


@_check_statement.register(While)
def _(statement: While, context: _Context) -> None:
    _require_type(statement.cond, BOOL, "the condition")
    _check_block(statement.body, context.inside(loop=True))


@_check_statement.register(If)
def _(statement: If, context: _Context) -> None:
    _require_type(statement.cond, BOOL, "the condition")
    _check_block(statement.body, context.inside())
    _check_block(statement.orelse, context.inside())


@_check_statement.register(Break)
def _(statement: Break, context: _Context) -> None:
    assert context.loop, "a break outside of a loop"


@_check_statement.register(Return)
def _(statement: Return, context: _Context) -> None:
    if context.returns is None:
        _refuse("a return outside of a function")
    _require_type(statement.value, context.returns, "the value")


@_check_statement.register(Fail)
def _(statement: Fail, context: _Context) -> None:
    assert context.returns is None, "a function fails nothing"
    assert 0 <= statement.site < context.sites, f"there is no site {statement.site}"
    assert len(statement.values) <= 3, "a failure has at most three values"
    _integers(*statement.values)


__all__ = ["IllegalAssembly", "check"]
