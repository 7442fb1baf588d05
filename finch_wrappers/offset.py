"""OffsetTensor: ``A[i + c]`` for a shift ``c`` that is constant during a call, by shifting the
ranges of looplets (paper, Table "Wrapper tensors")."""

from __future__ import annotations

from collections.abc import Iterator
from operator import add
from typing import TYPE_CHECKING, Any, ClassVar

from finch_core.errors import DimensionMismatch, count
from finch_core.interface.wrapper_examples import Example, Place, View
from finch_core.ir.expressions import Access, Call, Expr, Index, Name, lift
from finch_core.ir.program import Extent
from finch_core.level import Mode
from finch_core.looplets import Lookup, Looplet
from finch_core.looplets.far_ranges import shift_near
from finch_core.looplets.transform import Transform, minus
from finch_core.plugins import hookimpl
from finch_core.records import evolve
from finch_core.runtime.wrapping import Seen, Wrapped, WrapperTensor, plus, seen, tensor_of, whole
from finch_core.symbolic.affine import Scope, affine

if TYPE_CHECKING:
    from finch_core.interface.context import Context


class Offset(Wrapped):
    """``inner`` shifted along each dimension: the element at ``i`` is that of ``inner`` at
    ``i + part``."""

    __slots__ = ()
    verb: ClassVar[str] = "offset"
    distinct: ClassVar[bool] = True
    unchanged: ClassVar[str] = "0"

    def extent(self, extent: Extent, part: Any) -> Extent:
        return Extent(minus(extent.start, part), minus(extent.stop, part))

    @property
    def shifts(self) -> tuple[Expr, ...]:
        pairs = zip(self.inner.dims, self.parts, strict=True)
        own = (part for extent, part in pairs if extent is None and part is not None)
        return (*self.inner.shifts, *own)

    def unfurl(self, ctx: Context, mode: Mode, protocol: str) -> Looplet:
        shift, *rest = self.parts
        if shift is None:
            return super().unfurl(ctx, mode, protocol)
        looplet = evolve(self, parts=(None, *rest)).unfurl(ctx, mode, protocol)
        if not isinstance(looplet, Lookup):
            shift = shift_near(ctx, shift)
        return Transform(lambda sub: sub, shift).looplet(looplet)


class OffsetTensor(WrapperTensor):
    """``offset(A, c, d)[i, j]`` is ``A[i + c, j + d]``."""

    name: ClassVar[str] = "offset"
    without_array: ClassVar[str] = "its indices do not begin at 0"

    def dense_access(self, node: Access) -> Expr:
        shifts = map(lift, self.scalars)
        return evolve(node, indices=tuple(map(plus, node.indices, shifts)))

    @staticmethod
    def match_access(node: Access, scope: Scope) -> Access | None:
        """``A[..., j + c, ...]`` -> ``offset(A, (..., c, ...))[..., j, ...]``."""
        argument = seen(node, OffsetTensor)
        if argument is not None:
            indices = tuple(map(plus, node.indices, argument.params))
            return evolve(node, tensor=argument.inner, indices=indices)
        if isinstance(node.tensor, Seen):
            return None
        for k, index in enumerate(node.indices):
            found = affine(index, scope) if isinstance(index, Call) else None
            if found is not None and found.sign == 1 and is_call_constant(found.shift):
                return Offset.along(node, k, found.shift, found.index)
        return None

    @staticmethod
    def examples(view: View) -> Iterator[Example]:
        """Shifts in both directions."""
        for shifts in ((1, -2, 0, 3), (-1, 0, 2, 0)):
            yield _example(view, shifts[: view.ndim])


def _example(view: View, shifts: Place) -> Example:
    ranges = tuple((lo - c, hi - c) for (lo, hi), c in zip(view.ranges, shifts, strict=True))
    seen = view.moved(lambda index: tuple(map(add, index, shifts)), ranges=ranges)
    return Example(lambda tensor: offset(tensor, *shifts), seen)


def is_call_constant(expr: Expr) -> bool:
    """Whether ``expr`` is constant during a call."""
    return not any(isinstance(node, (Index, Name, Access)) for node in expr.walk())


def offset(tensor: Any, *deltas: Any) -> OffsetTensor:
    """A view of ``tensor`` with shifted indices: ``offset(A, c, d)[i, j]`` is ``A[i + c, j + d]``.

    A dimension with indices from 0 up to ``n`` then has indices from ``-c`` up to ``n - c``. The
    shifts are integers that are passed at run time. Raises ``DimensionMismatch`` unless there is
    one for each dimension, and ``FormatError`` for a shift that is no integer.
    """
    given = deltas[0] if len(deltas) == 1 and isinstance(deltas[0], tuple) else deltas
    tensor = tensor_of(tensor)
    if len(given) != tensor.ndim:
        raise DimensionMismatch(
            f"{count(len(given), 'shift')} for {count(tensor.ndim, 'dimension')}",
            hint="pass one integer for each dimension, 0 for those that are not shifted",
        )
    return OffsetTensor(tensor, (), tuple(whole(d, "a shift") for d in given))


@hookimpl
def finch_wrapper() -> type[OffsetTensor]:
    """Register ``offset``."""
    return OffsetTensor
