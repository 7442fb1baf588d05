"""Makes a failing random program smaller: fewer statements, operands, loops and values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np
from random_tree import For, If, Let, Lit, Put, Random, Read, names_in, rebuilt, statements

from finch_core.plugins import hub
from finch_core.testing import nest


def shrunk(program: Random, fails: Callable[[Random], bool], tries: int = 600) -> Random:
    """A smaller program that ``fails`` too; ``program`` itself where none is found."""
    progress = True
    while progress and tries > 0:
        progress = False
        for smaller in candidates(program):
            tries -= 1
            if fails(smaller):
                program, progress = smaller, True
                break
            if tries <= 0:
                break
    return program


def candidates(program: Random) -> Iterator[Random]:
    for body in bodies(program.body):
        yield tidy(attrs.evolve(program, body=body))
    for k, operand in enumerate(program.operands):
        for smaller in operands(operand):
            changed = (*program.operands[:k], smaller, *program.operands[k + 1 :])
            yield attrs.evolve(program, operands=changed)


def tidy(program: Random) -> Random:
    """Without operands that nothing uses."""
    used: set[str] = set()
    for stmt in program.body:
        used |= names_in(stmt)
    kept = tuple(o for o in program.operands if o.name in used)
    return attrs.evolve(program, operands=kept)


def bodies(body: tuple) -> Iterator[tuple]:
    """Blocks with one thing less."""
    for k, stmt in enumerate(body):
        before, after = body[:k], body[k + 1 :]
        yield (*before, *after)
        if isinstance(stmt, If):
            yield (*before, *stmt.body, *after)
            if stmt.orelse:
                yield (*before, attrs.evolve(stmt, orelse=()), *after)
        if isinstance(stmt, For) and not any(stmt.index in names_in(part) for part in stmt.body):
            yield (*before, *stmt.body, *after)
        for smaller in smaller_statements(stmt):
            yield (*before, smaller, *after)


def smaller_statements(stmt: Any) -> Iterator[Any]:
    for part in ("body", "orelse"):
        for inner in bodies(getattr(stmt, part, ())):
            if inner or part == "orelse":
                yield attrs.evolve(stmt, **{part: inner})
    if isinstance(stmt, (Put, Let)):
        for value in smaller_exprs(stmt.value):
            yield attrs.evolve(stmt, value=value)
    if isinstance(stmt, If):
        for cond in smaller_exprs(stmt.cond):
            yield attrs.evolve(stmt, cond=cond)


def smaller_exprs(expr: Any) -> Iterator[Any]:
    if not isinstance(expr, Lit):
        yield Lit(1)
    if not isinstance(expr, Read):
        yield from expr.children
    for k, child in enumerate(expr.children):
        for smaller in smaller_exprs(child):
            if isinstance(expr, Read) and isinstance(smaller, Lit):
                continue
            yield rebuilt(expr, (*expr.children[:k], smaller, *expr.children[k + 1 :]))


def operands(operand: Any) -> Iterator[Any]:
    """The operand with fewer wrappers, plainer levels, or more fill."""
    if operand.format is None:
        return
    if operand.form != "tensor":
        yield attrs.evolve(operand, form="tensor")
    for k in range(len(operand.wraps)):
        yield attrs.evolve(operand, wraps=(*operand.wraps[:k], *operand.wraps[k + 1 :]))
    levels = operand.format.levels()
    dense = hub().layout("dense")
    kinds = [type(level) for level in levels[:-1]]
    for k, kind in enumerate(kinds):
        if kind is not dense and levels[-1].fields:
            plainer = nest([*kinds[:k], dense, *kinds[k + 1 :]], levels[-1])
            yield attrs.evolve(operand, format=plainer)
    if operand.data is not None:
        yield from data(operand)


def data(operand: Any) -> Iterator[Any]:
    fill = operand.format.fill_value
    for index in zip(*np.nonzero(operand.data != fill), strict=True):
        less = operand.data.copy()
        less[index] = fill
        yield attrs.evolve(operand, data=less)


__all__ = ["shrunk", "statements"]
