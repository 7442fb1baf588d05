"""Copy propagation: uses of a variable that is assigned once become uses of its source.

    y_n0 = A_n0                              y_n0 = A_n0
    fill(y_val, 0, y_n0, 0.0)        ->      fill(y_val, 0, A_n0, 0.0)

A declaration sets the dimensions of its tensor in this way. With the copies gone, other passes
see that the tensor's dimensions and the loop bounds are the same expressions.
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
    """``block`` with uses of once-assigned variables replaced by what was assigned."""
    counts = Counter(s.var.name for s in block.walk() if isinstance(s, Assign))
    once = {name for name, count in counts.items() if count == 1}
    varying = assigned_names(block) | redeclared_names(block)
    return _block(block, once, varying) if once else block


def _block(block: Block, once: set[str], varying: frozenset[str]) -> Block:
    """Replace uses after an assignment, within the block that contains it."""
    done: list[Statement] = []
    known: dict[str, Expr] = {}
    replace = Substitution(lambda e: known.get(e.name) if isinstance(e, Var) else None)
    for statement in block.statements:
        statement = replace.statement(statement) if known else statement
        statement = with_blocks(
            statement, tuple(_block(b, once, varying) for b in statement.blocks)
        )
        done.append(statement)
        if _is_copy(statement, once, varying):
            assert isinstance(statement, Assign)
            known[statement.var.name] = statement.value
            replace = Substitution(lambda e: known.get(e.name) if isinstance(e, Var) else None)
    return with_statements(block, done)


def _is_copy(statement: Statement, once: set[str], varying: frozenset[str]) -> bool:
    """Whether ``statement`` is the only assignment to its variable, and of a value that never
    changes."""
    if not isinstance(statement, Assign) or statement.var.name not in once:
        return False
    value = statement.value
    return isinstance(value, Literal) or (isinstance(value, Var) and value.name not in varying)
