"""Privatised scatters: sums are accumulated in eight interleaved copies of each element.

    int64_t bins_bank[128];
    __builtin_memset(bins_bank, 0, sizeof bins_bank);
    int64_t x_at = 0;
    const int64_t x_rounds = n - x_at >= 32 ? x_at + (n - x_at) / 8 * 8 : x_at;
    while (x_at < x_rounds) {
        _Pragma("GCC unroll 8")
        for (int64_t copy = 0; copy < 8; copy++) {
            const int64_t x = x_at + copy;
            bins_bank[(grey[x] << 3) + (copy & 7)]++;
        }
        x_at += 8;
    }
    for (int64_t x = x_at; x < n; x++) bins_bank[(grey[x] << 3) + (x & 7)]++;
    for (int64_t k = 0; k < 16; k++) {
        const int64_t sum = bins_bank[8 * k] + bins_bank[8 * k + 1] + (...);
        if (sum != 0) bins[k] += sum;
    }

With the turns of a round spelt out, the copy is a constant. A loop around loops is left as it is.
Where a turn does nothing unless a byte is set, of bytes one behind another (a mask), the eight of a
round are one word, and a round of which it is 0 is left out:

    uint64_t word;
    __builtin_memcpy(&word, mask + x_at, 8);
    if (word != 0) ...

Elements that were not updated may be out of bounds of the buffer, and are not written back. (With
an initializer instead of ``memset`` gcc aligns the stack, which costs a register in the loop.)
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from finch_backend_c import ctree as c
from finch_backend_c.spelling import ctype, memory
from finch_core.ir import assembly as asm
from finch_core.ir import primitives as prim
from finch_core.ir.assembly_rewrite import in_terms_of, summand
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Buffer, Call, Cast, Expr, Literal, Load
from finch_core.ir.strides import stride_along
from finch_core.records import evolve

if TYPE_CHECKING:
    from finch_backend_c.emitter import Emitter

COPIES, SHIFT = 8, 3

LONG = 32
"""The fewest turns of a loop that goes in rounds: what goes before and after them takes longer than
a short run, whose length is not predicted."""

PLAIN = asm.Let | asm.Assign | asm.Store | asm.If
"""Statements of a loop whose turns are spelt out."""


def in_banks(emitter: Emitter, loop: asm.For) -> tuple[c.Stmt, ...]:
    """Emit a loop whose ``banks`` permit private copies."""
    arrays = {b: emitter.scope.fresh(f"{b.name}_bank") for b, _ in loop.banks}
    with emitter.banked({b.name: c.Name(array) for b, array in arrays.items()}):
        body = emitter.emit(evolve(loop, banks=()))
    return (
        *(part for b, count in loop.banks for part in _declared(b, arrays[b], count)),
        *body,
        *(_added_up(emitter, b, arrays[b], count) for b, count in loop.banks),
    )


def in_rounds(emitter: Emitter, loop: asm.For) -> tuple[c.Stmt, ...]:
    """Emit a loop that updates private copies, so that each of the turns of a round has its own."""
    type, x = ctype(concrete(loop.var.type)), emitter.scope.variable(loop.var.name)
    copy, copies = emitter.loop_name("copy"), c.Number(str(COPIES))
    names = (emitter.scope.fresh(f"{x}_{end}") for end in ("at", "stop", "rounds"))
    at, stop, rounds = map(c.Name, names)
    left = c.Binary("-", stop, at)
    whole = c.Binary("*", c.Binary("/", left, copies), copies)
    with emitter.turning(copy):
        inner = emitter.block(loop.body)
    turn = c.Declare(f"const {type}", x, c.Binary("+", at, c.Name(copy)))
    each: c.Stmt = c.For(
        type, copy, c.Number("0"), copies, c.Block((turn, *inner.statements)),
        pragma=f"GCC unroll {COPIES}",
    )  # fmt: skip
    byte = _mask(loop)
    turns = (each,) if byte is None else _unless_clear(emitter, loop, byte, at, each)
    with emitter.turning(x):
        rest = emitter.block(loop.body)
    long = c.Binary(">=", left, c.Number(str(LONG)))
    return (
        c.Declare(type, at.text, emitter.node(loop.start)),
        c.Declare(f"const {type}", stop.text, emitter.node(loop.stop)),
        c.Declare(f"const {type}", rounds.text, c.Ternary(long, c.Binary("+", at, whole), at)),
        c.While(c.Binary("<", at, rounds), c.Block((*turns, c.Assign(at, copies, "+=")))),
        c.For(type, x, at, stop, rest),
    )


def _unless_clear(
    emitter: Emitter, loop: asm.For, byte: Load, turn: c.Expr, each: c.Stmt
) -> tuple[c.Stmt, ...]:
    """The turns of a round, from ``turn`` on, unless the bytes of all of them are 0."""
    word = c.Name(emitter.scope.fresh("word"))
    with emitter.replaced({loop.var.name: turn}):
        begin = emitter.past(byte.buffer, byte.index)
    load = c.Call("__builtin_memcpy", (c.Unary("&", word), begin, c.Number(str(COPIES))))
    return (
        c.Declare("uint64_t", word.text),
        c.Evaluate(load),
        c.If(c.Binary("!=", word, c.Number("0")), c.Block((each,))),
    )


def _mask(loop: asm.For) -> Load | None:
    """The byte of each turn, one behind another, without which it does nothing; None if there is no
    such byte."""
    lets = [s for s in loop.body.statements if isinstance(s, asm.Let) and not s.mutable]
    meanings: dict[Expr, Expr] = {s.var: s.value for s in lets}
    stored = {s.buffer.name for s in loop.walk() if isinstance(s, asm.Store)}
    found: set[Load | None] = set()
    for statement in loop.body.statements:
        if isinstance(statement, asm.Store):
            added = summand(statement)
            found.add(None if added is None else _without(in_terms_of(added, meanings)))
        elif isinstance(statement, asm.If) and not statement.orelse:
            found.add(_without(in_terms_of(statement.cond, meanings)))
        elif statement not in lets:
            return None
    (byte, *others) = found
    if byte is None or others or byte.buffer.dtype.itemsize != 1 or byte.buffer.name in stored:
        return None
    inside = {loop.var.name, *(s.var.name for s in lets)}
    return byte if stride_along(byte.index, loop.var, inside) == 1 else None


def _without(expr: Expr) -> Load | None:
    """An element, loaded for sure, for which ``expr`` is 0 or false if it is 0; None if there is no
    such element."""
    match expr:
        case Load():
            return expr
        case Cast(value=value) if concrete(expr.type).kind in "biu":
            return _without(value)
        case Call(op=op, args=(first, Literal(value=0))) if op in (prim.ne, prim.gt):
            return _without(first)
        case Call(op=prim.mul, dtype=type, args=(first, second)) if concrete(type).kind in "iu":
            found = _without(first)
            return _without(second) if found is None else found
    return None


def spelt_out(loop: asm.For, buffers: Collection[str]) -> bool:
    """Whether a loop updates private copies of one of these buffers, and has no loop in it."""
    inside = [s for s in loop.walk() if s is not loop]
    stores = (s.buffer.name for s in inside if isinstance(s, asm.Store))
    return all(isinstance(s, PLAIN) for s in inside) and any(name in buffers for name in stores)


def place(index: c.Expr, turn: str) -> c.Expr:
    """The position of an element's copy in an iteration of the loop."""
    copy = c.Binary("&", c.Name(turn), c.Number(str(COPIES - 1)))
    return c.Binary("+", c.Binary("<<", index, c.Number(str(SHIFT))), copy)


def _declared(buffer: Buffer, array: str, count: int) -> tuple[c.Stmt, ...]:
    size = c.Call("sizeof", (c.Name(array),))
    zeros = c.Call("__builtin_memset", (c.Name(array), c.Number("0"), size))
    name = f"{array}[{COPIES * count}]"
    return c.Declare(memory(buffer.dtype), name), c.Evaluate(zeros)


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
