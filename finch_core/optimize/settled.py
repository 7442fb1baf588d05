"""Settled variables: one that is assigned once, to a constant, is that constant from there on.

    y_n0 = A_n0                              y_n0 = A_n0
    fill(y_val, 0, y_n0, 0.0)        ->      fill(y_val, 0, A_n0, 0.0)

A declaration sets the dimensions of its tensor like this; knowing them as the loops' own bounds lets
other passes see that they agree.
"""

from __future__ import annotations

from collections import Counter

from finch_core.assembly import Assign, Block, Statement
from finch_core.assembly_rewrite import (
    Substitution,
    redeclared_names,
    with_blocks,
    with_statements,
)
from finch_core.builder import Names
from finch_core.expressions import Expr, Literal, Var
from finch_core.optimize.places import assigned_names


def settled(block: Block, names: Names) -> Block:
    """``block`` in which settled variables are read as what they were set to."""
    counts = Counter(s.var.name for s in block.walk() if isinstance(s, Assign))
    once = {name for name, count in counts.items() if count == 1}
    fickle = assigned_names(block) | redeclared_names(block)
    return _block(block, once, fickle) if once else block


def _block(block: Block, once: set[str], fickle: frozenset[str]) -> Block:
    """What follows an assignment in its own block, and in no enclosing loop's next turn."""
    done: list[Statement] = []
    known: dict[str, Expr] = {}
    for statement in block.statements:
        if known:
            replace = Substitution(lambda e: known.get(e.name) if isinstance(e, Var) else None)
            statement = replace.statement(statement)
        statement = with_blocks(statement, tuple(_block(b, once, fickle) for b in statement.blocks))
        done.append(statement)
        if isinstance(statement, Assign) and statement.var.name in once:
            if isinstance(statement.value, Literal) or _is_fixed(statement.value, fickle):
                known = {**known, statement.var.name: statement.value}
    return with_statements(block, done)


def _is_fixed(value: Expr, fickle: frozenset[str]) -> bool:
    return isinstance(value, Var) and value.name not in fickle
