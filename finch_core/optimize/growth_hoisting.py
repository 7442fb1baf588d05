"""Growth check hoisting: the check for room to append moves to the head of the loop body.

    i = min(a_idx[p], b_idx[q])               if stored >= room:
    if a_idx[p] == i:                             ... grow(idx, more)
        if stored >= room:                    i = min(a_idx[p], b_idx[q])
            ... grow(idx, more)               if a_idx[p] == i:
        idx[stored] = i             ->            idx[stored] = i
        ...                                       ...
    else:                                     else:
        if stored >= room:                        idx[stored] = i
            ... grow(idx, more)                   ...
        idx[stored] = i
        ...

Where both branches begin with the same growth check, the check moves before the branch; it then
moves up past statements that are independent of it. A backend finds it at the head of the loop
and can split off the iterations that have room.
"""

from __future__ import annotations

from collections.abc import Sequence

from finch_core.ir.assembly import (
    Assign,
    Block,
    For,
    Grow,
    If,
    Let,
    Statement,
    While,
    is_growth_check,
)
from finch_core.ir.assembly_rewrite import (
    changed_names,
    leaves,
    read_names,
    replacing,
    used_names,
    with_blocks,
    with_statements,
)
from finch_core.ir.builder import Names
from finch_core.ir.expressions import Expr, Var
from finch_core.records import evolve


def growth_hoisting(block: Block, names: Names) -> Block:
    """``block`` with growth checks at the heads of loop bodies, where each iteration makes one."""
    return _block(block) if any(isinstance(s, Grow) for s in block.walk()) else block


def _block(block: Block) -> Block:
    done: list[Statement] = []
    for statement in block.statements:
        statement = with_blocks(statement, tuple(map(_block, statement.blocks)))
        if isinstance(statement, (For, While)):
            statement = with_blocks(statement, (_hoisted(statement.body),))
        elif isinstance(statement, If):
            while (shorter := _without_check(statement)) is not None:
                done.append(statement.body.statements[0])
                statement = shorter
        done.append(statement)
    return with_statements(block, done)


def _without_check(statement: If) -> If | None:
    """``statement`` without the growth check with which both branches begin; None if they do
    not."""
    if not statement.body or not statement.orelse:
        return None
    first, second = statement.body.statements[0], statement.orelse.statements[0]
    if not (is_growth_check(first) and is_growth_check(second) and _form(first) == _form(second)):
        return None
    if read_names(statement.cond) & changed_names(first):
        return None
    body, orelse = (Block(b.statements[1:]) for b in statement.blocks)
    return evolve(statement, body=body, orelse=orelse)


def _form(statement: Statement) -> Statement:
    """``statement`` with the variables that it declares renamed canonically, to compare two
    checks."""
    assert isinstance(statement, If)
    lets = [s for s in statement.body.statements if isinstance(s, Let)]
    new: dict[Expr, Var] = {s.var: Var(f"#{k}", s.var.type) for k, s in enumerate(lets)}
    renamed = replacing(new).statement(statement)
    assert isinstance(renamed, If)
    inner = (
        evolve(s, var=new.get(s.var, s.var)) if isinstance(s, (Let, Assign)) else s
        for s in renamed.body.statements
    )
    return evolve(renamed, body=Block(tuple(inner)))


def _hoisted(body: Block) -> Block:
    """The body of a loop with its first growth check moved to the front, if that is allowed."""
    found = next((k for k, s in enumerate(body.statements) if is_growth_check(s)), 0)
    before, check = body.statements[:found], body.statements[found : found + 1]
    if not before or not all(_are_independent(s, check) for s in before):
        return body
    return Block((*check, *before, *body.statements[found + 1 :]))


def _are_independent(statement: Statement, others: Sequence[Statement]) -> bool:
    """Whether ``statement`` may be reordered after ``others``."""
    own, theirs = changed_names(statement), changed_names(*others)
    if leaves(statement) or theirs & used_names(statement):
        return False
    return not own & (theirs | used_names(*others))
