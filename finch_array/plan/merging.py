"""Kernels of a plan made one, and the masks of a kernel in its value."""

from __future__ import annotations

from collections.abc import Sequence

from finch_array.plan.kernels import (
    Book,
    Kernel,
    result_fill,
)
from finch_array.plan.normal import indices_of
from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Access, Call, Expr, Literal
from finch_core.ir.operators import cast_value
from finch_core.records import evolve


def merged(kernels: Sequence[Kernel], book: Book) -> list[Kernel]:
    """The last kernel, a product without a reduction, as a part of those before where it is that
    little: factors move into the kernel of another, and a kernel of one result vanishes."""
    if len(kernels) < 2:
        return list(kernels)
    *before, last = kernels
    results = {k.name: k for k in before}
    for factor in last.factors:
        inner = results.get(_name(factor))
        if inner is None or inner.op is None or last.op is not None:
            continue
        moved = [f for f in last.factors if f is not factor and _moves(f, inner, results, book)]
        if len(moved) + 1 < len(last.factors) or set(inner.out) != set(last.out):
            continue
        if not moved and inner.out == last.out:
            return [*(k for k in before if k is not inner), evolve(inner, name=last.name)]
        masks = tuple(m for m in inner.masks if m not in moved)
        made = Kernel(
            last.name, last.out, inner.op, inner.times, (*inner.factors, *moved), masks,
            inner.dtype, last.fixed,
        )  # fmt: skip
        return [*(k for k in before if k is not inner), made]
    return list(kernels)


def _name(factor: Expr) -> str:
    return factor.tensor.name if isinstance(factor, Access) else getattr(factor, "name", "")


def _moves(factor: Expr, inner: Kernel, results: dict[str, Kernel], book: Book) -> bool:
    """Whether a factor may be multiplied before the sum: where it restricts it, or costs little."""
    if not indices_of(factor) <= set(inner.out) or inner.times is None:
        return False
    if any(_name(part) in results for part in factor.walk() if isinstance(part, Access)):
        return False
    if factor in inner.masks or not indices_of(factor):
        return True
    assert inner.pattern is not None
    return inner.visits <= 4 * inner.pattern.entries + 5000


def masked_value(kernel: Kernel, book: Book) -> Expr:
    """The value of a kernel at an index, with its masks."""
    value = kernel.value
    if not kernel.masks:
        return value
    condition: Expr | None = None
    for mask in kernel.masks:
        fill, dtype = book.pattern(mask).fill, concrete(mask.dtype)
        test = mask
        if dtype.kind != "b" or fill:
            test = Call(prim.ne, (mask, Literal(cast_value(fill, dtype), dtype)))
        condition = test if condition is None else Call(prim.and_, (condition, test))
    assert condition is not None
    start = result_fill(kernel, book)
    return Call(prim.ifelse, (condition, value, Literal(start, kernel.dtype, structural=True)))


__all__ = ["masked_value", "merged"]
