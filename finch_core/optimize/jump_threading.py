"""Jump threading: a test of a flag that the preceding branch sets is merged into that branch.

mut dirty: bool = False                 if c:
if c:                                       y[q] = x
    y[q] = x                    ->          q += 1
    dirty = True
if dirty: q += 1
"""

from __future__ import annotations

from collections import Counter

from finch_core.ir.assembly import Assign, Block, Break, If, Let, Return, Statement, contains
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
    """``block`` with the statements under a flag's test moved to where the flag is set."""
    if not any(_tested(statement) for statement in block.walk()):
        return block
    mentions = Counter(name for s in block.walk() for name in _own_mentions(s))
    return _block(block, mentions, redeclared_names(block))


def _own_mentions(statement: Statement) -> list[str]:
    """The variables that a statement itself assigns or reads, one entry for each occurrence."""
    found: list[str] = [name for expr in statement.expressions for name in read_names(expr)]
    return [*found, statement.var.name] if isinstance(statement, (Let, Assign)) else found


def _block(block: Block, mentions: Counter[str], redeclared: frozenset[str]) -> Block:
    done: list[Statement] = []
    for statement in block.statements:
        inner = tuple(_block(b, mentions, redeclared) for b in statement.blocks)
        done.append(with_blocks(statement, inner))
    cleared = {s.var.name for s in done if isinstance(s, Let) and s.value == FALSE} - redeclared
    for k in reversed(range(len(done) - 1)):
        first, second = done[k : k + 2]  # rewritten ones: they may set a flag too
        flag = _tested(second)
        # the flag is declared False, set and tested, and occurs nowhere else
        if flag in cleared and mentions[flag] == 3 and _sets(first, flag):
            assert isinstance(first, If)
            assert isinstance(second, If)
            if _names_differ(first.body, second.body):
                done[k : k + 2] = [_joined(first, second, flag)]
    return with_statements(block, done)


def _tested(statement: Statement) -> str:
    """The flag if ``statement`` is a test of one without an ``else``, or an empty string."""
    if isinstance(statement, If) and not statement.orelse and isinstance(statement.cond, Var):
        return statement.cond.name
    return ""


def _sets(statement: Statement, flag: str) -> bool:
    """Whether a branch sets ``flag`` unconditionally, and control cannot leave it before its
    end."""
    if not isinstance(statement, If):
        return False
    if contains(statement.body, Break, Return):
        return False
    return any(_is_set(s, flag) for s in statement.body.statements)


def _is_set(statement: Statement, flag: str) -> bool:
    return isinstance(statement, Assign) and statement.var.name == flag and statement.value == TRUE


def _names_differ(first: Block, second: Block) -> bool:
    declared = {s.var.name for s in first.statements if isinstance(s, Let)}
    return not declared & (changed_names(*second.statements) | used_names(*second.statements))


def _joined(first: If, second: If, flag: str) -> If:
    kept = tuple(s for s in first.body.statements if not _is_set(s, flag))
    return If(first.cond, Block((*kept, *second.body.statements)), first.orelse)
