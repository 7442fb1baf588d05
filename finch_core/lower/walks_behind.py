"""What is walked next: whether a walk that stops early is taken up by a later loop of the turn."""

from __future__ import annotations

from collections.abc import Iterator

from finch_core.ir.expressions import Access
from finch_core.ir.program import Loop, Stmt
from finch_core.lower.pass_state import reads_of
from finch_core.symbolic.prover import is_unit


def walks_behind(statements: tuple[Stmt, ...], after: frozenset[int]) -> tuple[frozenset[int], ...]:
    """For each of ``statements`` the ids of the levels that loops behind it read; those behind all
    of them are ``after``."""
    found = []
    for stmt in reversed(statements):
        found.append(after)
        after |= frozenset(_walked(stmt))
    return tuple(reversed(found))


def _walked(stmt: Stmt) -> Iterator[int]:
    """The ids of the levels of tensors that loops in a statement read."""
    if not isinstance(stmt, Loop) or stmt.extent is None or is_unit(stmt.extent):
        for body in stmt.bodies:
            yield from _walked(body)
        return
    for part in stmt.walk():
        for expr in reads_of(part):
            for node in expr.walk():
                if isinstance(node, Access) and node.tensor.root is not None:
                    yield from map(id, node.tensor.root.level.levels())


__all__ = ["walks_behind"]
