"""Unroll and jam: sums of several turns are computed side by side, in an array that the compiler
keeps in vector registers.

    int64_t i_at = start;
    while (stop - i_at >= 16) {
        double t_tile[16];
        for (int64_t k = 0; k < 16; k++) {
            const int64_t i = i_at + k;
            t_tile[k] = y[i];
        }
        for (int64_t q = 0; q < m; q++) {
            #pragma omp simd
            for (int64_t k = 0; k < 16; k++) {
                const int64_t i = i_at + k;
                t_tile[k] += a[q * n + i] * x[q];
            }
        }
        for (int64_t k = 0; k < 16; k++) {
            const int64_t i = i_at + k;
            y[i] = t_tile[k];
        }
        i_at += 16;
    }
    if (stop - i_at >= 8) (...)  // 8 in the same way, once, then 4 and 2
    if (i_at < stop) (...)

Compilers unroll loops of 16 turns altogether, and only then find registers for the array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from finch_backend_c import ctree as c
from finch_backend_c.spelling import ctype
from finch_core.ir import assembly as asm
from finch_core.ir.assembly_rewrite import read_names
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Expr, Literal, Var
from finch_core.records import evolve

if TYPE_CHECKING:
    from finch_backend_c.emitter import Emitter

TURNS = 16
"""The turns that are made at a time, as long as there are so many."""


def jammed(emitter: Emitter, loop: asm.For) -> tuple[c.Stmt, ...]:
    """Emit a loop whose ``jam`` permits this: nothing if it has no longer the form for it."""
    if len(loop.body.statements) != 3 or not _is_name(loop.start) or not _is_name(loop.stop):
        return ()
    begin, inner, end = loop.body.statements
    if not (
        isinstance(begin, asm.Let)
        and begin.mutable
        and concrete(begin.var.type).kind in "iuf"
        and isinstance(inner, asm.For)
        and isinstance(end, asm.Store)
    ):
        return ()
    for s in inner.body.statements:
        adds = isinstance(s, asm.Assign) and s.var == begin.var
        if not adds and not isinstance(s, (asm.Let, asm.Comment)):
            return ()
    return _tiles(emitter, loop, begin, evolve(inner, lanes=()), end)


def _is_name(expr: Expr) -> bool:
    return isinstance(expr, (Var, Literal))


def _tiles(
    emitter: Emitter, loop: asm.For, begin: asm.Let, inner: asm.For, end: asm.Store
) -> tuple[c.Stmt, ...]:
    name = emitter.scope.variable(loop.var.name)
    at = c.Name(emitter.scope.fresh(f"{name}_at"))
    type, start, stop = ctype(concrete(loop.var.type)), *map(emitter.node, (loop.start, loop.stop))
    once, terms = _invariant(loop, begin, inner)

    def tile(turns: int) -> c.Block:
        """As many turns from ``at`` on, whose sums are elements of an array."""
        array = c.Name(emitter.scope.fresh(f"{emitter.scope.variable(begin.var.name)}_tile"))

        def each(*statements: asm.Statement, pragma: str = "") -> c.For:
            k = c.Name(emitter.loop_name("k"))
            index = c.Declare(f"const {type}", name, c.Binary("+", at, k))
            with emitter.replaced({begin.var.name: c.Subscript(array, k)}):
                body = c.Block((index, *emitter.block(asm.Block(statements)).statements))
            return c.For(type, k.text, c.Number("0"), c.Number(str(turns)), body, pragma=pragma)

        index = emitter.scope.variable(inner.var.name)
        shared = emitter.block(asm.Block(once)).statements
        return c.Block((
            c.Declare(emitter.variable_type(begin.var), f"{array.text}[{turns}]"),
            each(asm.Assign(begin.var, begin.value)),
            c.For(
                ctype(concrete(inner.var.type)), index, emitter.node(inner.start),
                emitter.node(inner.stop), c.Block((*shared, each(*terms, pragma="omp simd"))),
            ),
            each(end),
            c.Assign(at, c.Number(str(turns)), "+="),
        ))  # fmt: skip

    def left(turns: int) -> c.Expr:
        return c.Binary(">=", c.Binary("-", stop, at), c.Number(str(turns)))

    most = c.While(left(TURNS), tile(TURNS))
    rest, turns = list[c.Stmt](), TURNS
    while turns > 2:
        turns //= 2
        rest.append(c.If(left(turns), tile(turns)))
    index = c.Declare(f"const {type}", name, at)
    one = emitter.block(asm.Block((begin, inner, end))).statements
    rest.append(c.If(c.Binary("<", at, stop), c.Block((index, *one))))
    return c.Declare(type, at.text, start), most, *rest


def _invariant(
    loop: asm.For, begin: asm.Let, inner: asm.For
) -> tuple[tuple[asm.Statement, ...], tuple[asm.Statement, ...]]:
    """The declarations of a term that all turns share, and the other statements."""
    own, once, terms = {loop.var.name, begin.var.name}, list[asm.Statement](), list[asm.Statement]()
    for statement in inner.body.statements:
        shared = isinstance(statement, asm.Let) and not read_names(statement.value) & own
        if isinstance(statement, asm.Let) and not shared:
            own.add(statement.var.name)
        (once if shared else terms).append(statement)
    return tuple(once), tuple(terms)
