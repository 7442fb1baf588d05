"""Loop-invariant code motion: a load of the same value in every iteration moves before the loop.

    for i in range(0, n):                 a_val_p = a_val[p]
        y[i] += a_val[p] * x[i]     ->    for i in range(0, n):
                                              y[i] += a_val_p * x[i]

A load is hoisted if the loop changes neither its buffer nor its index, every iteration (or the
loop's condition) evaluates it, and its place exists even if the loop does not run
(``dereferenceability``).
"""

from __future__ import annotations

from typing import TypeGuard

from finch_core.ir.assembly import Block, For, Let, Statement, While, contains
from finch_core.ir.assembly_rewrite import (
    assigned_names,
    certain,
    certain_parts,
    changed_names,
    read_names,
    redeclared_names,
    replacing,
    with_blocks,
    with_statements,
)
from finch_core.ir.builder import Names
from finch_core.ir.expressions import Expr, Invoke, Load, Var
from finch_core.optimize.dereferenceability import Places, place_name

Loop = For | While


def invariant_code_motion(block: Block, names: Names) -> Block:
    """``block`` with invariant loads hoisted out of their loops."""
    pass_ = _Invariant(names, redeclared_names(block))
    return pass_.block(block, Places(assigned_names(block)))


class _Invariant:
    def __init__(self, names: Names, redeclared: frozenset[str]) -> None:
        self._names = names
        self._redeclared = redeclared

    def block(self, block: Block, places: Places) -> Block:
        done: list[Statement] = []
        for statement in block.statements:
            inner = tuple(
                self.block(b, places.inside(statement)) if contains(b, For, While) else b
                for b in statement.blocks
            )
            new = with_blocks(statement, inner)
            done += self._hoisted(new, places) if isinstance(new, (For, While)) else (new,)
            places.after(statement)
        return with_statements(block, done)

    def _hoisted(self, loop: Loop, places: Places) -> tuple[Statement, ...]:
        """The hoisted declarations, then ``loop`` that uses them; its body has been processed
        already."""
        found = _candidates(loop, places)
        if not found:
            return (loop,)
        loop, moved = _without_lets(loop, found, self._redeclared)
        for load in found:
            if load not in moved:
                moved[load] = Let(Var(self._names.fresh(place_name(load)), load.dtype), load)
        variables: dict[Expr, Expr] = {load: let.var for load, let in moved.items()}
        replace = replacing(variables)
        return (*(moved[load] for load in found), replace.statement(loop))


def _candidates(loop: Loop, places: Places) -> dict[Load, None]:
    """The loads to hoist, in order of appearance; none is part of another."""
    changed = changed_names(loop)

    def fits(expr: Expr) -> TypeGuard[Load]:
        return (
            isinstance(expr, Load)
            and not read_names(expr) & changed
            and not any(isinstance(part, Invoke) for part in expr.walk())
        )

    # the condition of a ``while`` is evaluated even if the loop does not run
    first = certain_parts(loop.cond) if isinstance(loop, While) else ()
    found: dict[Load, None] = {e: None for e in first if fits(e)}
    for expr in certain(loop.body.statements):
        if fits(expr) and places.exists(expr):
            found[expr] = None
    inner = {part for load in found for part in load.index.walk()}
    return {load: None for load in found if load not in inner}


def _without_lets(
    loop: Loop, found: dict[Load, None], redeclared: frozenset[str]
) -> tuple[Loop, dict[Load, Let]]:
    """``loop`` without the declarations in its body that only name a load in ``found``."""
    moved: dict[Load, Let] = {}
    rest: list[Statement] = []
    for statement in loop.body.statements:
        value = statement.value if isinstance(statement, Let) else None
        if (
            isinstance(statement, Let)
            and isinstance(value, Load)
            and value in found
            and value not in moved
            and not statement.mutable
            and statement.var.name not in redeclared
        ):
            moved[value] = statement
        else:
            rest.append(statement)
    result = with_blocks(loop, (with_statements(loop.body, rest),))
    assert isinstance(result, (For, While))
    return result, moved
