"""Loop peeling of walks that branch on what they read: each of the first few iterations has
branches of its own, which processors predict by themselves.

    for (int64_t q = start; q < stop;) {
        {
            const int32_t j = idx[q];
            if (parents[j] < 0) queue[last++] = j;
        }
        if (++q >= stop) break;
        ...
        while (++q < stop) {
            const int32_t j = idx[q];
            if (parents[j] < 0) queue[last++] = j;
        }
        break;
    }

The first neighbours of the vertices of a mesh are alike, and so are the second ones. What is left
of a long row stays in a small loop.
"""

from __future__ import annotations

from finch_backend_c import ctree as c
from finch_core.ir import assembly as asm
from finch_core.ir.expressions import Expr, Literal, Load, Var
from finch_core.records import evolve

PEELED = 4
"""Iterations before those of the loop."""
SMALL = 10
"""Statements of a body that is repeated, at most; those of failures are not counted."""


def branches(loop: asm.For) -> bool:
    """Whether a loop is a walk whose small body stores under a condition on elements that it looks
    up, so that there is nothing for vectors in it."""
    if isinstance(loop.start, Literal) or loop.lanes or loop.banks:
        return False
    parts = [s for s in loop.body.walk() if not isinstance(s, asm.Block)]
    if any(isinstance(s, (asm.For, asm.While, asm.Parallel)) for s in parts):
        return False
    if sum(not _fails(s) for s in parts) > SMALL:
        return False
    read: set[str] = set()
    looked_up: set[str] = set()
    for s in parts:  # the variables of an expression are declared before it
        if isinstance(s, asm.Let):
            if _looks_up(s.value, read, looked_up):
                looked_up.add(s.var.name)
            if _reads(s.value, read):
                read.add(s.var.name)
        if not isinstance(s, asm.If) or _fails(s) or not _stores(s):
            continue
        if _looks_up(s.cond, read, looked_up):
            return True
    return False


def peeled(loop: c.For) -> c.For:
    """The C code of such a loop: its first iterations, with the test that ends it between, and a
    loop for all others."""
    step = c.Unary("++", c.Name(loop.name))
    between = c.If(c.Binary(">=", step, loop.end), c.Block((c.Break(),)))
    rest = c.While(c.Binary("<", step, loop.end), loop.body)
    first = (c.Scope(loop.body), *(between, c.Scope(loop.body)) * (PEELED - 1))
    return evolve(loop, body=c.Block((*first, rest, c.Break())), counts=False)


def _fails(s: asm.Statement) -> bool:
    """Whether a statement only ends the kernel, or leads to that."""
    if isinstance(s, asm.If):
        return not s.orelse.statements and _ends(s.body)
    return isinstance(s, asm.Fail)


def _ends(block: asm.Block) -> bool:
    return any(isinstance(s, asm.Fail) for s in block.statements)


def _stores(s: asm.If) -> bool:
    return any(isinstance(part, asm.Store) for part in s.walk())


def _reads(e: Expr, read: set[str]) -> bool:
    """Whether an expression has an element of a buffer, or a variable of those that have."""
    return any(isinstance(part, Load) or _is_among(part, read) for part in e.walk())


def _looks_up(e: Expr, read: set[str], looked_up: set[str]) -> bool:
    """Whether an expression has an element at a place that was read, or a variable of those that
    have."""
    return any(
        _is_among(part, looked_up) or (isinstance(part, Load) and _reads(part.index, read))
        for part in e.walk()
    )


def _is_among(e: Expr, names: set[str]) -> bool:
    return isinstance(e, Var) and e.name in names
