"""Indices that may be missing: an element at such an index is missing, too.

    x[p[~i]]      ->     x[coalesce(p[~i], 0)] if present(p[~i]) else missing

A loop of a single iteration is put around a statement that reads at such an index
(``lower.concordize``): from ``missing`` to ``missing`` it would leave the statement out.
"""

from __future__ import annotations

import functools
from collections.abc import Set

from finch_core.errors import FormatError, Span
from finch_core.ir import primitives as prim
from finch_core.ir.expressions import Access, Call, Expr, Literal, Modified, Name
from finch_core.ir.missing import Missing, coalesce, present
from finch_core.records import evolve


def may_be_absent(expr: Expr, names: Set[Name]) -> bool:
    """Whether a value, whose accesses have their wrappers, may be missing. ``names`` are those of
    values that may be."""
    if isinstance(expr, Missing):
        return True
    if isinstance(expr, Name):
        return expr in names
    if isinstance(expr, Access):
        filled = expr.tensor.filled_beyond()
        if filled is not None and filled != expr.tensor:
            return True
    found = (may_be_absent(child, names) for child in expr.children)
    return all(found) if isinstance(expr, Call) and expr.op is coalesce else any(found)


def present_indices(access: Access, names: Set[Name]) -> Expr:
    """What the element at these indices is, some of which may be missing."""
    conds: list[Expr] = []
    indices: list[Expr] = []
    for index in access.indices:
        inner = index.index if isinstance(index, Modified) else index
        if may_be_absent(inner, names):
            conds.append(Call(present, (inner,)))
            inner = Call(coalesce, (inner, Literal(0, int)))
            index = evolve(index, index=inner) if isinstance(index, Modified) else inner
        indices.append(index)
    if not conds:
        return access
    found = evolve(access, indices=tuple(indices))
    cond = functools.reduce(lambda a, b: a.and_(b), conds)
    return Call(prim.ifelse, (cond, found, Missing(access.dtype)))


def require_no_absence(
    exprs: tuple[Expr, ...], names: Set[Name], what: str, span: Span | None
) -> None:
    """Refuse values that may be missing where ``what`` begins the message."""
    if any(may_be_absent(expr, names) for expr in exprs):
        raise FormatError(
            f"{what} missing: a permissive read may be out of bounds here",
            span=span,
            hint="give it a value there, as in coalesce(p[~i], 0)",
        )


__all__ = ["may_be_absent", "present_indices", "require_no_absence"]
