"""Turns of a loop that do nothing are left out 64 at a time, without a branch on each test.

    for j in range(0, n):                 for block in range(0, (n + 63) >> 6):
        if not seen[j]:                       first, last = block << 6, min((block << 6) + 64, n)
            for k in ...:                     mut turns: uint64 = 0
                ...             ->            for t in range(first, last):
                                                  turns |= uint64(not seen[t]) << (t - first)
                                              while turns != 0:
                                                  j = first + ctz(turns)
                                                  turns &= turns - 1
                                                  for k in ...:
                                                      ...

Which turns do something is data that no processor foresees; compilers make the tests of 64 turns in
vectors, and the turns that are left are all alike. It pays where a turn has a loop of its own.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from finch_core.ir import primitives as prim
from finch_core.ir.assembly import (
    Block,
    Break,
    Comment,
    For,
    If,
    Let,
    Return,
    Statement,
    While,
)
from finch_core.ir.assembly_rewrite import (
    Substitution,
    changed_names,
    names_in,
    read_names,
    stored_by,
    with_blocks,
    with_statements,
)
from finch_core.ir.builder import Builder, Names
from finch_core.ir.expressions import FALSE, Call, Expr, Literal, Load, Var, call
from finch_core.ir.strides import stride_along
from finch_core.ir.typing import typed

BITS = 64
_UINT64 = np.dtype(np.uint64)


def predicate_compaction(block: Block, names: Names, inside: bool = False) -> Block:
    """``block`` with its loops' tests made 64 at a time where that pays; ``inside`` of a loop only
    those of loops over whole dimensions, for others may be short."""
    done: list[Statement] = []
    for statement in block.statements:
        within = inside or isinstance(statement, (For, While))
        blocks = tuple(predicate_compaction(b, names, within) for b in statement.blocks)
        statement = with_blocks(statement, blocks)
        if isinstance(statement, For) and (not inside or isinstance(statement.start, Literal)):
            done += _by_blocks(statement, names)
        else:
            done.append(statement)
    return with_statements(block, done)


def _by_blocks(loop: For, names: Names) -> tuple[Statement, ...]:
    """``loop`` as one over blocks of its turns, if all of a turn stands under a test."""
    found = _taken_apart(loop)
    if found is None:
        return (loop,)
    test, body = found
    b = Builder(names)
    with b.for_("block", 0, (loop.stop - loop.start + (BITS - 1)) >> 6) as block:
        first = b.let("first", loop.start + (block << 6))
        last = b.let("last", (first + BITS).min(loop.stop))
        turns = b.var("turns", 0, _UINT64)
        with b.for_("t", first, last, lanes=((turns, prim.bitor),)) as t:
            here = Substitution(lambda e: t if e == loop.var else None)(test)
            b.assign(turns, turns | (here.cast(_UINT64) << (t - first).cast(_UINT64)))
        with b.while_(turns.ne(0)):
            b.emit(Let(loop.var, first + call(prim.ctz, turns)))
            b.assign(turns, turns & (turns - 1))
            b.extend(body)
    return typed(b.finish(), names=names).statements


def _taken_apart(loop: For) -> tuple[Expr, tuple[Statement, ...]] | None:
    """The test without which a turn does nothing, and what a turn does where it holds."""
    before, rest = _declared(loop.body.statements)
    if loop.lanes or not rest or not isinstance(rest[0], If) or _leaves(loop.body.statements):
        return None
    branch, after = rest[0], rest[1:]
    flags = {s.var.name for s in before if s.mutable and s.value == FALSE}
    if branch.orelse or branch.likely or not all(_is_guarded(s, flags) for s in after):
        return None
    test, more = _first_test(branch.cond)
    if not _has_loop(branch.body) or not _is_contiguous(test, loop):
        return None
    if more is not None:
        return test, (*before, If(more, branch.body), *after)
    declared = {s.var.name for s in branch.body.statements if isinstance(s, Let)}
    if declared & names_in(Block((*before, *after))):
        return None
    return test, (*before, *branch.body.statements, *after)


def _declared(statements: Iterable[Statement]) -> tuple[tuple[Let, ...], tuple[Statement, ...]]:
    """Variables that statements begin by declaring, and the statements that follow."""
    given = [s for s in statements if not isinstance(s, Comment)]
    count = 0
    while count < len(given) and isinstance(given[count], Let):
        count += 1
    lets = tuple(s for s in given[:count] if isinstance(s, Let))
    pure = not any(stored_by(s.value) for s in lets)
    return (lets, tuple(given[count:])) if pure else ((), ())


def _is_guarded(statement: Statement, flags: set[str]) -> bool:
    """Whether a statement does nothing unless one of ``flags`` was raised."""
    if not isinstance(statement, If) or statement.orelse:
        return False
    return isinstance(statement.cond, Var) and statement.cond.name in flags


def _leaves(statements: Iterable[Statement]) -> bool:
    """Whether statements may leave the loop that they stand in, but by a failure."""
    return any(
        isinstance(s, (Break, Return))
        or (isinstance(s, (For, While)) and any(isinstance(i, Return) for i in s.walk()))
        or (isinstance(s, If) and any(_leaves(b.statements) for b in s.blocks))
        for s in statements
    )


def _first_test(cond: Expr) -> tuple[Expr, Expr | None]:
    """The part of a condition that is evaluated first, and the rest."""
    if not isinstance(cond, Call) or cond.op is not prim.and_:
        return cond, None
    test, more = _first_test(cond.args[0])
    return test, cond.args[1] if more is None else more.and_(cond.args[1])


def _has_loop(block: Block) -> bool:
    return any(isinstance(s, (For, While)) for s in block.walk())


def _is_contiguous(test: Expr, loop: For) -> bool:
    """Whether a test is of neighbouring places in turn, and of what the loop does not change."""
    changed = changed_names(*loop.body.statements)
    parts = (test, loop.start, loop.stop)
    if any(read_names(part) & changed or stored_by(part) for part in parts):
        return False
    if any(isinstance(e, Load) for bound in loop.expressions for e in bound.walk()):
        return False  # the bounds would be read for each block
    loads = [node for node in test.walk() if isinstance(node, Load)]
    return bool(loads) and all(stride_along(load.index, loop.var, changed) == 1 for load in loads)
