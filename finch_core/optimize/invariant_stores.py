"""Invariant store sinking: a flag that every iteration sets is set once, after the loop.

    for k in range(start, stop):            for k in range(start, stop):
        s += a[k] * b[k]            ->          s += a[k] * b[k]
        dirty = True                        if start < stop: dirty = True

The remaining loop can then be vectorised.
"""

from __future__ import annotations

from finch_core.ir.assembly import Assign, Block, Break, For, If, Let, Statement, contains
from finch_core.ir.assembly_rewrite import changed_names, read_names, with_blocks, with_statements
from finch_core.ir.builder import Names
from finch_core.ir.expressions import Literal


def invariant_stores(block: Block, names: Names) -> Block:
    """``block`` with invariant assignments of constants moved after their loops."""
    if not contains(block, For):
        return block
    done: list[Statement] = []
    for statement in block.statements:
        inner = tuple(invariant_stores(b, names) for b in statement.blocks)
        statement = with_blocks(statement, inner)
        done += _sunk(statement) if isinstance(statement, For) else (statement,)
    return with_statements(block, done)


def _sunk(loop: For) -> tuple[Statement, ...]:
    """``loop`` without its invariant assignments, and these after it under a test that it ran."""
    flags = tuple(s for s in loop.body.statements if _is_invariant(s, loop))
    if not flags:
        return (loop,)
    rest = tuple(s for s in loop.body.statements if s not in flags)
    shorter = For(loop.var, loop.start, loop.stop, Block(rest), loop.lanes, loose=loop.loose)
    return shorter, If(loop.start < loop.stop, Block(tuple(dict.fromkeys(flags))))


def _is_invariant(statement: Statement, loop: For) -> bool:
    """Whether every iteration of ``loop`` assigns a constant to an outer variable that the loop
    neither reads nor changes otherwise, and the loop does not change its own bounds."""
    if not isinstance(statement, Assign) or not isinstance(statement.value, Literal):
        return False
    name = statement.var.name
    inside = list(loop.walk())
    if any(isinstance(s, Break) for s in inside):
        return False
    others = (s for s in inside if s is not loop and s != statement)
    declared = any(isinstance(s, Let) and s.var.name == name for s in inside)
    read = any(name in read_names(e) for s in inside for e in s.expressions)
    bounds = read_names(loop.start) | read_names(loop.stop)
    changed = changed_names(*loop.body.statements)
    elsewhere = any(isinstance(s, Assign) and s.var.name == name for s in others)
    return not (declared or read or elsewhere or bounds & changed)
