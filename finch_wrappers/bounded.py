"""Looplets whose indices out of bounds fail where they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from finch_core.interface.tensorlike import TensorLike
from finch_core.ir.program import Extent
from finch_core.looplets import Looplet, Part, Phase, Run, Sequence
from finch_core.looplets.transform import inside
from finch_core.lower.bounds import Beyond

if TYPE_CHECKING:
    from finch_core.interface.context import Context


def bounded(
    ctx: Context, tensor: TensorLike, looplet: Looplet, within: Extent | None = None
) -> Looplet:
    """``looplet`` along the outermost dimension of ``tensor``, whose reads out of bounds fail.

    ``within`` is where it is in bounds, if that is not the dimension's own extent. A dimension
    without bounds stays as it is.
    """
    extent = tensor.dims[0]
    if extent is None:
        return looplet
    start, stop = (extent if within is None else within).children
    span = ctx.spans.get(tensor.root)
    beyond = Run(Beyond(tensor, tensor.ndim - 1, extent.stop, span=span))

    def fenced(part: Part) -> Part:
        return Sequence((Phase(start, beyond), Phase(stop, part), Phase(None, beyond)))

    return inside(looplet, fenced)  # type: ignore[return-value]
