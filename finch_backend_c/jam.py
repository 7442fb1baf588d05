"""Unroll and jam: sums of several turns are computed side by side, in an array that the compiler
keeps in vector registers.

    const int64_t i_tiles = (stop - start) / 16;
    for (int64_t i_tile = 0; i_tile < i_tiles; i_tile++) {
        const int64_t i_at = start + i_tile * 16;
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
    }
    for (int64_t i = start + i_tiles * 16; i < stop; i++) (...)

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
"""The turns that are made at a time."""


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
    type, start, stop = ctype(concrete(loop.var.type)), *map(emitter.node, (loop.start, loop.stop))
    tiles, tile, at = (c.Name(emitter.scope.fresh(f"{name}_{w}")) for w in ("tiles", "tile", "at"))
    array = c.Name(emitter.scope.fresh(f"{emitter.scope.variable(begin.var.name)}_tile"))
    turns = c.Number(str(TURNS))

    def each(*statements: asm.Statement, pragma: str = "") -> c.For:
        """Statements for each turn of a tile, whose sums are elements of the array."""
        k = c.Name(emitter.loop_name("k"))
        index = c.Declare(f"const {type}", name, c.Binary("+", at, k))
        with emitter.replaced({begin.var.name: c.Subscript(array, k)}):
            body = c.Block((index, *emitter.block(asm.Block(statements)).statements))
        return c.For(type, k.text, c.Number("0"), turns, body, pragma=pragma)

    once, terms = _invariant(loop, begin, inner)
    index = emitter.scope.variable(inner.var.name)
    added = c.Block((*emitter.block(asm.Block(once)).statements, each(*terms, pragma="omp simd")))
    after = c.Binary("+", start, c.Binary("*", tiles, turns))
    body = c.Block(
        (
            c.Declare(f"const {type}", at.text, c.Binary("+", start, c.Binary("*", tile, turns))),
            c.Declare(emitter.variable_type(begin.var), f"{array.text}[{TURNS}]"),
            each(asm.Assign(begin.var, begin.value)),
            c.For(
                ctype(concrete(inner.var.type)), index, emitter.node(inner.start),
                emitter.node(inner.stop), added,
            ),
            each(end),
        )
    )  # fmt: skip
    one_by_one = emitter.block(asm.Block((begin, inner, end)))
    count = c.Binary("/", c.Binary("-", stop, start), turns)
    return (
        c.Declare(f"const {type}", tiles.text, count),
        c.For(type, tile.text, c.Number("0"), tiles, body),
        c.For(type, name, after, stop, one_by_one),
    )


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
