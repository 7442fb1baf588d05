"""Packing of 64 bools: a loop that collects them in the bits of a word packs whole words.

if (last - first == 64)
    turns |= ~packed(seen + first);
else
    for (int64_t t = first; t < last; t++)
        turns |= lshift_u64((uint64_t)!seen[t], (uint64_t)(t - first));
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from finch_backend_c import ctree as c
from finch_core.ir import assembly as asm
from finch_core.ir import primitives as prim
from finch_core.ir.assembly_rewrite import Substitution
from finch_core.ir.expressions import Call, Cast, Expr, Load, Var

if TYPE_CHECKING:
    from finch_backend_c.emitter import Emitter

BITS = 64
_WORD = np.dtype(np.uint64)


def gathered(loop: asm.For) -> tuple[Var, Load, bool] | None:
    """The word in whose bits a loop collects bools from memory, from the lowest bit on; the first
    bool's place, and whether they are negated. None for any other loop."""
    if len(loop.lanes) != 1 or loop.lanes[0][1] is not prim.bitor or len(loop.body.statements) != 1:
        return None
    (step,), word = loop.body.statements, loop.lanes[0][0]
    if not isinstance(step, asm.Assign) or step.var != word or word.type != _WORD:
        return None
    test = _shifted(step.value, word, (loop.var - loop.start).cast(_WORD))
    negated = isinstance(test, Call) and test.op is prim.not_
    load = test.args[0] if isinstance(test, Call) and negated else test
    if not isinstance(load, Load) or load.buffer.dtype != np.dtype(bool):
        return None
    first = Substitution(lambda e: loop.start if e == loop.var else None)(load)
    assert isinstance(first, Load)
    return word, first, negated


def _shifted(value: Expr, word: Var, by: Expr) -> Expr | None:
    """The test in ``value`` if that is ``word | (uint64(test) << by)``, else None."""
    if not isinstance(value, Call) or value.op is not prim.bitor or value.args[0] != word:
        return None
    bit = value.args[1]
    if not isinstance(bit, Call) or bit.op is not prim.lshift or bit.args[1] != by:
        return None
    test = bit.args[0]
    return test.value if isinstance(test, Cast) and test.type == _WORD else None


def in_bits(emitter: Emitter, loop: asm.For, plain: tuple[c.Stmt, ...]) -> tuple[c.Stmt, ...]:
    """The C code of a loop that collects bools: packed for 64 of them, else ``plain``."""
    found = gathered(loop)
    assert found is not None
    word, first, negated = found
    turns = c.Binary("-", emitter.node(loop.stop), emitter.node(loop.start))
    full = c.Binary("==", turns, c.Number(str(BITS)))
    bits: c.Expr = c.Call("packed", (emitter.past(first.buffer, first.index),))
    fill = c.Assign(emitter.node(word), c.Unary("~", bits) if negated else bits, "|=")
    return (c.If(full, c.Block((fill,)), c.Block(plain)),)
