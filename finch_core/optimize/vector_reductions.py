"""Lanes: reductions over contiguous memory may go in several lanes, so that they vectorise.

    for j in range(0, n):                  for j in range(0, n):  # lanes: add s
        s += a[p + j] * x[j]       ->          s += a[p + j] * x[j]

A reduction of floats, to a sum, product, least or greatest value, is reassociated only by this
permission, and a ``strict`` kernel gives none. (Of two zeros of different sign, either may be the
least.) Every load must be contiguous or constant along the loop: others are the matter of
``gather_reductions``.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from finch_core.ir import primitives as prim
from finch_core.ir.assembly import Assign, Block, Comment, For, Let, Statement
from finch_core.ir.assembly_rewrite import read_names, with_blocks, with_statements
from finch_core.ir.builder import Names
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Call, Expr, Invoke, Var
from finch_core.ir.operators import Operator
from finch_core.ir.strides import is_shorter, strides

WORTHWHILE = 8
"""Turns from which lanes pay, where their number is known."""

_REDUCTIONS = (prim.add, prim.mul, prim.minimum_, prim.maximum_)


def vector_reductions(block: Block, names: Names) -> Block:
    """``block`` with lanes permitted where they pay."""
    return permit(block, _contiguous)


def permit(block: Block, fits: Callable[[For], bool]) -> Block:
    """``block`` with lanes permitted in the loops that only reduce floats, and that ``fits``."""
    done: list[Statement] = []
    for statement in block.statements:
        statement = with_blocks(statement, tuple(permit(b, fits) for b in statement.blocks))
        done.append(_in_lanes(statement, fits) if isinstance(statement, For) else statement)
    return with_statements(block, done)


def _in_lanes(loop: For, fits: Callable[[For], bool]) -> For:
    if loop.lanes or is_shorter(loop, WORTHWHILE) or not fits(loop):
        return loop
    found = _reductions(loop)
    return attrs.evolve(loop, lanes=found) if found else loop


def _contiguous(loop: For) -> bool:
    """Whether every load is contiguous or constant along the loop, and one is contiguous."""
    found = {step for _, step in strides(loop)}
    return 1 in found and found <= {0, 1}


# -- reductions ---------------------------------------------------------------------------------


def _reductions(loop: For) -> tuple[tuple[Var, Operator], ...]:
    """The variables that the loop reduces to, if it does that alone; else nothing."""
    found: dict[Var, Operator] = {}
    inside = {loop.var.name}
    for statement in loop.body.statements:
        if isinstance(statement, Let) and not statement.mutable:
            inside.add(statement.var.name)
        elif isinstance(statement, Assign) and _reduction(statement) is not None:
            if statement.var in found or statement.var.name in inside:
                return ()
            found[statement.var] = _reduction(statement)  # type: ignore[assignment]
        elif not isinstance(statement, Comment):
            return ()
    names = {var.name for var in found}
    read = [e for s in loop.body.statements for e in _operands(s)]
    if any(isinstance(node, Invoke) for e in read for node in e.walk()):
        return ()
    return () if any(read_names(e) & names for e in read) else tuple(found.items())


def _reduction(statement: Assign) -> Operator | None:
    """The operator with which a float is accumulated, if that is what the statement does."""
    value = statement.value
    if not isinstance(value, Call) or value.op not in _REDUCTIONS:
        return None
    if concrete(statement.var.type).kind != "f" or value.args[0] != statement.var:
        return None
    return value.op


def _operands(statement: Statement) -> tuple[Expr, ...]:
    """What a statement reads, an accumulator's own old value left aside."""
    if isinstance(statement, Assign) and isinstance(statement.value, Call):
        return statement.value.args[1:]
    return statement.expressions
