"""Sizes of tensors in the reference implementation: ``len(A)`` is a number where the program does
not change it, so that ranges and shapes made of it are known before the program runs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from finch_core.ir.expressions import Dimension, Expr, Literal
from finch_core.ir.program import Declare, Local, Program, Stmt
from finch_core.ir.rewrite import rewrite, rewrite_expr
from finch_core.lower.sizes import check_parts
from finch_core.records import evolve


def with_sizes(program: Program, values: Mapping[str, Any], fixed: Collection[str]) -> Program:
    """The program with the sizes of ``values`` as numbers, except of those that it declares and
    that are not ``fixed``; and with those of locals that are made with a shape."""
    declared = {part.tensor for part in program.body.walk() if isinstance(part, Declare)}
    steady = {name for name in values if name in fixed or name not in declared}

    def rule(node: Expr) -> Expr:
        if isinstance(node, Dimension) and (node.tensor in values or node.tensor in shapes):
            shape = values[node.tensor].shape if node.tensor in values else shapes[node.tensor]
            check_parts(node, len(shape), node.span)
        if isinstance(node, Dimension) and node.tensor in steady:
            return Literal(int(values[node.tensor].shape[node.axis]), int)
        shape = shapes.get(node.tensor) if isinstance(node, Dimension) else None
        return node if shape is None else shape[node.axis]  # type: ignore[attr-defined]

    shapes: dict[str, Any] = {}
    locals_ = []
    for local in program.locals:
        local = _sized(local, rule)
        if local.shape is not None:
            shapes[local.name] = local.shape
        locals_.append(local)
    return evolve(program, body=rewrite(program.body, rule), locals=tuple(locals_))


def _sized(local: Local, rule: Any) -> Local:
    shape = local.shape
    if shape is None:
        return local
    sizes = (rewrite_expr(size, rule) if isinstance(size, Expr) else size for size in shape)
    return evolve(local, shape=tuple(map(_lifted, sizes)))


def _lifted(size: Any) -> Expr:
    return size if isinstance(size, Expr) else Literal(size, int)


def dimensions(stmt: Stmt) -> Iterator[Dimension]:
    """The sizes of tensors that a statement's own expressions name."""
    for expr in stmt.exprs:
        yield from (part for part in expr.walk() if isinstance(part, Dimension))


__all__ = ["dimensions", "with_sizes"]
