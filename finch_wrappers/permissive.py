"""PermissiveTensor: reads out of bounds give ``missing`` (paper, Table "Wrapper tensors")."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from finch_core.errors import DimensionMismatch, count
from finch_core.interface.tensorlike import Constant, Discard, TensorLike
from finch_core.interface.wrapper_examples import Example, View
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Access, Expr, Literal, Modified
from finch_core.ir.missing import Missing
from finch_core.ir.program import Extent
from finch_core.level import Mode
from finch_core.looplets import Looplet, Part, Phase, Run, Sequence, as_looplet, endless
from finch_core.looplets.transform import inside
from finch_core.plugins import hookimpl
from finch_core.records import evolve
from finch_core.runtime.wrapping import Seen, Wrapped, WrapperTensor, seen, tensor_of
from finch_core.symbolic.affine import Scope

if TYPE_CHECKING:
    from finch_core.interface.context import Context


FILL = "fill"


class Permissive(Wrapped):
    """``inner``, extended by ``missing`` out of bounds along dimensions whose part is True, and by
    its fill value along those whose part is ``FILL``.

    Writes out of bounds are dropped. Such a dimension does not determine the extent of a loop.
    """

    __slots__ = ()
    verb: ClassVar[str] = "permissive"
    unchanged: ClassVar[str] = "False"

    def extent(self, extent: Extent, part: Any) -> None:
        return None

    def unfurl(self, ctx: Context, mode: Mode, protocol: str) -> Looplet:
        looplet = super().unfurl(ctx, mode, protocol)
        extent = self.inner.dims[0]
        if self.parts[0] is None or extent is None:
            return looplet
        beyond = Run(self._beyond(mode))
        filled = self.parts[0] == FILL and self.inner.whole  # a part goes on beyond its end

        def padded(part: Part) -> Part:
            whole = endless(ctx, as_looplet(part), beyond.body) if filled else None
            if whole is not None:
                return whole
            phases = (Phase(extent.start, beyond), Phase(extent.stop, part), Phase(None, beyond))
            return Sequence(phases)

        return inside(looplet, padded)  # type: ignore[return-value]

    def filled_beyond(self) -> TensorLike | None:
        inner = self.inner.filled_beyond() or self.inner
        return Permissive(inner, tuple(part and FILL for part in self.parts))

    def around(self, sub: TensorLike) -> TensorLike:
        """This wrapper around a subtensor. One that is all fill keeps its extents, unless it is
        also fill beyond them."""
        whole = all(part in (None, FILL) for part in self.parts[1:])
        if whole and isinstance(sub, Constant) and sub == self._filled(sub.rank):
            return sub
        if isinstance(sub, Constant) and any(self.parts[1:]) and not isinstance(sub.value, Missing):
            dims = sub.extents or self.inner.dims[1:]
            return Permissive(evolve(sub, extents=dims), self.parts[1:])
        return super().around(sub)

    def _beyond(self, mode: Mode) -> TensorLike:
        if mode is Mode.UPDATE:
            return Discard(self.inner, self.ndim - 1)
        if self.parts[0] == FILL:
            return self._filled(self.ndim - 1)
        return Constant(Missing(self.dtype), self.ndim - 1)

    def _filled(self, rank: int) -> Constant:
        """A subtensor of fill values."""
        return Constant(Literal(self.fill_value, concrete(self.dtype), structural=True), rank)


class PermissiveTensor(WrapperTensor):
    """``permissive(A, True, False)[i, j]`` is ``A[~i, j]``."""

    name: ClassVar[str] = "permissive"
    without_array: ClassVar[str] = "indices before 0 and after the last are read, too, as missing"

    def params(self, scalars: Any) -> Any:
        return self.key

    def dense_access(self, node: Access) -> Expr:
        return _marked(node, self.key)

    @staticmethod
    def match_access(node: Access, scope: Scope) -> Access | None:
        """``A[..., ~j, ...]`` -> ``permissive(A, (..., True, ...))[..., j, ...]``."""
        argument = seen(node, PermissiveTensor)
        if argument is not None:
            return evolve(_marked(node, argument.params), tensor=argument.inner)
        if isinstance(node.tensor, Seen):
            return None
        for k, index in enumerate(node.indices):
            if isinstance(index, Modified) and index.modifier == "permissive":
                return Permissive.along(node, k, True, index.index)
        return None

    @staticmethod
    def examples(view: View) -> Iterator[Example]:
        """All dimensions, and the last alone."""
        for first in (True, False):
            yield _example(view, (*(first,) * (view.ndim - 1), True))


def _example(view: View, flags: tuple[bool, ...]) -> Example:
    pairs = list(zip(view.ranges, flags, strict=True))
    ranges = tuple((lo - 2, hi + 2) if flag else (lo, hi) for (lo, hi), flag in pairs)
    sized = tuple(a and not flag for a, flag in zip(view.sized, flags, strict=True))
    seen = evolve(view, ranges=ranges, sized=sized, permissive=True)
    return Example(lambda tensor: permissive(tensor, *flags), seen)


def _marked(node: Access, flags: tuple[bool, ...]) -> Access:
    """An access with ``~`` before the indices whose flag is set."""
    pairs = zip(node.indices, flags, strict=True)
    return evolve(
        node, indices=tuple(Modified("permissive", i) if flag else i for i, flag in pairs)
    )


def permissive(tensor: Any, *dims: Any) -> PermissiveTensor:
    """A view of ``tensor`` that gives ``missing`` out of bounds:
    ``permissive(A, True, False)[i, j]`` is ``A[~i, j]``.

    ``dims`` has one bool for each dimension; without ``dims`` all dimensions are permissive.
    ``coalesce(x, default)`` replaces ``missing`` in a kernel. Raises ``DimensionMismatch`` unless
    there is one bool for each dimension.
    """
    made = dims[0] if len(dims) == 1 and isinstance(dims[0], tuple) else dims
    tensor = tensor_of(tensor)
    flags = tuple(map(bool, made)) or (True,) * tensor.ndim
    if len(flags) != tensor.ndim:
        raise DimensionMismatch(
            f"{count(len(flags), 'bool')} for {count(tensor.ndim, 'dimension')}",
            hint="True where an index may be out of bounds",
        )
    return PermissiveTensor(tensor, flags)


@hookimpl
def finch_wrapper() -> type[PermissiveTensor]:
    """Register ``permissive``."""
    return PermissiveTensor
