"""Copy propagation: uses of a variable that is only ever assigned one source become uses of it.

    y_n0 = A_n0                              y_n0 = A_n0
    fill(y_val, 0, y_n0, 0.0)        ->      fill(y_val, 0, A_n0, 0.0)

A declaration sets the dimensions of its tensor in this way: once, or in each of the parts into
which a loop around it was split. With the copies gone, other passes see that the tensor's
dimensions and the loop bounds are the same expressions.
"""

from __future__ import annotations

from finch_core.ir.assembly import Assign, Block, Statement
from finch_core.ir.assembly_rewrite import (
    assigned_names,
    redeclared_names,
    replacing_variables,
    with_blocks,
    with_statements,
)
from finch_core.ir.builder import Names
from finch_core.ir.expressions import Expr, Literal, Var
from finch_core.symbolic.simplifier import folded


def copy_propagation(block: Block, names: Names) -> Block:
    """``block`` with uses of variables replaced by the one value that they are assigned."""
    values: dict[str, set[Expr]] = {}
    for statement in block.walk():
        if isinstance(statement, Assign):
            values.setdefault(statement.var.name, set()).add(statement.value)
    single = {name for name, found in values.items() if len(found) == 1}
    varying = assigned_names(block) | redeclared_names(block)
    return _block(block, single, varying) if single else block


def _block(block: Block, single: set[str], varying: frozenset[str]) -> Block:
    """Replace uses after an assignment, within the block that contains it."""
    done: list[Statement] = []
    known: dict[str, Expr] = {}
    for statement in block.statements:
        if known:
            statement = replacing_variables(known, folded).statement(statement)
        statement = with_blocks(
            statement, tuple(_block(b, single, varying) for b in statement.blocks)
        )
        done.append(statement)
        if _is_copy(statement, single, varying):
            assert isinstance(statement, Assign)
            known[statement.var.name] = statement.value
    return with_statements(block, done)


def _is_copy(statement: Statement, single: set[str], varying: frozenset[str]) -> bool:
    """Whether ``statement`` assigns the one value that its variable is assigned, and one that never
    changes."""
    if not isinstance(statement, Assign) or statement.var.name not in single:
        return False
    value = statement.value
    return isinstance(value, Literal) or (isinstance(value, Var) and value.name not in varying)
