"""Inlining: which functions a kernel calls only outside of its loops, so that they stay apart.

Inlined, such a function takes registers from the loops that follow, and its wide vectors leave the
processor in a state in which their scalar arithmetic is slow.
"""

from __future__ import annotations

from collections.abc import Iterator

from finch_core.ir import assembly as asm
from finch_core.ir.expressions import Invoke

_LOOPS = (asm.For, asm.While, asm.Parallel)

NOINLINE = "__attribute__((noinline)) "


def kept_apart(kernel: asm.Kernel) -> frozenset[str]:
    """The names of the functions with loops that ``kernel`` calls outside of its loops only."""
    functions = [function for function in kernel.functions if _has_loops(function.body)]
    if not functions:
        return frozenset()
    inside = {name for function in kernel.functions for name in _called(function.body, True)}
    inside |= set(_called(kernel.body, False))
    return frozenset(function.name for function in functions) - inside


def _has_loops(block: asm.Block) -> bool:
    return any(isinstance(statement, _LOOPS) for statement in block.walk())


def _called(block: asm.Block, inside: bool) -> Iterator[str]:
    """The names of the functions that ``block`` calls in its loops; all where it is ``inside`` of
    one."""
    for statement in block.statements:
        if inside or isinstance(statement, asm.While):
            nodes = (node for expr in statement.expressions for node in expr.walk())
            yield from (node.function.name for node in nodes if isinstance(node, Invoke))
        for part in statement.blocks:
            yield from _called(part, inside or isinstance(statement, _LOOPS))


__all__ = ["NOINLINE", "kept_apart"]
