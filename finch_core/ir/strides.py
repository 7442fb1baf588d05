"""Strides: how far the address of each load moves per iteration, to decide on vectorisation."""

from __future__ import annotations

from collections.abc import Iterator

from finch_core.ir import primitives as prim
from finch_core.ir.assembly import For, Let
from finch_core.ir.assembly_rewrite import certain_parts, read_names
from finch_core.ir.dtypes import INTP
from finch_core.ir.expressions import Call, Cast, Expr, Literal, Load, Var

LONG_GATHER = 16
"""The least number of iterations for which a reduction with indirect loads pays in several
lanes."""


def is_shorter(loop: For, iterations: int) -> bool:
    """Whether a loop is known to have fewer iterations."""
    if isinstance(loop.start, Literal) and isinstance(loop.stop, Literal):
        return bool(loop.stop.value - loop.start.value < iterations)
    return False


def strides(loop: For) -> Iterator[tuple[Load, int | None]]:
    """The loads directly in a loop, each before its parts, with their strides.

    A stride is the number of elements per iteration; None if it is unknown or not constant.
    """
    inside = {loop.var.name}
    for statement in loop.body.statements:
        for expr in statement.expressions:
            for node in expr.walk():
                if isinstance(node, Load):
                    yield node, stride_along(node.index, loop.var, inside)
        if isinstance(statement, Let):
            inside.add(statement.var.name)


def stride_along(index: Expr, var: Var, inside: set[str]) -> int | None:
    """The stride of an index along ``var``; None if it is unknown or not constant.

    ``inside`` are the names that the loop declares or changes.
    """
    if index == var:
        return 1
    if isinstance(index, Cast) and index.type == INTP:
        return stride_along(index.value, var, inside)
    if isinstance(index, Call) and index.op in (prim.add, prim.sub):
        first, second = (stride_along(arg, var, inside) for arg in index.args)
        if first is None or second is None:
            return None
        return first + second if index.op is prim.add else first - second
    if isinstance(index, Load) or read_names(index) & inside:
        return None
    return 0


def scattered(loop: For) -> frozenset[Load]:
    """The loads of a loop that are neither invariant nor contiguous; none if one of them may be
    skipped."""
    found = {load for load, step in strides(loop) if step not in (0, 1)}
    return frozenset(found if found <= set(_certain(loop)) else ())


def _certain(loop: For) -> Iterator[Expr]:
    """Expressions that are evaluated in every iteration."""
    for statement in loop.body.statements:
        for expr in statement.expressions:
            yield from certain_parts(expr)
