"""Vectorised reductions: loops over contiguous memory that reduce floats may use several lanes.

    for j in range(0, n):                  for j in range(0, n):  # lanes: add s
        s += a[p + j] * x[j]       ->          s += a[p + j] * x[j]

Lanes reassociate the reduction (a sum, product, minimum or maximum); a ``strict`` kernel does
not permit that. (Of two zeros of different sign, either may be the minimum.) Every load must be
contiguous or loop-invariant; ``gather_reductions`` handles indirect loads. The loop may also store,
in each iteration elements of its own, which no other iteration loads.
"""

from __future__ import annotations

from collections.abc import Callable

from finch_core.ir import primitives as prim
from finch_core.ir.assembly import Assign, Block, Comment, For, Let, Statement, Store, contains
from finch_core.ir.assembly_rewrite import (
    changed_names,
    read_names,
    with_blocks,
    with_statements,
)
from finch_core.ir.builder import Names
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Buffer, Call, Expr, Invoke, Var
from finch_core.ir.operators import Operator
from finch_core.ir.strides import is_shorter, stride_along, strides
from finch_core.records import evolve

WORTHWHILE = 8
"""The least number of iterations for which lanes pay, where it is known."""

_REDUCTIONS = (
    prim.add, prim.mul, prim.minimum_, prim.maximum_, prim.minimum, prim.maximum
)  # fmt: skip


def vector_reductions(block: Block, names: Names) -> Block:
    """``block`` with lanes permitted where they pay."""
    return permit(block, _contiguous)


def permit(block: Block, fits: Callable[[For], bool]) -> Block:
    """``block`` with lanes permitted in loops that reduce floats and satisfy ``fits``, which sees
    to what else they do."""
    if not contains(block, For):
        return block
    done: list[Statement] = []
    for statement in block.statements:
        statement = with_blocks(statement, tuple(permit(b, fits) for b in statement.blocks))
        done.append(_in_lanes(statement, fits) if isinstance(statement, For) else statement)
    return with_statements(block, done)


def _in_lanes(loop: For, fits: Callable[[For], bool]) -> For:
    if loop.lanes or is_shorter(loop, WORTHWHILE) or not fits(loop):
        return loop
    found = _reductions(loop)
    return evolve(loop, lanes=found) if found else loop


def _contiguous(loop: For) -> bool:
    """Whether every load is contiguous or loop-invariant, and at least one is contiguous; and
    stores are contiguous, to elements of buffers of which no others are loaded."""
    found = {step for _, step in strides(loop)}
    return 1 in found and found <= {0, 1} and _stores_apart(loop)


def _stores_apart(loop: For) -> bool:
    places: dict[Buffer, Expr] = {}
    inside = changed_names(loop)
    for store in loop.body.statements:
        if isinstance(store, Store):
            if stride_along(store.index, loop.var, inside) != 1:
                return False
            if places.setdefault(store.buffer, store.index) != store.index:
                return False
    return not places or all(
        places.get(load.buffer, load.index) == load.index for load, _ in strides(loop)
    )


# -- reductions ---------------------------------------------------------------------------------


def _reductions(loop: For) -> tuple[tuple[Var, Operator], ...]:
    """The accumulators of the loop and their operators, if it only reduces; else nothing."""
    found: dict[Var, Operator] = {}
    inside = {loop.var.name}
    for statement in loop.body.statements:
        if isinstance(statement, Let) and not statement.mutable:
            inside.add(statement.var.name)
        elif isinstance(statement, Assign) and _reduction(statement) is not None:
            if statement.var in found or statement.var.name in inside:
                return ()
            found[statement.var] = _reduction(statement)  # type: ignore[assignment]
        elif not isinstance(statement, (Comment, Store)):
            return ()
    names = {var.name for var in found}
    read = [e for s in loop.body.statements for e in _operands(s)]
    if any(isinstance(node, Invoke) for e in read for node in e.walk()):
        return ()
    return () if any(read_names(e) & names for e in read) else tuple(found.items())


def _reduction(statement: Assign) -> Operator | None:
    """The operator with which a statement accumulates a float; None if it does not."""
    value = statement.value
    if not isinstance(value, Call) or value.op not in _REDUCTIONS:
        return None
    if concrete(statement.var.type).kind != "f" or value.args[0] != statement.var:
        return None
    return value.op


def _operands(statement: Statement) -> tuple[Expr, ...]:
    """The operands of a statement, except for an accumulator's own previous value."""
    if isinstance(statement, Assign) and isinstance(statement.value, Call):
        return statement.value.args[1:]
    return statement.expressions
