"""Programs of requests: loops, accesses, workspaces, and how the result is written.

A result is written in order where the loops allow it: its dimensions are the outermost loops.
Otherwise the dimensions that are not are collected in a workspace that takes writes in any order,
which is read in order afterwards (Gustavson's algorithm is the case of one row at a time).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from finch_core.interface.level import Format
from finch_core.ir import primitives as prim
from finch_core.ir.expressions import Access, Call, Expr, Index, Literal, Modified, Name
from finch_core.ir.operators import Operator
from finch_core.ir.program import (
    Declare,
    Extent,
    Local,
    Loop,
    Program,
    Sequential,
    Sieve,
    Stmt,
    Update,
)
from finch_core.records import evolve, frozen
from finch_levels import Dense, Element, Scalar, SparseByteMap, SparseHash

WORKSPACE, TOTAL = "w", "t"
ROOM = 1 << 24
"""A workspace has memory for each index up to this many; a longer one is a hash table."""


@frozen(eq=False)
class Mark:
    """A row of an operand, copied into the workspace ``name`` inside of the loop ``after``.

    ``source`` is the access, whose last index is ``index``; values are looked up by ``access``.
    """

    name: str
    source: Access
    index: str
    after: str | None
    fill: Literal
    format: Format

    @property
    def access(self) -> Access:
        """The value at the last index, without a walk."""
        return Access(self.name, (Modified("follow", Index(self.index)),))

    @property
    def copied(self) -> tuple[Stmt, ...]:
        """The statements that copy the row."""
        own = Index(f"{self.index}_{self.name}")
        row = Access(self.source.tensor, (*self.source.indices[:-1], own))
        write = Update(Access(self.name, (own,)), None, row)
        return Declare(self.name, self.fill), Loop(own, None, write)


@frozen(eq=False)
class Writing:
    """How the result ``out`` is written.

    ``stored`` are its indices in the order of its storage, ``in_turn`` how many of them are the
    outermost loops. ``start`` is the value that reductions begin with, ``fill`` the value that is
    not stored, ``sieved`` whether values equal to it are left out. ``apart`` asks for a total of
    each element, which is stored when it is complete. ``direct``: the format takes any order.
    """

    stored: tuple[str, ...]
    in_turn: int
    op: Operator | None
    start: Any
    fill: Any
    dtype: np.dtype[Any]
    sieved: bool
    apart: bool
    direct: bool
    extended: frozenset[str]
    workspace: Format | None = None
    marks: tuple[Mark, ...] = ()


def program_of(
    name: str, value: Expr, loops: Sequence[str], writing: Writing, params: Sequence[str]
) -> Program:
    """The program that computes ``value`` at the indices of ``loops``; its result is ``out``."""
    locals_: tuple[Local, ...] = ()
    start = Literal(writing.start, writing.dtype)
    if writing.direct or (writing.in_turn == len(writing.stored) and not writing.apart):
        body = _nest(loops, _write(writing, value), writing)
        init = start if writing.op is not None else Literal(writing.fill, writing.dtype)
    elif writing.apart:
        body, locals_ = _totalled(value, loops, writing, start)
        init = Literal(writing.fill, writing.dtype)
    else:
        body, locals_ = _collected(value, loops, writing, start)
        init = Literal(writing.fill, writing.dtype)
    first = [part for mark in writing.marks if mark.after is None for part in mark.copied]
    whole = Sequential((Declare("out", init), *first, body))
    marks = tuple(Local(mark.name, mark.format) for mark in writing.marks)
    return Program(name, tuple(params), whole, locals_ + marks, ("out",))


def access(name: str, indices: Sequence[str | None]) -> Access:
    """``name[indices]``, where None is the constant 0."""
    return Access(name, tuple(Literal(0, int) if i is None else Index(i) for i in indices))


def on_several_cores(program: Program) -> Program:
    """The program with its outermost loops as parallel loops. The compiler refuses those whose
    turns depend on each other (``RaceError``)."""
    return evolve(program, body=parallel(program.body))


def parallel(stmt: Stmt) -> Stmt:
    """The statement with its outermost loops as parallel loops."""
    if isinstance(stmt, Loop):
        return evolve(stmt, parallel=True)
    return stmt.rebuild(stmt.exprs, tuple(map(parallel, stmt.bodies)))


def _out(writing: Writing) -> Access:
    return access("out", writing.stored)


def _nest(loops: Sequence[str], body: Stmt, writing: Writing) -> Stmt:
    for name in reversed(loops):
        copied = [part for mark in writing.marks if mark.after == name for part in mark.copied]
        body = Sequential((*copied, body)) if copied else body
        given = name in writing.extended
        extent = Extent(Literal(0, int), Name(f"n_{name}")) if given else None
        body = Loop(Index(name), extent, body)
    return body


def _write(writing: Writing, value: Expr) -> Stmt:
    update = Update(_out(writing), writing.op, value)
    if not writing.sieved or writing.op is not None:
        return update
    return Sieve(differs(value, writing.fill, writing.dtype), update)


def differs(value: Expr, fill: Any, dtype: np.dtype[Any]) -> Expr:
    """Whether ``value`` is not the fill; NaN is the fill NaN."""
    if fill == fill:
        return Call(prim.ne, (value, Literal(fill, dtype)))
    return Call(prim.not_, (Call(prim.isnan, (value,)),))


def _totalled(
    value: Expr, loops: Sequence[str], writing: Writing, start: Expr
) -> tuple[Stmt, tuple[Local, ...]]:
    """A scalar collects each element, which is stored when it is complete."""
    total = Access(TOTAL, ())
    outer, inner = loops[: writing.in_turn], loops[writing.in_turn :]
    collect = _nest(inner, Update(total, writing.op, value), writing)
    store: Stmt = Update(_out(writing), None, total)
    if writing.sieved:
        store = Sieve(differs(total, writing.fill, writing.dtype), store)
    body = _nest(outer, Sequential((Declare(TOTAL, start), collect, store)), writing)
    return body, (Local(TOTAL, total_format(writing.start, writing.dtype)),)


def total_format(start: Any, dtype: np.dtype[Any]) -> Format:
    """The format of a variable that collects values of a dtype, from ``start`` on."""
    return Scalar(start, dtype).format


def _collected(
    value: Expr, loops: Sequence[str], writing: Writing, start: Expr
) -> tuple[Stmt, tuple[Local, ...]]:
    """A workspace collects a part of the result, which is then stored in order."""
    outer, inner = loops[: writing.in_turn], loops[writing.in_turn :]
    rest = writing.stored[writing.in_turn :]
    work = access(WORKSPACE, rest)
    collect = _nest(inner, Update(work, writing.op, value), writing)
    store = _nest(
        rest,
        Update(_out(writing), None, work),
        evolve(writing, extended=frozenset(), marks=()),
    )
    body = _nest(outer, Sequential((Declare(WORKSPACE, start), collect, store)), writing)
    assert writing.workspace is not None
    return body, (Local(WORKSPACE, writing.workspace),)


def dense_workspace(ndim: int, dtype: np.dtype[Any]) -> Format:
    """A format for writes of every element; a variable where there are no dimensions."""
    if not ndim:
        return total_format(dtype.type(0), dtype)
    format: Format = Element(dtype.type(0), dtype)
    for _ in range(ndim):
        format = Dense(format)
    return format


def workspace_format(sizes: Sequence[int], leaf: Format, full: bool = False) -> Format:
    """A format for writes in any order: a byte map, or hash tables where there is no memory for
    each index; dense levels where it is ``full``, as every element is written."""
    format = leaf
    if full and math.prod(sizes) <= ROOM:
        for _ in sizes:
            format = Dense(format)
        return format
    if len(sizes) == 1 and sizes[0] <= ROOM:
        return SparseByteMap(leaf)
    for _ in sizes:
        format = SparseHash(format)
    return format


__all__ = [
    "ROOM", "Writing", "access", "dense_workspace", "differs", "on_several_cores", "parallel",
    "program_of", "total_format", "workspace_format",
]  # fmt: skip
