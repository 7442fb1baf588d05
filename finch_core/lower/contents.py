"""What is known of the contents of temporaries (``content_ranges``), where they are read, and what
keeps it true, where they are declared and updated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from finch_core.errors import IndexOverflow, OutOfBounds, Span
from finch_core.interface.tensorlike import ZERO, BoundTensor
from finch_core.ir.dtypes import INTP, concrete
from finch_core.ir.expressions import Access, Cast, Expr, Literal, cast
from finch_core.ir.program import Extent, Update
from finch_core.lower.bounds import check_index
from finch_core.records import evolve, frozen
from finch_core.symbolic.prover import split

if TYPE_CHECKING:
    from finch_core.interface.context import Context

Use = tuple[Access, Extent]
"""An access, and the extent of its dimension in which an index must be."""


@frozen
class Content:
    """The elements of a tensor are from 0 up to each of ``stops``.

    ``uses`` are, by the places of updates, the uses as an index that keep what is stored there in
    the range: their checks are emitted with the updates.
    """

    stops: tuple[Expr, ...]
    uses: Mapping[Span | None, Use]


def mark_buffers(contents: Mapping[BoundTensor, Content]) -> None:
    """Note that no element of these tensors is negative, where a buffer holds them as they are."""
    for tensor in contents:
        leaf = tensor.level.levels()[-1]
        if getattr(leaf.format, "layout", "") == "values":
            leaf.parts["val"] = evolve(leaf.buffer("val"), nonnegative=True)


def know_content(ctx: Context, expr: Expr, value: Expr) -> None:
    """Tell the prover the range of ``value``, an immutable variable with what ``expr`` reads."""
    content = ctx.contents.get(ctx.elements.get(plain(expr)))
    if content is not None and ctx.is_constant(split(value)[0]):
        ctx.prover.know_le(ZERO, value)
        for stop in content.stops:
            ctx.prover.know_le(cast(value, INTP) + 1, stop)


def stay_within(ctx: Context, stmt: Update, value: Expr) -> Expr:
    """The ``value`` of an update, after checks that it is in the range of its tensor's content,
    where that is not known."""
    tensor = stmt.target.tensor.root
    content = ctx.contents.get(tensor)
    if content is None or (isinstance(value, Literal) and value.value == 0):
        return value
    stored = value
    value = ctx.bind(f"{tensor}_value", stored)
    know_content(ctx, stored, value)
    at = cast(value, INTP)
    if stmt.span in content.uses:
        access, extent = content.uses[stmt.span]
        check_index(ctx, access, extent, at)
    for stop in content.stops:
        message = f"an element of {tensor} would be {{0}}, which is not from 0 up to {{1}}"
        inside = (at >= 0).and_(at < stop)
        ctx.require(inside, OutOfBounds, message, at, stop, span=stmt.span)
    return value


def check_values(ctx: Context, tensor: BoundTensor) -> None:
    """Fail if the dtype of a tensor cannot tell apart the indices that are its content."""
    content, dtype = ctx.contents.get(tensor), concrete(tensor.format.dtype)
    for stop in () if content is None or np.can_cast(INTP, dtype) else content.stops:
        count, span = count_of(tensor), ctx.spans.get(tensor)
        message = f"{tensor} has the indices of a dimension of size {{0}} as its elements, but "
        message += f"{dtype} has numbers for {count}"
        hint = f"give {tensor} elements of int64"
        ctx.require(stop <= count, IndexOverflow, message, stop, span=span, hint=hint)


def count_of(tensor: BoundTensor) -> int:
    """How many indices the dtype of a tensor can tell apart."""
    return int(np.iinfo(concrete(tensor.format.dtype)).max) + 1


def plain(value: Expr) -> Expr:
    """An integer without casts that keep every value."""
    while isinstance(value, Cast):
        target, source = concrete(value.type), concrete(value.value.dtype)
        if target.kind not in "iu" or source.kind not in "iu" or not np.can_cast(source, target):
            break
        value = value.value
    return value


__all__ = [
    "Content",
    "Use",
    "check_values",
    "count_of",
    "know_content",
    "mark_buffers",
    "plain",
    "stay_within",
]
