"""Predictive commoning: what a turn loads that the one before has loaded is kept in a variable.

    for i in range(0, n):                   q_next = ptr[0] if 0 < n else 0
        q = ptr[i]                          for i in range(0, n):
        q_stop = ptr[i + 1]         ->          q = q_next
        for p in range(q, q_stop):              q_stop = ptr[i + 1]
            ...                                 q_next = q_stop
                                                for p in range(q, q_stop):
                                                    ...

Inner loops over rows that follow one another begin without waiting for a load. Loops without loops
inside are left as they are: C compilers vectorise them. So are loops around several loops: a load
is little beside what a turn does, and the variable takes a register.
"""

from __future__ import annotations

from itertools import takewhile
from typing import Any

from finch_core.ir import primitives as prim
from finch_core.ir.arithmetic import call
from finch_core.ir.assembly import Assign, Block, For, Let, Statement, While, contains
from finch_core.ir.assembly_rewrite import (
    changed_names,
    leaves,
    read_names,
    redeclared_names,
    replacing,
    with_blocks,
    with_statements,
)
from finch_core.ir.builder import Names
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Buffer, Cast, Expr, Literal, Load, Var
from finch_core.ir.operators import cast_value
from finch_core.optimize.polynomial import polynomial
from finch_core.records import evolve
from finch_core.symbolic.simplifier import folded


def predictive_commoning(block: Block, names: Names) -> Block:
    """``block`` with loads that the next turn of a loop repeats kept in variables."""
    if not contains(block, For):
        return block
    done: list[Statement] = []
    for statement in block.statements:
        inner = tuple(predictive_commoning(b, names) for b in statement.blocks)
        statement = with_blocks(statement, inner)
        done += _kept(statement, names) if isinstance(statement, For) else (statement,)
    return with_statements(block, done)


def _kept(loop: For, names: Names) -> tuple[Statement, ...]:
    """``loop`` with what it loads again, and what the first turn loads before it."""
    if loop.loose or not _is_around_innermost(loop):
        return (loop,)
    changed = changed_names(loop) | redeclared_names(loop.body)
    loads = {
        k: s for k, s in enumerate(takewhile(lambda s: not leaves(s), loop.body.statements))
        if isinstance(s, Let) and not s.mutable and _is_load(s.value)
        and not read_names(s.value) & (changed - {loop.var.name})
    }  # fmt: skip
    after = replacing({loop.var: loop.var + Literal(1, loop.var.type)}, folded)
    first = replacing({loop.var: loop.start}, folded)
    before: list[Statement] = []
    body: list[list[Statement]] = [[s] for s in loop.body.statements]
    sources = {_loaded(s.value): k for k, s in loads.items()}
    for place, again in loads.items():
        source = sources.get(_loaded(after(again.value)), place)
        if source == place:  # none, or one that does not move
            continue
        kept = Var(names.fresh(f"{again.var.name}_next"), again.var.type)
        nothing = Literal(cast_value(0, concrete(kept.type)), concrete(kept.type))
        begun = call(prim.ifelse, loop.start < loop.stop, first(again.value), nothing)
        before.append(Let(kept, begun, mutable=True))
        body[place][0] = evolve(again, value=kept)
        body[max(place, source)].append(Assign(kept, loads[source].var))
    if not before:
        return (loop,)
    return *before, evolve(
        loop, body=with_statements(loop.body, [s for part in body for s in part])
    )


def _is_around_innermost(loop: For) -> bool:
    """Whether a loop has loops inside, and these have none."""
    inside = [s for s in loop.body.walk() if isinstance(s, (For, While))]
    return bool(inside) and not any(contains(s.body, For, While) for s in inside)


def _is_load(expr: Expr) -> bool:
    """Whether an expression is one load, which may be cast."""
    return isinstance(expr.value if isinstance(expr, Cast) else expr, Load)


def _loaded(expr: Expr) -> tuple[Buffer, frozenset[Any], Any]:
    """What tells the value of a load, which may be cast: the buffer, the index, the dtype."""
    load = expr.value if isinstance(expr, Cast) else expr
    assert isinstance(load, Load)
    return load.buffer, frozenset(polynomial(load.index).items()), expr.dtype
