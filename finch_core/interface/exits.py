"""Early exits: assembly in which a loop, or the rest of a block, is left before its end.

    for i in range(n):                          for i in range(0, n):
        if x[i] > c: break            ->            if x[i] > c: break
        s[()] += x[i]                               s += x[i]

A ``Leave`` of the program sets a flag. What follows in its block is emitted where the flag is not
set, and each loop of assembly around it ends with a test of the flag: a loop of the program may
become several of them, in sequence and nested, and code at the end of a turn (an output that
counts what was appended) must still run. Where the flag is set at the end of a branch, the test
becomes the branch's ``break`` or ``else``, and flags that nothing reads are dead code.
"""

from __future__ import annotations

from collections.abc import Sequence

from finch_core.ir.assembly import Assign, Block, Break, If, Statement
from finch_core.ir.assembly_rewrite import read_names
from finch_core.ir.builder import negation
from finch_core.ir.expressions import TRUE, Expr, Var
from finch_core.records import define, evolve

Statements = tuple[Statement, ...]


@define(eq=False)
class Exit:
    """A labelled statement that is being emitted.

    ``flag`` is set where it is left. ``open``: the code emitted so far may have set it; ``taken``
    counts the places that do.
    """

    label: str
    flag: Var
    open: bool = False
    taken: int = 0


def with_breaks(statements: Statements, flags: tuple[Var, ...]) -> Statements | None:
    """The end of a loop's body with a ``Break`` wherever one of ``flags`` is set; None if one is
    set elsewhere than at the end of a branch."""
    if not statements:
        return statements
    *before, last = statements
    if any(_sets(statement, flags) for statement in before):
        return None
    if _is_set(last, flags):
        return (*statements, Break())
    if not _sets(last, flags):
        return statements
    if not isinstance(last, If):
        return None
    body = with_breaks(last.body.statements, flags)
    orelse = with_breaks(last.orelse.statements, flags)
    if body is None or orelse is None:
        return None
    if body and isinstance(body[-1], Break):
        return (*before, evolve(last, body=Block(body), orelse=Block()), *orelse)
    if orelse and isinstance(orelse[-1], Break):
        return (*before, If(negation(last.cond), Block(orelse)), *body)
    return (*before, evolve(last, body=Block(body), orelse=Block(orelse)))


def with_rest(
    statements: Statements, flags: tuple[Var, ...], rest: Statements
) -> Statements | None:
    """``statements`` and ``rest``, which runs where none of ``flags`` was set: in the branch that
    sets none. None if there is no such branch at the end."""
    if not statements or any(_sets(statement, flags) for statement in statements[:-1]):
        return None
    last = statements[-1]
    if not isinstance(last, If) or any(flag.name in read_names(last.cond) for flag in flags):
        return None
    body, orelse = last.body, last.orelse
    if _surely_sets(body, flags) and not _sets_in(orelse, flags):
        orelse = Block((*orelse.statements, *rest))
    elif _surely_sets(orelse, flags) and not _sets_in(body, flags):
        body = Block((*body.statements, *rest))
    else:
        return None
    return (*statements[:-1], evolve(last, body=body, orelse=orelse))


def any_of(conds: Sequence[Expr]) -> Expr:
    """The disjunction of the conditions."""
    cond, *others = conds
    for other in others:
        cond = cond.or_(other)
    return cond


def _is_set(statement: Statement, flags: tuple[Var, ...]) -> bool:
    return isinstance(statement, Assign) and statement.var in flags and statement.value == TRUE


def _sets(statement: Statement, flags: tuple[Var, ...]) -> bool:
    return any(_is_set(part, flags) for part in statement.walk())


def _sets_in(block: Block, flags: tuple[Var, ...]) -> bool:
    return any(_sets(statement, flags) for statement in block.statements)


def _surely_sets(block: Block, flags: tuple[Var, ...]) -> bool:
    """Whether the last statement of a block sets a flag, on every path."""
    if not block:
        return False
    last = block.statements[-1]
    if isinstance(last, If):
        return _surely_sets(last.body, flags) and _surely_sets(last.orelse, flags)
    return _is_set(last, flags)


__all__ = ["Exit", "any_of", "with_breaks", "with_rest"]
