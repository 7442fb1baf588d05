"""Settled variables: one that is assigned once, to a constant, is that constant from there on.

    y_n0 = A_n0                              y_n0 = A_n0
    fill(y_val, 0, y_n0, 0.0)        ->      fill(y_val, 0, A_n0, 0.0)

A declaration sets the dimensions of its tensor like this; knowing them as the loops' own bounds
lets other passes see that they agree.
"""

from __future__ import annotations

from collections import Counter

from finch_core.ir.assembly import Assign, Block, Statement
from finch_core.ir.assembly_rewrite import (
    Substitution,
    redeclared_names,
    with_blocks,
    with_statements,
)
from finch_core.ir.builder import Names
from finch_core.ir.expressions import Expr, Literal, Var
from finch_core.optimize.dereferenceability import assigned_names


def copy_propagation(block: Block, names: Names) -> Block:
    """``block`` in which settled variables are read as what they were set to."""
    counts = Counter(s.var.name for s in block.walk() if isinstance(s, Assign))
    once = {name for name, count in counts.items() if count == 1}
    fickle = assigned_names(block) | redeclared_names(block)
    return _block(block, once, fickle) if once else block


def _block(block: Block, once: set[str], fickle: frozenset[str]) -> Block:
    """What follows an assignment in its own block, and in no enclosing loop's next turn."""
    done: list[Statement] = []
    known: dict[str, Expr] = {}
    replace = Substitution(lambda e: known.get(e.name) if isinstance(e, Var) else None)
    for statement in block.statements:
        statement = replace.statement(statement) if known else statement
        statement = with_blocks(statement, tuple(_block(b, once, fickle) for b in statement.blocks))
        done.append(statement)
        if _settles(statement, once, fickle):
            assert isinstance(statement, Assign)
            known[statement.var.name] = statement.value
            replace = Substitution(lambda e: known.get(e.name) if isinstance(e, Var) else None)
    return with_statements(block, done)


def _settles(statement: Statement, once: set[str], fickle: frozenset[str]) -> bool:
    """Whether ``statement`` gives a variable the one value that it will have."""
    if not isinstance(statement, Assign) or statement.var.name not in once:
        return False
    value = statement.value
    return isinstance(value, Literal) or (isinstance(value, Var) and value.name not in fickle)
