"""StrideTensor: ``A[2 * i + 1]`` and ``A[n - 1 - i]``, by striding and reversing looplets, so that
loops visit only what is stored at these indices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from finch_core.errors import DimensionMismatch, FormatError, count
from finch_core.interface.abilities import RANDOM_ACCESS
from finch_core.interface.tensorlike import TensorLike
from finch_core.interface.wrapper_examples import Example, Place, View
from finch_core.ir.expressions import Access, Call, Expr, Literal, Modified, Var, lift
from finch_core.ir.program import Extent
from finch_core.level import Mode
from finch_core.looplets import Looplet, Switch
from finch_core.looplets.far_ranges import shift_near
from finch_core.looplets.reversed import NOWHERE, Reversal, mirrored
from finch_core.looplets.strided import Single, Stride, looked_up
from finch_core.looplets.transform import Transform, minus
from finch_core.plugins import hookimpl
from finch_core.records import evolve, frozen
from finch_core.runtime.wrapping import (
    Seen,
    Wrapped,
    WrapperTensor,
    mapped,
    seen,
    tensor_of,
    whole,
)
from finch_core.symbolic.affine import Scope, scaled
from finch_wrappers.bounded import bounded
from finch_wrappers.offset import is_call_constant
from finch_wrappers.toeplitz import Toeplitz, check_dimension
from finch_wrappers.window import Bounds, check_window, require_origin, window_of

if TYPE_CHECKING:
    from finch_core.interface.context import Context


@frozen
class Step:
    """``factor * i + shift``."""

    factor: Expr
    shift: Expr

    def __str__(self) -> str:
        from finch_core.ir.program_text import expression_text

        return f"{expression_text(self.factor)} * _ + {expression_text(self.shift)}"


@frozen
class SeenSteps(Seen):
    """A tensor seen by steps: ``params`` are the step and the first index of each dimension. It can
    be declared if it has every element."""

    @property
    def whole(self) -> bool:
        return all(abs(step) == 1 for step, _ in self.params)


def _of_steps(extent: Extent | None, step: int) -> Extent | None:
    """The indices of every ``step``-th element of a dimension."""
    if extent is None or step == 1:
        return extent
    length, by = extent.stop - extent.start, abs(step)
    return Extent(lift(0), length if by == 1 else (length + (by - 1)) // by)


class Strided(Wrapped):
    """``inner`` with the element at ``i`` along a dimension that of ``inner`` at
    ``part.factor * i + part.shift``.

    Such a dimension does not determine the extent of a loop; reads out of bounds fail.
    """

    __slots__ = ()
    verb: ClassVar[str] = "stride"
    distinct: ClassVar[bool] = True

    def extent(self, extent: Extent, part: Any) -> None:
        return None

    def unfurl(self, ctx: Context, mode: Mode, protocol: str) -> Looplet:
        if self.parts[0] is None:
            return super().unfurl(ctx, mode, protocol)
        factor = ctx.bind("step", self.parts[0].factor)
        shift = shift_near(ctx, self.parts[0].shift)
        if shift is not self.parts[0].shift:
            near = evolve(self, parts=(Step(factor, shift), *self.parts[1:]))
            return near._unfurl(ctx, factor, mode, protocol)
        return self._unfurl(ctx, factor, mode, protocol)

    def _unfurl(self, ctx: Context, factor: Expr, mode: Mode, protocol: str) -> Looplet:
        looplet = self._shifted(ctx, mode, protocol)
        single = partial(self._shifted, mode=mode, protocol=RANDOM_ACCESS)
        if isinstance(factor, Literal):
            return self._along(ctx, looplet, int(factor.value) > 0, factor, single)
        ahead, back = (self._along(ctx, looplet, sign, factor, single) for sign in (True, False))
        still = looked_up(single, lambda i: lift(0))
        return Switch(factor > 0, ahead, Switch(factor < 0, back, still))

    def _shifted(self, ctx: Context, mode: Mode, protocol: str) -> Looplet:
        """The looplet of ``inner``, with what was at the shift at index 0."""
        looplet = super().unfurl(ctx, mode, protocol)
        return Transform(lambda sub: sub, self.parts[0].shift).looplet(looplet)

    def _along(
        self, ctx: Context, looplet: Looplet, ahead: bool, factor: Expr, single: Single
    ) -> Looplet:
        """``looplet`` at the multiples of ``factor``, which is positive if it goes ``ahead``, with
        checked bounds."""
        ends = self._ends()
        if not ahead:
            reversal, factor = Reversal(single), 0 - factor
            looplet = reversal.looplet(ctx, looplet, ends or NOWHERE)
            ends = ends and (mirrored(ends[1]), mirrored(ends[0]))
            single = lambda ctx: reversal.looked_up()  # noqa: E731
        if factor != lift(1):
            stride = Stride(factor, single)
            looplet = stride.looplet(ctx, looplet, ends and ends[1])
            ends = ends and (stride.outer(ends[0]), stride.outer(ends[1]))
        if ends is None:
            return looplet
        ctx.prover.know_le(*ends)
        return bounded(ctx, self.inner, looplet, Extent(*ends))

    def _ends(self) -> tuple[Expr, Expr] | None:
        """Where the outermost dimension of ``inner`` starts and stops after the shift."""
        extent, shift = self.inner.dims[0], self.parts[0].shift
        return None if extent is None else (minus(extent.start, shift), minus(extent.stop, shift))


class StrideTensor(WrapperTensor):
    """``stride(A, 2, -1)[i, j]`` is ``A[2 * i, m - 1 - j]``, where ``A`` has ``m`` columns.

    ``key`` has the step of each dimension.
    """

    name: ClassVar[str] = "stride"
    has_array: ClassVar[bool] = True
    gives_extents: ClassVar[bool] = True

    def __init__(self, tensor: Any, steps: tuple[int, ...]) -> None:
        super().__init__(tensor, steps, (0,) * sum(step < 0 for step in steps))

    def bind(self, inner: TensorLike, scalars: tuple[Var, ...]) -> TensorLike:
        return SeenSteps(inner, StrideTensor, _places(self.key, scalars), self.ndim)

    @staticmethod
    def sizes_of(inner: TensorLike, params: Any) -> tuple[Extent | None, ...]:
        pairs = zip(params, inner.sizes, strict=True)
        return tuple(_of_steps(extent, step) for (step, _), extent in pairs)

    @property
    def _sizes(self) -> tuple[int, ...]:
        """The sizes of the dimensions that are reversed."""
        return tuple(self.tensor.shape[k] for k, step in enumerate(self.key) if step < 0)

    def words(self) -> tuple[Any, ...]:
        return (*self.tensor.words(), *self._sizes)

    @property
    def shape(self) -> tuple[int, ...]:
        pairs = zip(self.key, self.tensor.shape, strict=True)
        return tuple(len(range(0, n, abs(step))) for step, n in pairs)

    def to_numpy(self) -> np.ndarray[Any, Any]:
        slices = tuple(slice(None, None, step) for step in self.key)
        array: np.ndarray[Any, Any] = self.tensor.to_numpy()[slices]
        return array

    def located(self, coords: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
        inside, places = None, list(coords)
        for k, (step, size) in enumerate(zip(self.key, self.tensor.shape, strict=True)):
            if step != 1:
                way = coords[k] if step > 0 else size - 1 - coords[k]
                places[k], rest = np.divmod(way, abs(step))
                inside = rest == 0 if inside is None else inside & (rest == 0)
        return inside, places

    def dense_access(self, node: Access) -> Expr:
        return _placed(node, _places(self.key, tuple(map(lift, self._sizes))))

    def within(self, pairs: tuple[Bounds | None, ...]) -> StrideTensor:
        """A window of this view: the strided view of a window of the tensor."""
        check_window(pairs, self.shape)
        inner = zip(pairs, self.key, self.tensor.shape, strict=True)
        return StrideTensor(
            window_of(self.tensor, tuple(_inner(*part) for part in inner)), self.key
        )

    @staticmethod
    def match_access(node: Access, scope: Scope) -> Access | None:
        """``A[..., a * j + c, ...]`` -> ``stride(A, (..., a * _ + c, ...))[..., j, ...]``, where
        it is read; ``c`` may depend on outer loops."""
        argument = seen(node, StrideTensor)
        if argument is not None:
            return evolve(_placed(node, argument.params), tensor=argument.inner)
        if scope.written or isinstance(node.tensor, Seen):
            return None
        for k, index in enumerate(node.indices):
            found = scaled(index, scope) if isinstance(index, Call) else None
            if found is None or found.factor == lift(1) or not is_call_constant(found.factor):
                continue
            if is_call_constant(found.rest):
                return Strided.along(node, k, Step(found.factor, found.rest), found.index)
            if scope.ready(found.rest):
                rest = Modified("given", found.rest)
                indices = (*node.indices[:k], rest, index, *node.indices[k + 1 :])
                split = evolve(node, tensor=Toeplitz(node.tensor, k), indices=indices)
                return Strided.along(split, k + 1, Step(found.factor, lift(0)), found.index)
        return None

    @staticmethod
    def examples(view: View) -> Iterator[Example]:
        """Steps ahead and, where the last index is known, back."""
        choices: list[tuple[int, ...]] = [(2, 3, 1, 2), (1, 4, 2, 1)]
        if all(view.sized) and not any(start for start, _ in view.ranges):
            choices += [(-1, 1, -3, -1), (-2, -1, 1, 3)]
        for steps in choices:
            yield _example(view, steps[: view.ndim])


def _example(view: View, steps: Place) -> Example:
    lasts = [stop - 1 for _, stop in view.ranges]
    pairs = list(zip(steps, view.ranges, strict=True))
    ranges = tuple(
        (-(-lo // step), max(-(-hi // step), -(-lo // step))) if step > 0
        else (0, len(range(lo, hi, -step)))
        for step, (lo, hi) in pairs
    )  # fmt: skip

    def to(index: Place) -> Place:
        places = zip(index, steps, lasts, strict=True)
        return tuple(i * step if step > 0 else last + step * i for i, step, last in places)

    moved = view.moved(to, ranges=ranges)

    def make(tensor: Any) -> StrideTensor:
        return stride(tensor, *steps)

    return Example(make, moved, declares=all(abs(step) == 1 for step in steps))


def _places(steps: tuple[int, ...], sizes: tuple[Expr, ...]) -> tuple[tuple[int, Expr], ...]:
    """The step and the first index of each dimension; ``sizes`` are those that are reversed."""
    rest = iter(sizes)
    return tuple((step, next(rest) - 1 if step < 0 else lift(0)) for step in steps)


def _placed(node: Access, places: tuple[tuple[int, Expr], ...]) -> Access:
    """An access with each index multiplied by its step, from the first index on."""

    def at(index: Expr, step: int, first: Expr) -> Expr:
        if step < 0:
            return first - (index if step == -1 else index * -step)
        return index if step == 1 else index * step

    pairs = zip(node.indices, places, strict=True)
    indices = tuple(mapped(i, partial(at, step=s, first=first)) for i, (s, first) in pairs)
    return evolve(node, indices=indices)


def _inner(pair: Bounds | None, step: int, size: int) -> Bounds | None:
    """The part of a dimension of ``size`` of whose strides ``pair`` is a part."""
    if pair is None:
        return None
    by = abs(step)
    start, stop = pair[0] * by, (pair[1] - 1) * by + 1 if pair[1] > pair[0] else pair[0] * by
    start, stop = min(start, size), min(stop, size)
    return (start, stop) if step > 0 else (size - stop, size - start)


def stride(tensor: Any, *steps: Any) -> StrideTensor:
    """A view of every ``n``-th index of ``tensor``: ``stride(A, 2, -1)`` is ``A[::2, ::-1]``.

    ``steps`` has a step for each dimension, None for all of it, or a slice: ``slice(3, 9, 2)``.
    With a negative step a dimension is read from its end. Steps are part of the compiled code,
    starts and stops are passed at run time. The view can be read and updated in place; it can be
    declared if it has every element of ``tensor``.

    Raises ``DimensionMismatch`` unless there is a step for each dimension, and ``FormatError`` for
    the step 0, and for a negative one where a wrapper has moved the first index away from 0.
    """
    tensor = tensor_of(tensor)
    if len(steps) != tensor.ndim:
        raise DimensionMismatch(
            f"{count(len(steps), 'step')} for {count(tensor.ndim, 'dimension')}",
            hint="pass a step or a slice for each dimension, or None for all of it",
        )
    found = [_split(tensor, k, step) for k, step in enumerate(steps)]
    bounds = tuple(pair for pair, _ in found)
    if any(bound is not None for bound in bounds):
        tensor = window_of(tensor, bounds)
    return StrideTensor(tensor, tuple(step for _, step in found))


def reverse(tensor: Any, *dims: int) -> StrideTensor:
    """A view of ``tensor`` from its end: ``reverse(A, 1)`` is ``A[:, ::-1]``; without ``dims`` all
    dimensions are reversed.

    Raises ``DimensionMismatch`` if there is no such dimension; see ``stride``.
    """
    tensor = tensor_of(tensor)
    wanted = {whole(dim, "a dimension") for dim in dims} or set(range(tensor.ndim))
    for dim in wanted:
        check_dimension(tensor, dim)
    return stride(tensor, *(-1 if dim in wanted else 1 for dim in range(tensor.ndim)))


def _split(tensor: Any, dim: int, given: Any) -> tuple[Bounds | None, int]:
    """A step, or a slice, as the part of a dimension and a step through all of that."""
    if not isinstance(given, slice):
        step = 1 if given is None else _checked(given)
        if step < 0:
            require_origin(tensor)
        return None, step
    step = 1 if given.step is None else _checked(given.step)
    if given.start is None and given.stop is None:
        return _split(tensor, dim, step)
    require_origin(tensor)
    found = range(*given.indices(tensor.shape[dim]))
    if not found:
        return (0, 0), step
    return ((found[0], found[-1] + 1) if step > 0 else (found[-1], found[0] + 1)), step


def _checked(step: Any) -> int:
    found = whole(step, "a step")
    if found == 0:
        raise FormatError("a step cannot be 0", hint="pass 2 for every other index, -1 to reverse")
    return found


@hookimpl
def finch_wrapper() -> type[StrideTensor]:
    """Register ``stride``."""
    return StrideTensor
