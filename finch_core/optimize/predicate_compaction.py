"""Predicate compaction: 64 predicates become a bit mask, and only its set bits are iterated.

    for j in range(0, n):                 for block in range(0, (n + 63) >> 6):
        if not seen[j]:                       first, last = block << 6, min((block << 6) + 64, n)
            for k in ...:                     mut active: uint64 = 0
                ...             ->            for t in range(first, last):
                                                  active |= uint64(not seen[t]) << (t - first)
                                              while active != 0:
                                                  j = first + ctz(active)
                                                  active &= active - 1
                                                  for k in ...:
                                                      ...

The predicates are data-dependent, so a branch on each would be mispredicted; C compilers
vectorise the loop that computes the mask. It pays if the guarded body contains a loop.
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
    contains,
)
from finch_core.ir.assembly_rewrite import (
    changed_names,
    names_in,
    read_names,
    replacing,
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
    """``block`` with loops over a predicate compacted where that pays.

    ``inside`` another loop, only loops over whole dimensions qualify; others may be short.
    """
    if not contains(block, For):
        return block
    done: list[Statement] = []
    for statement in block.statements:
        within = inside or isinstance(statement, (For, While))
        blocks = tuple(predicate_compaction(b, names, within) for b in statement.blocks)
        statement = with_blocks(statement, blocks)
        if isinstance(statement, For) and (not inside or isinstance(statement.start, Literal)):
            done += _compacted(statement, names)
        else:
            done.append(statement)
    return with_statements(block, done)


def _compacted(loop: For, names: Names) -> tuple[Statement, ...]:
    """``loop`` as a loop over blocks of 64 iterations, if a predicate guards its whole body."""
    found = _predicate(loop)
    if found is None:
        return (loop,)
    test, body = found
    b = Builder(names)
    with b.for_("block", 0, (loop.stop - loop.start + (BITS - 1)) >> 6) as block:
        first = b.let("first", loop.start + (block << 6))
        last = b.let("last", (first + BITS).min(loop.stop))
        active = b.var("active", 0, _UINT64)
        with b.for_("t", first, last, lanes=((active, prim.bitor),)) as t:
            here = replacing({loop.var: t})(test)
            b.assign(active, active | (here.cast(_UINT64) << (t - first).cast(_UINT64)))
        with b.while_(active.ne(0)):
            b.emit(Let(loop.var, first + call(prim.ctz, active)))
            b.assign(active, active & (active - 1))
            b.extend(body)
    return typed(b.finish(), names=names).statements


def _predicate(loop: For) -> tuple[Expr, tuple[Statement, ...]] | None:
    """The predicate that guards the body of ``loop``, and what an iteration does where it holds."""
    before, rest = _declared(loop.body.statements)
    if loop.lanes or not rest or not isinstance(rest[0], If) or _leaves(loop.body.statements):
        return None
    branch, after = rest[0], rest[1:]
    flags = {s.var.name for s in before if s.mutable and s.value == FALSE}
    if branch.orelse or branch.likely is not None or not all(_is_guarded(s, flags) for s in after):
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
    """The declarations at the start of ``statements``, and the statements after them."""
    given = [s for s in statements if not isinstance(s, Comment)]
    count = 0
    while count < len(given) and isinstance(given[count], Let):
        count += 1
    lets = tuple(s for s in given[:count] if isinstance(s, Let))
    pure = not any(stored_by(s.value) for s in lets)
    return (lets, tuple(given[count:])) if pure else ((), ())


def _is_guarded(statement: Statement, flags: set[str]) -> bool:
    """Whether a statement has no effect unless one of ``flags`` is set."""
    if not isinstance(statement, If) or statement.orelse:
        return False
    return isinstance(statement.cond, Var) and statement.cond.name in flags


def _leaves(statements: Iterable[Statement]) -> bool:
    """Whether ``statements`` may leave the loop that contains them other than by a failure."""
    return any(
        isinstance(s, (Break, Return))
        or (isinstance(s, (For, While)) and any(isinstance(i, Return) for i in s.walk()))
        or (isinstance(s, If) and any(_leaves(b.statements) for b in s.blocks))
        for s in statements
    )


def _first_test(cond: Expr) -> tuple[Expr, Expr | None]:
    """The conjunct of a condition that is evaluated first, and the rest."""
    if not isinstance(cond, Call) or cond.op is not prim.and_:
        return cond, None
    test, more = _first_test(cond.args[0])
    return test, cond.args[1] if more is None else more.and_(cond.args[1])


def _has_loop(block: Block) -> bool:
    return any(isinstance(s, (For, While)) for s in block.walk())


def _is_contiguous(test: Expr, loop: For) -> bool:
    """Whether a predicate loads contiguously along the loop, from buffers that the loop does not
    change."""
    changed = changed_names(*loop.body.statements)
    parts = (test, loop.start, loop.stop)
    if any(read_names(part) & changed or stored_by(part) for part in parts):
        return False
    if any(isinstance(e, Load) for bound in loop.expressions for e in bound.walk()):
        return False  # the bounds would be read for each block
    loads = [node for node in test.walk() if isinstance(node, Load)]
    return bool(loads) and all(stride_along(load.index, loop.var, changed) == 1 for load in loads)
