"""Where a tensor holds nothing: it was declared, and nothing has written it since.

C[...] = 0                          C[...] = 0
for i in parallel(_): ...           swap(C, D)
    C[i, j] = ...      # empty      for i in parallel(_): ...      # D's elements
"""

from __future__ import annotations

from finch_core.interface.tensorlike import BoundTensor
from finch_core.ir.program import (
    Declare,
    Define,
    Labelled,
    Loop,
    Sequential,
    Sieve,
    Stmt,
    Swap,
    Update,
    While,
)


def is_empty_before(loop: Loop, tensor: BoundTensor, whole: Stmt) -> bool:
    """Whether ``tensor`` is empty each time that ``whole`` comes to ``loop``."""
    found: list[bool] = []
    _after(whole, loop, tensor, False, found)
    return all(found)


def _after(stmt: Stmt, loop: Loop, tensor: BoundTensor, empty: bool, found: list[bool]) -> bool:
    """Whether the tensor is empty after ``stmt``, by whether it is before; notes in ``found``
    whether it is where ``loop`` begins."""
    if stmt is loop:
        found.append(empty)
    if isinstance(stmt, Declare) and stmt.tensor is tensor:
        return True
    if _fills(stmt, tensor):
        return False
    if isinstance(stmt, Sequential):
        for part in stmt.statements:
            empty = _after(part, loop, tensor, empty, found)
        return empty
    entered = empty
    if isinstance(stmt, (Loop, While, Labelled)):  # entered again, not at all, or left early
        entered = empty and not any(_fills(part, tensor) for part in stmt.walk())
    ends = [_after(body, loop, tensor, entered, found) for body in stmt.bodies]
    return all(ends) if ends and isinstance(stmt, (Define, Sieve)) else entered and all(ends)


def _fills(stmt: Stmt, tensor: BoundTensor) -> bool:
    if isinstance(stmt, Swap):
        return tensor in (stmt.first, stmt.second)
    return isinstance(stmt, Update) and stmt.target.tensor.root is tensor


__all__ = ["is_empty_before"]
