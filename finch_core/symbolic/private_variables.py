"""Private variables: those of which no read in a statement may see a value from before it.

    t[()] = x[i]                  t is private: each turn of a loop with this body does the same
    if t[()] > 1:                 with t, whatever turns came before
        t[()] = 1.0
    s[()] += t[()]                s is not: an update reads it

A tensor with dimensions is private where it is declared anew before anything else is done with it:
what is assigned to its elements leaves others as they are.

The analysis is that of upward-exposed reads in textbooks, along the statements of a block.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from finch_core.ir.expressions import Access, Expr, Load, Var
from finch_core.ir.program import (
    Declare,
    Define,
    Freeze,
    Labelled,
    Leave,
    Loop,
    Sequential,
    Sieve,
    Stmt,
    Thaw,
    Update,
    While,
    leaves,
)

_NONE: Set[Any] = frozenset()


def private_variables(stmt: Stmt) -> Set[Any]:
    """The variables and other tensors that ``stmt`` sets before it reads them, on every way."""
    found: set[Any] = set()
    for part in stmt.walk():
        if isinstance(part, Declare):
            found.add(part.tensor)
        elif isinstance(part, Update):
            tensor = part.target.tensor.root
            if tensor is not None and tensor.format.is_variable:
                found.add(tensor)
    if not found:
        return _NONE
    owners: dict[Any, Any] = {source: t for t in found for source in (t, *t.parts)}
    exposed, _ = _flow(stmt, owners)
    return found - exposed


def _flow(stmt: Stmt, owners: Mapping[Any, Any]) -> tuple[Set[Any], Set[Any]]:
    """The variables of which a read in ``stmt`` may see a value from before it, and those that
    every way to its end sets. ``owners`` has the variable of each tensor and register."""
    if isinstance(stmt, Update):
        return _of_update(stmt, owners)
    if isinstance(stmt, Declare):
        return _NONE, _of(stmt.tensor, owners)
    if isinstance(stmt, (Freeze, Thaw)):  # a variable has no state but its value
        return _NONE if stmt.tensor.format.is_variable else _of(stmt.tensor, owners), _NONE
    if isinstance(stmt, Leave):
        return _NONE, _NONE
    parts = [_flow(body, owners) for body in stmt.bodies]
    if isinstance(stmt, Sequential):
        exposed = sets = _NONE
        for reads, more in parts:
            exposed, sets = exposed | (reads - sets), sets | more
        return exposed, sets
    if not isinstance(stmt, (Define, Labelled, Loop, Sieve, While)):
        return frozenset(owners.values()), _NONE
    exposed = _read(stmt.exprs, owners)
    for reads, _ in parts:
        exposed = exposed | reads
    if isinstance(stmt, Sieve):
        return exposed, parts[0][1] & parts[1][1]
    leaves_early = isinstance(stmt, Labelled) and stmt.label in leaves(stmt.body)
    once = isinstance(stmt, (Define, Labelled)) and not leaves_early
    return exposed, parts[0][1] if once else _NONE


def _of_update(stmt: Update, owners: Mapping[Any, Any]) -> tuple[Set[Any], Set[Any]]:
    exposed = _read((*stmt.target.indices, stmt.value), owners)
    root = stmt.target.tensor.root
    target = _of(root, owners)
    whole = stmt.op is None and bool(target) and root.format.is_variable
    return (exposed, target) if whole else (exposed | target, _NONE)


def _of(tensor: Any, owners: Mapping[Any, Any]) -> Set[Any]:
    return frozenset({tensor}) if tensor in owners else _NONE


def _read(exprs: tuple[Expr, ...], owners: Mapping[Any, Any]) -> Set[Any]:
    """The variables that expressions read, by their names or in the registers that have them."""
    found: set[Any] = set()
    for node in (node for expr in exprs for node in expr.walk()):
        source: Any = node
        if isinstance(node, Access):
            source = node.tensor.root
        elif isinstance(node, Load):
            source = node.buffer
        elif not isinstance(node, Var):
            continue
        if source in owners:
            found.add(owners[source])
    return found


__all__ = ["private_variables"]
