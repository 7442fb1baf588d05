"""Flags that a branch raises, and that are tested right behind it, are not asked.

mut dirty: bool = False                 if c:
if c:                                       y[q] = x
    y[q] = x                    ->          q += 1
    dirty = True
if dirty: q += 1
"""

from __future__ import annotations

from collections import Counter

from finch_core.ir.assembly import Assign, Block, Break, If, Let, Return, Statement
from finch_core.ir.assembly_rewrite import (
    changed_names,
    read_names,
    redeclared_names,
    used_names,
    with_blocks,
    with_statements,
)
from finch_core.ir.builder import Names
from finch_core.ir.expressions import FALSE, TRUE, Var


def jump_threading(block: Block, names: Names) -> Block:
    """``block`` in which what a flag guards stands where the flag is raised."""
    if not any(_tested(statement) for statement in block.walk()):
        return block
    mentions = Counter(name for s in block.walk() for name in _own_mentions(s))
    return _block(block, mentions, redeclared_names(block))


def _own_mentions(statement: Statement) -> list[str]:
    """The variables that a statement itself sets or reads, once for each time."""
    found = [name for expr in statement.expressions for name in read_names(expr)]
    return [*found, statement.var.name] if isinstance(statement, (Let, Assign)) else found


def _block(block: Block, mentions: Counter[str], redeclared: frozenset[str]) -> Block:
    done: list[Statement] = []
    for statement in block.statements:
        inner = tuple(_block(b, mentions, redeclared) for b in statement.blocks)
        done.append(with_blocks(statement, inner))
    lowered = {s.var.name for s in done if isinstance(s, Let) and s.value == FALSE} - redeclared
    for k in reversed(range(len(done) - 1)):
        first, second = done[k : k + 2]  # as they are by now: what is guarded may raise a flag too
        flag = _tested(second)
        # it is lowered, raised and tested, and nothing else
        if flag in lowered and mentions[flag] == 3 and _raises(first, flag):
            assert isinstance(first, If)
            assert isinstance(second, If)
            if _names_differ(first.body, second.body):
                done[k : k + 2] = [_joined(first, second, flag)]
    return with_statements(block, done)


def _tested(statement: Statement) -> str:
    """The flag whose test, without an ``else``, a statement is."""
    if isinstance(statement, If) and not statement.orelse and isinstance(statement.cond, Var):
        return statement.cond.name
    return ""


def _raises(statement: Statement, flag: str) -> bool:
    """Whether a branch raises ``flag`` itself, and is not left before its end."""
    if not isinstance(statement, If):
        return False
    if any(isinstance(inner, (Break, Return)) for inner in statement.body.walk()):
        return False
    return any(_is_raised(s, flag) for s in statement.body.statements)


def _is_raised(statement: Statement, flag: str) -> bool:
    return isinstance(statement, Assign) and statement.var.name == flag and statement.value == TRUE


def _names_differ(first: Block, second: Block) -> bool:
    declared = {s.var.name for s in first.statements if isinstance(s, Let)}
    return not declared & (changed_names(*second.statements) | used_names(*second.statements))


def _joined(first: If, second: If, flag: str) -> If:
    kept = tuple(s for s in first.body.statements if not _is_raised(s, flag))
    return If(first.cond, Block((*kept, *second.body.statements)), first.orelse)
