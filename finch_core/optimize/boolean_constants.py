"""Boolean constant propagation: tests of flags whose value is known are folded.

    mut dirty: bool = False
    dirty = True                    ->      ...
    if dirty: ...

Constant operands are folded first: ``x + 0``, ``2 * 3``.

A forward data-flow analysis of boolean variables: where branches join, the facts that both
agree on remain; a loop invalidates the variables that it assigns.
"""

from __future__ import annotations

from finch_core.ir.assembly import (
    Assign,
    Block,
    Break,
    Fail,
    For,
    If,
    Let,
    Merge,
    Parallel,
    Return,
    Statement,
    While,
)
from finch_core.ir.assembly_rewrite import (
    changed_names,
    read_names,
    redeclared_names,
    replacing_variables,
    with_blocks,
    with_expressions,
    with_statements,
)
from finch_core.ir.builder import Names, conditional
from finch_core.ir.dtypes import BOOL
from finch_core.ir.expressions import FALSE, TRUE, Expr, Literal, Var
from finch_core.symbolic.simplifier import ConstantFolding, folded

Known = dict[str, Literal]
"""The known values of boolean variables, by name."""


def boolean_constants(block: Block, names: Names) -> Block:
    """``block`` with constants folded, and without tests of variables whose value is known."""
    block = ConstantFolding().block(block)
    return _Flags(redeclared_names(block)).block(block, {})[0]


class _Flags:
    """The pass; the names in ``_redeclared`` are declared more than once."""

    def __init__(self, redeclared: frozenset[str]) -> None:
        self._redeclared = redeclared

    def block(self, block: Block, known: Known) -> tuple[Block, Known | None]:
        """The new block, and the facts at its end (``None`` if control never reaches the end)."""
        done: list[Statement] = []
        state: Known | None = known
        for statement in block.statements:
            if state is None:
                break
            new, state = self._statement(statement, state)
            done += new
        return with_statements(block, done), state

    def _statement(
        self, statement: Statement, known: Known
    ) -> tuple[tuple[Statement, ...], Known | None]:
        if isinstance(statement, If):
            return self._if(statement, known)
        if isinstance(statement, (For, While, Parallel)):
            return self._loop(statement, known)
        if isinstance(statement, Merge):
            body, _ = self.block(statement.body, known)
            return (with_blocks(statement, (body,)),), known
        values = tuple(evaluated(expr, known) for expr in statement.expressions)
        new = with_expressions(statement, values)
        if isinstance(new, (Break, Fail, Return)):
            return (new,), None
        if isinstance(new, (Let, Assign)):
            if new.var.name in known:
                known = {name: value for name, value in known.items() if name != new.var.name}
            if new.var.type == BOOL and isinstance(new.value, Literal):
                known = {**known, new.var.name: new.value}
        return (new,), known

    def _if(self, statement: If, known: Known) -> tuple[tuple[Statement, ...], Known | None]:
        cond = evaluated(statement.cond, known)
        if isinstance(cond, Literal):
            taken, state = self.block(statement.body if cond.value else statement.orelse, known)
            return self._inlined(taken), state
        body, first = self.block(statement.body, {**known, **_implied(cond, TRUE)})
        orelse, second = self.block(statement.orelse, {**known, **_implied(cond, FALSE)})
        new = with_blocks(with_expressions(statement, (cond,)), (body, orelse))
        if isinstance(new, If) and not new.body:
            return conditional(new.cond, new.body, new.orelse), _meet(first, second)
        return (new,), _meet(first, second)

    def _loop(
        self, loop: For | While | Parallel, known: Known
    ) -> tuple[tuple[Statement, ...], Known | None]:
        if isinstance(loop, While) and evaluated(loop.cond, known) == FALSE:
            return (), known
        changed = changed_names(loop)
        steady = {name: value for name, value in known.items() if name not in changed}
        before = steady if isinstance(loop, While) else known  # a ``for`` evaluates its bounds once
        expressions = tuple(evaluated(expr, before) for expr in loop.expressions)
        inside = dict(steady)
        if isinstance(loop, While):
            inside |= _implied(expressions[0], TRUE)
        body, _ = self.block(loop.body, inside)
        return (with_blocks(with_expressions(loop, expressions), (body,)),), steady

    def _inlined(self, block: Block) -> tuple[Statement, ...]:
        """The statements of a branch that is always taken, spliced into the enclosing block."""
        names = {s.var.name for s in block.statements if isinstance(s, Let)}
        return (If(TRUE, block),) if names & self._redeclared else block.statements


def _implied(cond: Expr, outcome: Literal) -> Known:
    """The facts that hold where ``cond`` evaluated to ``outcome``."""
    return {cond.name: outcome} if isinstance(cond, Var) else {}


def _meet(first: Known | None, second: Known | None) -> Known | None:
    if first is None or second is None:
        return second if first is None else first
    return {name: value for name, value in first.items() if second.get(name) == value}


def evaluated(expr: Expr, known: Known) -> Expr:
    """``expr`` with known variables replaced by their values, and folded."""
    if not known or known.keys().isdisjoint(read_names(expr)):
        return expr
    return replacing_variables(known, folded)(expr)
