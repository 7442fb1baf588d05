"""Dead locals: declarations, updates and loops that only compute a local that is never read.

A local that nothing updates is its fill value, wherever it is read: where the updates are
eliminated, so are the loops over it, and then the local.

``lower/scratch.py`` marks the locals that may be eliminated.
"""

from __future__ import annotations

from typing import Any

from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Access, Expr, Index, Literal, Name
from finch_core.ir.program import (
    Declare,
    Define,
    Freeze,
    Labelled,
    Loop,
    Sequential,
    Sieve,
    Stmt,
    Stored,
    Swap,
    Thaw,
    Update,
)
from finch_core.ir.rewrite import rewrite, rewrite_statements
from finch_core.symbolic.prover import is_unit

NOTHING = Sequential()
_WRAPPING = (Loop, Define, Sieve, Labelled)
"""Statements that do nothing if the statements in them do nothing."""


def dead_locals(stmt: Sequential) -> Stmt | None:
    """A block without the scratch locals that it declares and does not read; None if there are
    none. Updates at indices that are checked where they run stay."""
    scratch = {p.tensor for p in stmt.statements if isinstance(p, Declare) and p.scratch}
    dead = scratch - read(stmt) if scratch else scratch
    if dead and (unchecked := _unchecked(stmt)):
        updates = (part.target for part in stmt.walk() if isinstance(part, Update))
        dead -= {target.tensor.root for target in updates if unchecked & {*target.indices}}
    return without(stmt, dead) if dead else None


def blank_locals(stmt: Sequential) -> Stmt | None:
    """A block in which the reads of scratch locals that nothing updates are their fill values; None
    if there are none. A loop whose extent is the length of such a local needs it, and so does one
    whose bounds are checked where it runs: the index may not be within the local."""
    blank = {p.tensor for p in stmt.statements if isinstance(p, Declare) and p.scratch}
    blank = {tensor for tensor in blank if len(tensor.level.levels()) > 1}
    if not blank:
        return None
    reads: dict[Any, list[Access]] = {tensor: [] for tensor in blank}
    unchecked = _unchecked(stmt)
    for part in stmt.walk():
        if isinstance(part, Swap):
            blank -= {part.first, part.second}
        elif isinstance(part, Update):
            blank -= {part.target.tensor.root}
        if not isinstance(part, Declare):
            _note_reads(part, reads, blank, unchecked)
    if not any(reads[tensor] for tensor in blank):
        return None

    def rule(expr: Expr) -> Expr:
        if isinstance(expr, Access) and expr.tensor.root in blank:
            return Literal(expr.tensor.fill_value, concrete(expr.dtype))
        return expr

    return rewrite(stmt, rule)


def _unchecked(stmt: Stmt) -> set[Index]:
    """The indices of the loops whose bounds are checked where they run."""
    loops = (part for part in stmt.walk() if isinstance(part, Loop))
    return {loop.index for loop in loops if not _is_checked_before(loop)}


def _is_checked_before(loop: Loop) -> bool:
    """Whether the ends of a loop are known before the program runs, which is where they are
    compared with dimensions; a single index is not."""
    extent = loop.extent
    if extent is None or is_unit(extent):
        return False
    nodes = (node for bound in (extent.start, extent.stop) for node in bound.walk())
    return not any(isinstance(node, (Access, Index, Name)) for node in nodes)


def _note_reads(
    part: Stmt, reads: dict[Any, list[Access]], blank: set[Any], unchecked: set[Index]
) -> None:
    """Note the accesses of ``part``; what is read in another way, at ``unchecked`` indices, or
    whose length counts, is not blank."""
    lengths = {level.shape: tensor for tensor in blank for level in tensor.level.levels()[:-1]}
    for expr in part.exprs:
        for node in expr.walk():
            if isinstance(node, Access):
                tensor = node.tensor.root
                if tensor in blank and _is_plain(node) and unchecked.isdisjoint(node.indices):
                    reads[tensor].append(node)
                else:
                    blank.discard(tensor)
            elif isinstance(node, Stored) and isinstance(node.access, Access):
                blank.discard(node.access.tensor.root)
            elif node in lengths:
                blank.discard(lengths[node])


def _is_plain(access: Access) -> bool:
    whole = access.tensor == access.tensor.root.fiber  # not a part of it, nor by a wrapper
    return whole and all(isinstance(index, Index) for index in access.indices)


def read(stmt: Stmt) -> set[Any]:
    """The tensors whose values a statement reads."""
    found = set()
    for part in stmt.walk():
        if isinstance(part, Swap):
            found |= {part.first, part.second}
        taken = (*part.target.indices, part.value) if isinstance(part, Update) else part.exprs
        for expr in taken:
            found |= {node.tensor.root for node in expr.walk() if isinstance(node, Access)}
    return found


def without(stmt: Stmt, gone: set[Any]) -> Stmt:
    """``stmt`` without the statements on tensors in ``gone``, which it does not read."""

    def rule(part: Stmt) -> Stmt:
        if isinstance(part, (Declare, Freeze, Thaw)):
            return NOTHING if part.tensor in gone else part
        if isinstance(part, Update):
            return NOTHING if part.target.tensor.root in gone else part
        if isinstance(part, Sequential):
            kept = tuple(s for s in part.statements if s != NOTHING)
            return kept[0] if len(kept) == 1 else Sequential(kept, span=part.span)
        does = not isinstance(part, _WRAPPING) or any(b != NOTHING for b in part.bodies)
        return part if does else NOTHING

    return rewrite_statements(stmt, rule)


__all__ = ["blank_locals", "dead_locals"]
