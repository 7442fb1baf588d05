"""Privatised scatters: sums are accumulated in four interleaved copies of each element.

    int64_t bins_bank[64];
    __builtin_memset(bins_bank, 0, sizeof bins_bank);
    for (int64_t x = 0; x < n; x++) bins_bank[(grey[x] << 2) + (x & 3)]++;
    for (int64_t k = 0; k < 16; k++) {
        const int64_t sum = bins_bank[4 * k] + bins_bank[4 * k + 1] + (...);
        if (sum != 0) bins[k] += sum;
    }

Elements that were not updated may be out of bounds of the buffer, and are not written back. (With
an initializer instead of ``memset`` gcc aligns the stack, which costs a register in the loop.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from finch_backend_c import ctree as c
from finch_backend_c.spelling import ctype
from finch_core.ir import assembly as asm
from finch_core.ir.expressions import Buffer

if TYPE_CHECKING:
    from finch_backend_c.emitter import Emitter

COPIES, SHIFT = 4, 2


def in_banks(emitter: Emitter, loop: asm.For) -> tuple[c.Stmt, ...]:
    """Emit a loop whose ``banks`` permit private copies."""
    arrays = {b: emitter.scope.fresh(f"{b.name}_bank") for b, _ in loop.banks}
    with emitter.banked({b.name: c.Name(array) for b, array in arrays.items()}):
        body = emitter.emit(attrs.evolve(loop, banks=()))
    return (
        *(part for b, count in loop.banks for part in _declared(b, arrays[b], count)),
        *body,
        *(_added_up(emitter, b, arrays[b], count) for b, count in loop.banks),
    )


def place(index: c.Expr, turn: str) -> c.Expr:
    """The position of an element's copy in an iteration of the loop."""
    copy = c.Binary("&", c.Name(turn), c.Number(str(COPIES - 1)))
    return c.Binary("+", c.Binary("<<", index, c.Number(str(SHIFT))), copy)


def _declared(buffer: Buffer, array: str, count: int) -> tuple[c.Stmt, ...]:
    size = c.Call("sizeof", (c.Name(array),))
    zeros = c.Call("__builtin_memset", (c.Name(array), c.Number("0"), size))
    name = f"{array}[{COPIES * count}]"
    return c.Declare(ctype(buffer.dtype), name), c.Evaluate(zeros)


def _added_up(emitter: Emitter, buffer: Buffer, array: str, count: int) -> c.Stmt:
    """Add the copies of each element to the element."""
    k, total = c.Name(emitter.loop_name("k")), c.Name(emitter.loop_name("sum"))
    first = c.Binary("*", c.Number(str(COPIES)), k)
    places = [first, *(c.Binary("+", first, c.Number(str(n))) for n in range(1, COPIES))]
    parts: list[c.Expr] = [c.Subscript(c.Name(array), at) for at in places]
    while len(parts) > 1:
        parts = [c.Binary("+", a, b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    add = c.Assign(c.Subscript(emitter.buffer(buffer), k), total, "+=")
    body = (
        c.Declare(f"const {ctype(buffer.dtype)}", total.text, parts[0]),
        c.If(c.Binary("!=", total, c.Number("0")), c.Block((add,))),
    )
    return c.For("int64_t", k.text, c.Number("0"), c.Number(str(count)), c.Block(body))
