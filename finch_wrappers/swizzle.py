"""SwizzleTensor: a lazily transposed tensor, which wrapperization removes (paper, Table "Wrapper
tensors"): ``swizzle(A, perm)[idx...]`` is ``A[idx[perm]...]``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, ClassVar

import numpy as np

from finch_core.errors import DimensionMismatch, count
from finch_core.interface.around import Around
from finch_core.interface.array_methods import ArrayMethods
from finch_core.interface.signatures import Signature, wrapped_signature
from finch_core.interface.tensorlike import TensorLike
from finch_core.interface.wrapper_examples import Example, View
from finch_core.ir.expressions import Access, Expr, Index, Var
from finch_core.ir.program import Extent
from finch_core.plugins import hookimpl
from finch_core.records import evolve, frozen
from finch_core.runtime.convert import stored_coordinates
from finch_core.runtime.tensor import Tensor
from finch_core.runtime.wrapping import Signed, tensor_of, whole


@cache
def _inverse(perm: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(perm.index(k) for k in range(len(perm)))


class SwizzleTensor(Signed, ArrayMethods):
    """A tensor whose dimension ``perm[k]`` is dimension ``k`` of the wrapped one."""

    name: ClassVar[str] = "swizzle"
    permutes: ClassVar[bool] = True
    has_array: ClassVar[bool] = True
    gives_extents: ClassVar[bool] = True
    nscalars: ClassVar[int] = 0
    signature: Signature

    def __init__(self, tensor: Any, perm: tuple[int, ...]) -> None:
        tensor = tensor_of(tensor)
        perm = tuple(whole(p, "an entry of a permutation") for p in perm)
        if sorted(perm) != list(range(tensor.ndim)):
            raise DimensionMismatch(
                f"{perm} is no permutation of {count(tensor.ndim, 'dimension')}",
                hint=f"as in swizzle(A, {tuple(reversed(range(tensor.ndim)))})",
            )
        self._set(tensor, perm)

    def _set(self, tensor: Any, perm: tuple[int, ...]) -> None:
        self.tensor, self.perm, self._order = tensor, perm, _inverse(perm)
        self.sign()

    def sign(self) -> None:
        """Set the signature by the other attributes."""
        self.signature = wrapped_signature(self, self.tensor.signature, self.perm)

    @classmethod
    def of_valid(cls, tensor: Any, perm: tuple[int, ...]) -> SwizzleTensor:
        """A swizzle of a tensor or wrapper by a tuple of ints that is known to be a permutation."""
        self = cls.__new__(cls)
        self._set(tensor, perm)
        return self

    @classmethod
    def wrap(cls, tensor: Any, perm: tuple[int, ...]) -> SwizzleTensor:
        return cls(tensor, perm)

    # -- as an argument -----------------------------------------------------------------

    def bind(self, inner: TensorLike, scalars: tuple[Var, ...]) -> TensorLike:
        return Swizzled(inner, self.perm)

    def words(self) -> tuple[Any, ...]:
        words: tuple[Any, ...] = self.tensor.words()
        return words

    @property
    def memory(self) -> Any:
        return self.tensor.memory

    def adopt_moved(self, kernel: Any, keep: bool = False) -> None:
        self.tensor.adopt_moved(kernel, keep)

    def fill(self, shape: tuple[int, ...]) -> None:
        """Set the shape of this view, and every element to the fill value (see ``Tensor.fill``)."""
        given = isinstance(shape, (tuple, list))  # the tensor refuses others
        self.tensor.fill(tuple(shape[p] for p in self.perm) if given else shape)

    def dense_access(self, node: Access) -> Expr:
        """The access of the wrapped tensor that is equivalent to an access of this one."""
        return evolve(node, indices=tuple(node.indices[p] for p in self.perm))

    def dense_result(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The array of this view, given the array of the wrapped tensor."""
        return array.transpose(self._seen(range(self.ndim)))

    # -- as a tensor --------------------------------------------------------------------

    @property
    def ndim(self) -> int:
        return len(self.perm)

    @property
    def shape(self) -> tuple[int, ...]:
        shape = self.tensor.shape
        return tuple([shape[k] for k in self._order])

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.tensor.dtype
        return dtype

    @property
    def fill_value(self) -> Any:
        return self.tensor.fill_value

    def to_numpy(self) -> np.ndarray[Any, Any]:
        """A dense array of the same values: a transposed view of the wrapped tensor's array."""
        array: np.ndarray[Any, Any] = self.tensor.to_numpy().transpose(self._seen(range(self.ndim)))
        return array

    def structure(self) -> np.ndarray[Any, Any]:
        """Which elements are stored, as ``to_numpy`` gives their values."""
        stored: np.ndarray[Any, Any] = self.tensor.structure()
        return stored.transpose(self._seen(range(self.ndim)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.to_numpy(), dtype=dtype, copy=copy)

    def coordinates(self) -> tuple[tuple[int, ...], list[Any], Any]:
        """The shape, the stored indices (one array for each dimension) and values, unsorted."""
        _, coords, values = stored_coordinates(self.tensor)
        return self.shape, self._seen(coords), values

    def to(self, format: Any) -> Any:
        """A tensor of this view's values in another format."""
        return Tensor(format, self)

    def _seen(self, parts: Any) -> Any:
        """The items that belong to the wrapped dimensions, in the order of this view's."""
        parts = list(parts)
        return [parts[k] for k in self._order]

    def __repr__(self) -> str:
        return f"swizzle({self.perm}) of\n{self.tensor!r}"

    # -- in a program -------------------------------------------------------------------

    @staticmethod
    def match_access(node: Access, loops: tuple[Index, ...]) -> Access | None:
        """The access of the wrapped tensor, with the indices in its order."""
        if not isinstance(node.tensor, Swizzled):
            return None
        indices = tuple(node.indices[p] for p in node.tensor.perm)
        return evolve(node, tensor=node.tensor.inner, indices=indices)

    @staticmethod
    def examples(view: View) -> Iterator[Example]:
        """The transpose, and a rotation of the dimensions."""
        dims = tuple(range(view.ndim))
        for perm in dict.fromkeys((dims[::-1], (*dims[1:], *dims[:1]))):
            yield _example(view, perm)


def _example(view: View, perm: tuple[int, ...]) -> Example:
    order = [perm.index(k) for k in range(view.ndim)]
    seen = view.moved(
        lambda index: tuple(index[p] for p in perm),
        ranges=tuple(view.ranges[k] for k in order),
        sized=tuple(view.sized[k] for k in order),
    )
    return Example(lambda tensor: swizzle(tensor, perm), seen)


@frozen
class Swizzled(Around):
    """A swizzle in a program: index ``k`` of ``inner`` is index ``perm[k]`` of this."""

    inner: TensorLike
    perm: tuple[int, ...]

    @property
    def ndim(self) -> int:
        return len(self.perm)

    @property
    def dims(self) -> tuple[Extent | None, ...]:
        return self._permuted(self.inner.dims)

    @property
    def sizes(self) -> tuple[Extent | None, ...]:
        return self._permuted(self.inner.sizes)

    def _permuted(self, extents: tuple[Extent | None, ...]) -> tuple[Extent | None, ...]:
        return tuple(extents[self.perm.index(k)] for k in range(self.ndim))

    @property
    def keeps_apart(self) -> bool:
        return self.inner.keeps_apart


def swizzle(tensor: Any, perm: tuple[int, ...]) -> SwizzleTensor:
    """A view of ``tensor`` with its dimensions permuted.

    ``swizzle(A, perm)[idx...]`` is ``A[idx[perm[0]], idx[perm[1]], ...]``; ``swizzle(A, (1, 0))``
    is the transpose. Raises ``DimensionMismatch`` if ``perm`` is no permutation of A's dimensions.
    """
    return SwizzleTensor(tensor, perm)


@hookimpl
def finch_wrapper() -> type[SwizzleTensor]:
    """Register ``swizzle``."""
    return SwizzleTensor
