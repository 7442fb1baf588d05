"""Dead code elimination: unused variables, aliases, and branches and loops without effect."""

from __future__ import annotations

from finch_core.ir.assembly import (
    Assign,
    Block,
    Comment,
    For,
    If,
    Let,
    Merge,
    Parallel,
    Statement,
    While,
)
from finch_core.ir.assembly_rewrite import (
    assigned_names,
    own_reads,
    own_stores,
    redeclared_names,
    replacing_variables,
    with_blocks,
    with_statements,
)
from finch_core.ir.builder import Names, conditional
from finch_core.ir.expressions import Expr, Literal, Var
from finch_core.records import evolve
from finch_core.symbolic.simplifier import folded


def dead_code(block: Block, names: Names) -> Block:
    """``block`` without statements that have no effect."""
    while True:
        new = _useful(_unaliased(block))
        if new is block:
            return block
        block = new


# -- aliases --------------------------------------------------------------------------------


def _unaliased(block: Block) -> Block:
    """``block`` with uses of aliases (lets of a constant or an immutable variable) replaced."""
    assigned = assigned_names(block)
    ambiguous = assigned | redeclared_names(block)
    aliases: dict[str, Expr] = {}
    for statement in block.walk():
        if isinstance(statement, Let) and statement.var.name not in ambiguous:
            value = statement.value
            renames = isinstance(value, Var) and value.name not in ambiguous
            if isinstance(value, Literal) or renames:
                aliases[statement.var.name] = _resolved(value, aliases)
    if aliases:
        block = replacing_variables(aliases, folded).block(block)
    lets = (statement for statement in block.walk() if isinstance(statement, Let))
    if not any(let.mutable and let.var.name not in assigned for let in lets):
        return block
    return _immutable(block, assigned)


def _resolved(value: Expr, aliases: dict[str, Expr]) -> Expr:
    return aliases.get(value.name, value) if isinstance(value, Var) else value


def _immutable(block: Block, assigned: frozenset[str]) -> Block:
    """``block`` in which variables that are never assigned are immutable."""
    done = []
    for statement in block.statements:
        if isinstance(statement, Let) and statement.mutable and statement.var.name not in assigned:
            statement = evolve(statement, mutable=False)
        blocks = tuple(_immutable(inner, assigned) for inner in statement.blocks)
        done.append(with_blocks(statement, blocks))
    return with_statements(block, done)


# -- liveness -------------------------------------------------------------------------------


def _useful(block: Block) -> Block:
    return _kept(block, _live(block))


def _live(block: Block) -> set[str]:
    """Live names: those that effects depend on, and those that ``block`` does not declare."""
    declared: set[str] = set()
    feeds: dict[str, set[str]] = {}
    pending: set[str] = set()
    for statement in block.walk():
        reads = own_reads(statement)
        if isinstance(statement, Let):
            declared.add(statement.var.name)
        if isinstance(statement, (Let, Assign)) and not _has_effect(statement):
            feeds.setdefault(statement.var.name, set()).update(reads)
        else:
            pending |= reads
        if isinstance(statement, For):
            pending |= {var.name for var, _ in statement.lanes}
    pending |= feeds.keys() - declared
    live: set[str] = set()
    while pending:
        name = pending.pop()
        live.add(name)
        pending |= feeds.get(name, set()) - live
    return live


def _has_effect(statement: Statement) -> bool:
    return bool(own_stores(statement))


def _kept(block: Block, live: set[str]) -> Block:
    done: list[Statement] = []
    for statement in block.statements:
        if isinstance(statement, (Let, Assign)):
            if statement.var.name in live or _has_effect(statement):
                done.append(statement)
            continue
        blocks = tuple(_kept(inner, live) for inner in statement.blocks)
        done += _with_effect(with_blocks(statement, blocks))
    return with_statements(block, done)


def _with_effect(statement: Statement) -> tuple[Statement, ...]:
    """``statement``, or nothing if it has no effect."""
    if _has_effect(statement):
        return (statement,)
    if isinstance(statement, If) and not (_acts(statement.body) and _acts(statement.orelse)):
        body = statement.body if _acts(statement.body) else Block()
        orelse = statement.orelse if _acts(statement.orelse) else Block()
        if (body, orelse) == (statement.body, statement.orelse) and body:
            return (statement,)
        return conditional(statement.cond, body, orelse)
    if isinstance(statement, (For, While, Parallel, Merge)) and not _acts(statement.body):
        return ()
    return (statement,)


def _acts(block: Block) -> bool:
    return any(not isinstance(statement, Comment) for statement in block.statements)
