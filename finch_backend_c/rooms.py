"""Splits loops that check a buffer's capacity in each iteration: an inner loop runs the iterations
that fit.

    for (int64_t q = p; q < p_stop;) {
        if (stored >= room) { ... GROW(val, more); ... }
        do {
            val[stored++] = x[q];
            q++;
        } while (q < p_stop && stored < room);
    }

This keeps the rarely taken call out of the inner loop, which would otherwise spill registers
around it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from finch_backend_c import ctree as c
from finch_core.ir import assembly as asm
from finch_core.ir.builder import negation
from finch_core.records import evolve

if TYPE_CHECKING:
    from finch_backend_c.emitter import Emitter


def has_room(loop: asm.For | asm.While) -> bool:
    """Whether iterations of a loop begin with a growth check and contain no loop."""
    head, turn = loop.body.statements[:1], loop.body.statements[1:]
    if not turn or not asm.is_growth_check(*head):
        return False
    inner = (s for top in turn for s in top.walk())
    return not any(isinstance(s, (asm.For, asm.While, asm.Break)) for s in inner)


def parted(emitter: Emitter, loop: asm.For | asm.While, plain: c.Stmt) -> c.Stmt:
    """Split ``plain``, the C code of a loop for which ``has_room`` holds."""
    assert isinstance(plain, (c.For, c.While))
    head, check = loop.body.statements[0], plain.body.statements[0]
    assert isinstance(head, asm.If)
    turn, room = plain.body.statements[1:], emitter.node(negation(head.cond))
    if isinstance(plain, c.While):
        inner = c.DoWhile(c.Binary("&&", plain.cond, room), c.Block(turn))
        return c.While(plain.cond, c.Block((check, inner)))
    name = c.Name(plain.name)
    more = c.Binary("<", name, plain.end)
    counted = c.Block((*turn, c.Increment(name)))
    body = c.Block((check, c.DoWhile(c.Binary("&&", more, room), counted)))
    return evolve(plain, body=body, counts=False)
