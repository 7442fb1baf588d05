"""Strided loops: a loop that visits every n-th index, whatever pieces it is lowered to.

    for i in range(0, n, 2):                 for q in range(x_q, x_q_stop):
        s[()] += x[i]              ->            i = x_idx[q]
                                                 if i % 2 == 0: s += x_val[q]

A range of indices begins at the first one that is visited; a single index is tested.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from finch_core.ir.expressions import Expr, Literal
from finch_core.looplets.region import Region
from finch_core.records import frozen

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.ir.expressions import Index


@frozen
class LoopStride:
    """A loop visits the indices ``first``, ``first + step``, ...; ``step`` is positive."""

    first: Expr
    step: Expr

    def visits(self, index: Expr) -> Expr:
        """The condition that an index of the loop is visited."""
        return ((index - self.first) % self.step).eq(0)

    def within(self, ctx: Context, region: Region) -> tuple[Expr, Expr]:
        """The first index of a region that is visited, and the number of them."""
        first = region.start
        if not ctx.prover.equal(first, self.first):
            aligned = first + (self.first - first) % self.step
            first = ctx.bind(f"{region.index.name}_start", aligned)
        return first, turns_of(region.stop - first, self.step)


SHORT = 1 << 31
"""Steps below it do not make a loop that could end longer than the largest integer."""


def turns_of(length: Expr, step: Expr) -> Expr:
    """How many multiples of ``step``, which is positive, are from 0 up to ``length``, which is more
    than ``-step``. Where the step may be large, what is added to the length could wrap."""
    if isinstance(step, Literal) and step.value < SHORT:
        return (length + (step - 1)) // step
    return (length - 1) // step + 1


def stride_of(ctx: Context, region: Region) -> LoopStride | None:
    """The stride of a region's loop; None if it visits every index."""
    return ctx.strides.get(region.index)


@contextmanager
def strided(ctx: Context, index: Index, steps: LoopStride | None) -> Iterator[None]:
    """A context in which the loop over ``index`` has a stride (None: every index is visited)."""
    before = ctx.strides
    ctx.strides = {**before, index: steps}
    yield
    ctx.strides = before


__all__ = ["LoopStride", "stride_of", "strided", "turns_of"]
