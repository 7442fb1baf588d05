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
from finch_core.ir.expressions import Expr, Literal, Load
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
    lets = {s.var.name: s.value for s in parts if isinstance(s, asm.Let)}
    return any(
        isinstance(s, asm.If) and not _fails(s) and _looks_up(s.cond, lets) and _stores(s)
        for s in parts
    )


def peeled(loop: c.For) -> c.For:
    """The C code of such a loop: its first iterations, with the test that ends it between, and a
    loop for all others."""
    step, stop = c.Unary("++", c.Name(loop.name)), c.Name(loop.bound) if loop.bound else loop.limit
    between = c.If(c.Binary(">=", step, stop), c.Block((c.Break(),)))
    rest = c.While(c.Binary("<", step, stop), loop.body)
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


def _looks_up(e: Expr, lets: dict[str, Expr]) -> bool:
    """Whether an expression has an element at a place that was read."""
    loads = [part for part in _spelt(e, lets) if isinstance(part, Load)]
    return any(isinstance(inner, Load) for load in loads for inner in _spelt(load.index, lets))


def _spelt(e: Expr, lets: dict[str, Expr]) -> list[Expr]:
    """The parts of an expression and of what its variables stand for."""
    found: list[Expr] = []
    for part in e.walk():
        found.append(part)
        value = lets.get(getattr(part, "name", ""))
        if value is not None:
            found += _spelt(value, lets)
    return found
