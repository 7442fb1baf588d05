"""WindowTensor: a contiguous part of a tensor, indexed from 0 (paper, Table "Wrapper tensors")."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from finch_core.errors import DimensionMismatch, FormatError, count
from finch_core.interface.tensorlike import ZERO, TensorLike
from finch_core.interface.wrapper_examples import Example, Place, View
from finch_core.ir.expressions import Var
from finch_core.ir.program import Extent
from finch_core.looplets import Looplet
from finch_core.looplets.transform import Transform
from finch_core.plugins import hookimpl
from finch_core.runtime.wrapping import Wrapped, WrapperTensor, tensor_of, whole
from finch_wrappers.offset import OffsetTensor, offset
from finch_wrappers.protocolize import ProtocolizedTensor
from finch_wrappers.swizzle import SwizzleTensor

Bounds = tuple[int, int]


class Windowed(Wrapped):
    """``inner`` from index ``part[0]`` up to ``part[1]``, indexed from 0."""

    __slots__ = ()
    verb: ClassVar[str] = "window"
    distinct: ClassVar[bool] = True

    @property
    def whole(self) -> bool:
        return False

    def extent(self, extent: Extent, part: Any) -> Extent:
        return Extent(ZERO, part[1] - part[0])

    def outermost(self, looplet: Looplet, part: Any) -> Looplet:
        return Transform(lambda sub: sub, part[0]).looplet(looplet)


class WindowTensor(WrapperTensor):
    """``window(A, (a, b), None)[i, j]`` is ``A[a + i, j]``, for ``i`` from 0 up to ``b - a``."""

    name: ClassVar[str] = "window"
    has_array: ClassVar[bool] = True
    gives_extents: ClassVar[bool] = True

    def __init__(self, tensor: Any, bounds: tuple[Bounds | None, ...]) -> None:
        self.bounds = bounds
        key = tuple([bound is not None for bound in bounds])
        super().__init__(tensor, key, tuple([x for b in bounds if b is not None for x in b]))
        self._check()

    @classmethod
    def of_valid(cls, tensor: Any, bounds: tuple[Bounds | None, ...]) -> WindowTensor:
        """A window of a tensor or wrapper by bounds that are known to be within it."""
        self = cls.__new__(cls)
        self.tensor, self.bounds = tensor, bounds
        self.key = tuple([bound is not None for bound in bounds])
        self.scalars = tuple([x for b in bounds if b is not None for x in b])
        self.nscalars = len(self.scalars)
        self.sign()
        return self

    def bind(self, inner: TensorLike, scalars: tuple[Var, ...]) -> TensorLike:
        rest = iter(scalars)
        parts = (None if b is None else (next(rest), next(rest)) for b in self.bounds)
        return Windowed(inner, tuple(parts))

    def words(self) -> tuple[Any, ...]:
        self._check()
        return super().words()

    def located(self, coords: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
        inside, places = None, list(coords)
        for k, bound in enumerate(self.bounds):
            if bound is not None:
                within = (coords[k] >= bound[0]) & (coords[k] < bound[1])
                inside = within if inside is None else inside & within
                places[k] = coords[k] - bound[0]
        return inside, places

    def _check(self) -> None:
        check_window(self.bounds, self.tensor.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        pairs = zip(self.bounds, self.tensor.shape, strict=True)
        return tuple([n if b is None else b[1] - b[0] for b, n in pairs])

    def to_numpy(self) -> np.ndarray[Any, Any]:
        slices = tuple(slice(None) if b is None else slice(*b) for b in self.bounds)
        array: np.ndarray[Any, Any] = self.tensor.to_numpy()[slices]
        return array

    @staticmethod
    def examples(view: View) -> Iterator[Example]:
        """The middle part of every dimension, and of the first only."""
        if all(view.sized):
            middles = [(lo + (hi - lo) // 3, hi - (hi - lo) // 4) for lo, hi in view.ranges]
            yield _example(view, tuple(middles))
            yield _example(view, (middles[0], *(None,) * (view.ndim - 1)))


def check_window(bounds: tuple[Bounds | None, ...], shape: tuple[int, ...]) -> None:
    """Raise ``DimensionMismatch`` if a window is not within the tensor, which may have been
    resized."""
    for k, (bound, size) in enumerate(zip(bounds, shape, strict=True)):
        if bound is not None and not 0 <= bound[0] <= bound[1] <= size:
            raise DimensionMismatch(
                f"the window from {bound[0]} up to {bound[1]} is not within dimension {k}, "
                f"of size {size}",
                hint="windows are half-open, 0 <= a <= b <= n",
            )


def _example(view: View, pairs: tuple[Bounds | None, ...]) -> Example:
    cuts = list(zip(pairs, view.ranges, strict=True))
    ranges = tuple(old if p is None else (0, p[1] - p[0]) for p, old in cuts)

    def to(index: Place) -> Place | None:
        if not all(p is None or 0 <= i < p[1] - p[0] for i, p in zip(index, pairs, strict=True)):
            return None
        return tuple(i if p is None else i + p[0] for i, p in zip(index, pairs, strict=True))

    seen = view.moved(to, ranges=ranges)
    return Example(lambda tensor: window(tensor, *pairs), seen, declares=False)


def window(tensor: Any, *bounds: Any) -> Any:
    """A view of a part of ``tensor``: ``window(A, (a, b), None)[i, j]`` is ``A[a + i, j]``, with
    ``b - a`` rows.

    ``bounds`` has a pair of integers or a slice for each dimension, or None for all of it. The
    bounds are passed at run time. A window can be read and updated in place, but not declared.
    Raises ``DimensionMismatch`` for bounds outside the tensor or a wrong number of them, and
    ``FormatError`` around a wrapper without dimensions.
    """
    tensor = tensor_of(tensor)
    _check_dimensions(tensor)
    if len(bounds) != tensor.ndim:
        raise DimensionMismatch(
            f"{count(len(bounds), 'bound')} for {count(tensor.ndim, 'dimension')}",
            hint="pass a pair for each dimension, or None for all of it",
        )
    pairs = tuple(_pair(b, n) for b, n in zip(bounds, tensor.shape, strict=True))
    return window_of(tensor, pairs)


def _pair(bound: Any, size: int) -> Bounds | None:
    if isinstance(bound, slice):
        start, stop, step = bound.indices(size)
        if step != 1:
            raise DimensionMismatch(
                f"a window cannot have a step, and this slice has the step {step}",
                hint="use stride(A, slice(a, b, step)), or pass slice(a, b)",
            )
        return (start, max(start, stop))
    if bound is None:
        return None
    try:
        start, stop = bound
    except (TypeError, ValueError):
        raise FormatError(
            f"the part of a dimension is a pair of integers, not {bound!r}",
            hint="pass a pair for each dimension, or None for all of it: window(A, (a, b), None)",
        ) from None
    return whole(start, "the bound of a window"), whole(stop, "the bound of a window")


def window_of(tensor: Any, pairs: tuple[Bounds | None, ...]) -> Any:
    """A window of a wrapper is the wrapper of a window."""
    if hasattr(tensor, "within"):
        return tensor.within(pairs)
    if isinstance(tensor, SwizzleTensor):
        return SwizzleTensor(
            window_of(tensor.tensor, tuple(pairs[p] for p in tensor.perm)), tensor.perm
        )
    if isinstance(tensor, ProtocolizedTensor):
        return ProtocolizedTensor(window_of(tensor.tensor, pairs), tensor.key)
    if isinstance(tensor, WindowTensor):
        return WindowTensor(tensor.tensor, tuple(map(_moved, pairs, tensor.bounds)))
    if isinstance(tensor, OffsetTensor):
        shifts = tensor.scalars
        moved = (
            None if p is None else (p[0] + d, p[1] + d) for p, d in zip(pairs, shifts, strict=True)
        )
        left = (d if p is None else 0 for p, d in zip(pairs, shifts, strict=True))
        return offset(window_of(tensor.tensor, tuple(moved)), *left)
    return WindowTensor(tensor, pairs)


def has_windows(tensor: Any) -> bool:
    """Whether each wrapper around a tensor leaves dimensions, of which there are windows."""
    return not isinstance(_inside_sized(tensor), WrapperTensor)


def _inside_sized(tensor: Any) -> Any:
    """What is inside of the wrappers that leave dimensions."""
    while isinstance(tensor, (*_SIZED, OffsetTensor)) or hasattr(tensor, "within"):
        tensor = tensor.tensor
    return tensor


def _check_dimensions(tensor: Any) -> None:
    """Refuse a wrapper that leaves no dimensions."""
    tensor = _inside_sized(tensor)
    if isinstance(tensor, WrapperTensor):
        raise FormatError(
            f"the result of {tensor.name} has no dimensions, so there is no window of it",
            hint=f"make the window first, as in {tensor.name}(window(A, (a, b)))",
        )


def require_origin(tensor: Any) -> None:
    """Refuse a wrapper whose indices need not begin at 0."""
    while isinstance(tensor, _SIZED) or hasattr(tensor, "within"):
        tensor = tensor.tensor
    if isinstance(tensor, WrapperTensor):
        raise FormatError(
            f"the result of {tensor.name} has no last index to step back from",
            hint=f"step first, as in {tensor.name}(stride(A, -1))",
        )


_SIZED = (SwizzleTensor, ProtocolizedTensor, WindowTensor)


def _moved(pair: Bounds | None, outer: Bounds | None) -> Bounds | None:
    if pair is None or outer is None:
        return pair or outer
    return (pair[0] + outer[0], pair[1] + outer[0])


@hookimpl
def finch_wrapper() -> type[WindowTensor]:
    """Register ``window``."""
    return WindowTensor
