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
around it. Where each iteration appends one entry at most, it is known how many fit, so that
compilers make vector code of copies:

        const int64_t q_room = min(q + (room - stored), p_stop);
        do { ... } while (q < q_room);
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from finch_backend_c import ctree as c
from finch_core.ir import assembly as asm
from finch_core.ir import expressions as ir
from finch_core.ir import primitives as prim
from finch_core.ir.builder import negation
from finch_core.ir.dtypes import concrete
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


def appends_one(loop: asm.For | asm.While) -> bool:
    """Whether each turn of a loop that begins with the growth check ``count >= room`` adds 1 to
    ``count``, or 0 or 1, so that it is known how many turns have room."""
    head, *turn = loop.body.statements
    assert isinstance(head, asm.If)
    cond = head.cond
    if not (isinstance(cond, ir.Call) and cond.op is prim.ge):
        return False
    count, room = cond.args
    if not (isinstance(count, ir.Var) and isinstance(room, ir.Var)):
        return False
    changes = [s for top in turn for s in top.walk() if isinstance(s, asm.Assign)]
    changes = [s for s in changes if s.var in (count, room)]
    if len(changes) != 1 or not any(s is changes[0] for s in turn):
        return False
    return changes[0].var == count and _is_one_more(changes[0].value, count)


def _is_one_more(more: ir.Expr, count: ir.Var) -> bool:
    """Whether this is ``count + 1``, or ``count`` plus a bool."""
    if not (isinstance(more, ir.Call) and more.op is prim.add and more.args[0] == count):
        return False
    by = more.args[1]
    kept = isinstance(by, ir.Cast) and concrete(by.value.dtype).kind == "b"
    return kept or by == ir.Literal(1, count.type)


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
    counted = c.Block((*turn, c.Increment(name)))
    if appends_one(loop):
        full = emitter.node(head.cond)
        assert isinstance(full, c.Binary)
        end = emitter.loop_name(plain.name + "_room")
        reached = c.Binary("+", name, c.Binary("-", full.right, full.left))
        limit = c.Ternary(c.Binary("<", reached, plain.end), reached, plain.end)
        held = c.Declare("const " + plain.type, end, limit)
        fits = c.DoWhile(c.Binary("<", name, c.Name(end)), counted)
        return evolve(plain, body=c.Block((check, held, fits)), counts=False)
    more = c.Binary("<", name, plain.end)
    body = c.Block((check, c.DoWhile(c.Binary("&&", more, room), counted)))
    return evolve(plain, body=body, counts=False)
