"""ToeplitzTensor: ``A[i + j]``, a dimension indexed by a sum (paper, Table "Wrapper tensors")."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from finch_core.errors import DimensionMismatch, count
from finch_core.interface.around import Around
from finch_core.interface.tensorlike import Constant, Discard, TensorLike
from finch_core.interface.wrapper_examples import Example, View
from finch_core.ir.expressions import Access, Call, Expr, Modified
from finch_core.ir.program import Extent
from finch_core.level import Format, Mode
from finch_core.looplets import Lookup, Looplet
from finch_core.looplets.transform import Transform
from finch_core.plugins import hookimpl
from finch_core.records import evolve, frozen
from finch_core.runtime.wrapping import Seen, Wrapped, WrapperTensor, plus, seen, tensor_of, whole
from finch_core.symbolic.affine import Scope, affine
from finch_wrappers.bounded import bounded
from finch_wrappers.offset import Offset

if TYPE_CHECKING:
    from finch_core.interface.context import Context


@frozen
class Toeplitz(Around):
    """``inner`` with dimension ``k`` replaced by two: the element at ``i, j`` is that of ``inner``
    at ``i + j``.

    Neither of the two determines the extent of a loop. Along the first there is a ``Lookup`` of
    shifted tensors, whose reads out of bounds fail.
    """

    inner: TensorLike
    k: int

    def __str__(self) -> str:
        return f"toeplitz({self.inner}, {self.k})"

    @property
    def ndim(self) -> int:
        return self.inner.ndim + 1

    def level_of(self, dim: int) -> Format | None:
        return None if dim == self.k else self.inner.level_of(dim - (dim > self.k))

    def protocol_of(self, dim: int) -> str:
        return "" if dim == self.k else self.inner.protocol_of(dim - (dim > self.k))

    @property
    def dims(self) -> tuple[Extent | None, ...]:
        dims = self.inner.dims
        return (*dims[: self.k], None, None, *dims[self.k + 1 :])

    def unfurl(self, ctx: Context, mode: Mode, protocol: str) -> Looplet:
        if self.k > 0:
            return Transform(self._around).looplet(self.inner.unfurl(ctx, mode, protocol))
        rest = (None,) * (self.inner.ndim - 1)
        bounded = Bounded(self.inner, (True, *rest))
        return Lookup(lambda ctx, i: Offset(bounded, (i, *rest)))

    def _around(self, sub: TensorLike) -> TensorLike:
        if isinstance(sub, Discard):
            return evolve(sub, rank=sub.rank + 1)
        found = Toeplitz(sub, self.k - 1)
        if isinstance(sub, Constant):
            return evolve(sub, rank=found.ndim, extents=found.dims if sub.extents else ())
        return found


class Bounded(Wrapped):
    """``inner``, whose reads out of bounds along the outermost dimension fail."""

    __slots__ = ()

    def unfurl(self, ctx: Context, mode: Mode, protocol: str) -> Looplet:
        return bounded(ctx, self.inner, self.inner.unfurl(ctx, mode, protocol))


class ToeplitzTensor(WrapperTensor):
    """``toeplitz(A, k)[..., i, j, ...]`` is ``A[..., i + j, ...]``."""

    name: ClassVar[str] = "toeplitz"
    without_array: ClassVar[str] = "two of its indices are added, and have no ranges of their own"

    @property
    def ndim(self) -> int:
        return int(self.tensor.ndim) + 1

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of indices of each dimension at which there is an element: the two that are
        added have as many each as the dimension that they stand for."""
        shape, k = self.tensor.shape, self.key
        return (*shape[:k], shape[k], *shape[k:])

    def params(self, scalars: Any) -> Any:
        return self.key

    def dense_access(self, node: Access) -> Expr:
        return _summed(node, self.key)

    @staticmethod
    def match_access(node: Access, scope: Scope) -> Access | None:
        """``A[..., j + k, ...]`` -> ``toeplitz(A, n)[..., j, k, ...]`` where ``j`` is fixed outside
        the loop of ``k``."""
        argument = seen(node, ToeplitzTensor)
        if argument is not None:
            return evolve(_summed(node, argument.params), tensor=argument.inner)
        if isinstance(node.tensor, Seen):
            return None
        for k, index in enumerate(node.indices):
            found = affine(index, scope) if isinstance(index, Call) else None
            if found is not None and found.sign == 1 and scope.ready(found.shift):
                shift = Modified("given", found.shift)
                indices = (*node.indices[:k], shift, found.index, *node.indices[k + 1 :])
                return evolve(node, tensor=Toeplitz(node.tensor, k), indices=indices)
        return None

    @staticmethod
    def examples(view: View) -> Iterator[Example]:
        """One example for each dimension."""
        for dim in range(view.ndim):
            yield _example(view, dim)


def _example(view: View, dim: int) -> Example:
    (start, stop), before, after = view.ranges[dim], view.ranges[:dim], view.ranges[dim + 1 :]
    most = (stop - start + 1) // 2  # so many starts, and as many steps from the last as there are
    steps = stop - start - most + 1 if most else 0
    seen = view.moved(
        lambda index: (*index[:dim], index[dim] + index[dim + 1], *index[dim + 2 :]),
        ranges=(*before, (start, start + most), (0, steps), *after),
        sized=(*view.sized[:dim], False, False, *view.sized[dim + 1 :]),
    )
    return Example(lambda tensor: toeplitz(tensor, dim), seen)


def _summed(node: Access, k: int) -> Access:
    """An access with indices ``k`` and ``k + 1`` replaced by their sum."""
    indices = node.indices
    both = plus(indices[k], indices[k + 1])
    return evolve(node, indices=(*indices[:k], both, *indices[k + 2 :]))


def toeplitz(tensor: Any, dim: int = 0) -> ToeplitzTensor:
    """A view of ``tensor`` with dimension ``dim`` replaced by two, whose indices are added:
    ``toeplitz(A, 0)[i, j]`` is ``A[i + j]``.

    The two dimensions do not determine the extents of loops. Raises ``DimensionMismatch`` if
    ``tensor`` has no dimension ``dim``, and ``FormatError`` if ``dim`` is no integer.
    """
    dim, tensor = whole(dim, "a dimension"), tensor_of(tensor)
    check_dimension(tensor, dim)
    return ToeplitzTensor(tensor, dim)


def check_dimension(tensor: Any, dim: int) -> None:
    """Raise ``DimensionMismatch`` if ``tensor`` has no dimension ``dim``."""
    if not 0 <= dim < tensor.ndim:
        raise DimensionMismatch(
            f"there is no dimension {dim} in a tensor of {count(tensor.ndim, 'dimension')}",
            hint="dimensions count from 0",
        )


@hookimpl
def finch_wrapper() -> type[ToeplitzTensor]:
    """Register ``toeplitz``."""
    return ToeplitzTensor
