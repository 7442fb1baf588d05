"""Calls of array functions whose plan is known: the result is made, and the kernel run."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from finch_array.leaves import relabelled
from finch_array.operands import NUMBERS, entries
from finch_core.errors import FinchError, OutOfMemory, PerformanceWarning, RaceError
from finch_core.interface.layout import Part
from finch_core.interface.level import Format
from finch_core.records import define, field
from finch_core.runtime.arguments import Number
from finch_core.runtime.arrays import SMALL, dense_makers
from finch_core.runtime.storage import MOST_AT_ONCE
from finch_core.runtime.tensor import Tensor
from finch_core.runtime.tensor_records import ADDRESS, address_of, cast, from_buffer
from finch_wrappers.swizzle import SwizzleTensor

if TYPE_CHECKING:
    from finch_array.plans import Plan

LARGE = 1 << 24
SPARE = 16
"""A result of more than ``LARGE`` elements that is dense although the operands store less than one
in ``SPARE`` of that number gives a ``PerformanceWarning``."""


@contextmanager
def memory_for(
    shape: Sequence[int],
    hint: str = "format= stores what differs from a fill value alone",
    what: str = "a dense array",
) -> Iterator[None]:
    """Raise ``OutOfMemory``, with this hint, where NumPy has no memory for an array of ``shape``,
    or none that it could address."""
    try:
        yield
    except (MemoryError, ValueError) as error:
        small = isinstance(error, ValueError) and math.prod(shape) < ADDRESSED
        if small or isinstance(error, FinchError):
            raise
        raise OutOfMemory(
            f"there is no memory for {what} of shape {tuple(shape)}", hint=hint
        ) from error


ADDRESSED = 1 << 55
"""Arrays of so many elements are too large for any memory: processors address 2**57 bytes."""


def warn_dense(
    name: str, shape: Sequence[int], dtype: Any, operands: Sequence[Any],
    hint: str = "format= chooses another format",
) -> None:  # fmt: skip
    """Give a ``PerformanceWarning``, with this hint, for a result that is dense by structure, if it
    is large and the operands store little."""
    cells = math.prod(shape)
    if cells <= LARGE:
        return
    there = sum(entries(a) for a in operands if not isinstance(a, NUMBERS))
    if cells > SPARE * there:
        size = cells * np.dtype(dtype).itemsize / 2**20
        warnings.warn(
            f"the result of {name} is dense: {tuple(shape)}, {size:.0f} MiB, from "
            f"at most {there} stored values; {hint}",
            PerformanceWarning,
            stacklevel=7,
        )


def warn_many(name: str, count: int, array: Any, operands: Sequence[Any]) -> None:
    """Give a ``PerformanceWarning`` where so many elements, none of which is the fill, are to be
    stored in an array, if they are many and the operands store little."""
    there = sum(map(entries, operands))
    if count > LARGE and count > SPARE * there:
        size = count * (array.ndim * np.dtype(np.intp).itemsize + array.dtype.itemsize) / 2**20
        warnings.warn(
            f"{name} stores {count} more elements, {size:.0f} MiB, where its operands store at "
            f"most {there}: those equal to the fill {array.fill_value} would take nothing",
            PerformanceWarning,
            stacklevel=7,
        )


def warn_taken_apart(array: Tensor, count: int) -> None:
    """Give a ``PerformanceWarning`` where so many elements are more than ``SPARE`` times the values
    that an array stores, as those of runs may be."""
    if count > LARGE and count > SPARE * entries(array):
        size = count * (array.ndim * np.dtype(np.intp).itemsize + array.dtype.itemsize) / 2**20
        warnings.warn(
            f"the runs of an array of shape {array.shape} are taken apart here, into {count} "
            f"elements, {size:.0f} MiB",
            PerformanceWarning,
            stacklevel=7,
        )


def warn_if_dense(name: str, format: Format, shape: Sequence[int], operands: Sequence[Any]) -> None:
    """``warn_dense`` where the levels of ``format`` are dense."""
    if all(level.layout == "dense" for level in format.levels()[:-1]):
        warn_dense(name, shape, format.dtype, operands)


@define(eq=False)
class Ready:
    """A plan with all that depends on the sizes of its operands alone: what is left of a call is to
    make the result and run the kernel.

    ``sizes`` of indices, ``shape`` of the result as it is stored and the number of its ``cells``,
    ``blank()`` makes it; ``extended`` are the sizes that the kernel is passed (None: it is passed
    the operands as they are); ``room`` gives the result memory; ``specialized`` is the compiled
    kernel, from the second call on.
    """

    plan: Plan
    sizes: Mapping[str, int]
    kernel: Any
    shape: tuple[int, ...]
    cells: int
    blank: Callable[[], Tensor]
    extended: tuple[int, ...] | None
    refill: Any
    back: tuple[int, ...] | None
    watched: bool
    room: Room | None
    specialized: Any = None

    def __call__(self, operands: Sequence[Any]) -> Any:
        """Run the kernel; the operands have the signatures and shapes that this was made for."""
        if self.watched:
            shape = [self.sizes[name] for name in self.plan.request.out]
            warn_dense(self.plan.request.name, shape, self.plan.format.dtype, operands)
        if self.specialized is None:
            pointwise = self.plan.pointwise  # which other threads set to None
            shared = self.kernel is self.plan.shared
            if pointwise is not None:
                found = pointwise(operands, self.sizes, self.blank, shared)
                if found is not None:
                    return self._finished(found)
        out = self.blank()
        values: list[Any] = [out]
        for x in operands:
            values.append(x if x.__class__ is Tensor else _passed(x))
        if self.extended:
            values += [Number(n) for n in self.extended]
        if self.room is not None:
            self.room.give(values)
        kernel = self.specialized
        if kernel is None:
            self._run_first(out, operands, values)
        else:
            kernel.run_apart(values)
        if self.room is not None:
            self.room.note(values)
        if self.refill is None and self.back is None:
            return out
        return self._finished(out)

    def on_words(self, operands: Sequence[Any], words: Sequence[Any]) -> Any:
        """The same on operands that are no numbers, whose ``words`` are known (see
        ``WrapperTensor.words``); of a plan that is not watched, and is passed no sizes."""
        kernel = self.specialized
        if kernel is None or kernel.is_draft:
            return self(operands)
        out = self.blank()
        values = [out, *operands]
        if self.room is not None:
            self.room.give(values)
        kernel.call([out.address, *words], values, values)
        if self.room is not None:
            self.room.note(values)
        if self.refill is None and self.back is None:
            return out
        return self._finished(out)

    def _finished(self, out: Tensor) -> Any:
        """The result with its own fill and order of dimensions."""
        if self.refill is not None:
            out = relabelled(out, self.refill)
        return out if self.back is None else SwizzleTensor.of_valid(out, self.back)

    @property
    def is_plain(self) -> bool:
        """Whether a call is to make a dense result, whose dimensions may be permuted, and to run a
        kernel that will not be compiled again, on the operands without such wrappers."""
        kernel = self.specialized
        if kernel is None or kernel.is_draft or not kernel.has_records:
            return False
        apart = (self.room, self.refill)
        return not self.watched and not self.extended and all(part is None for part in apart)

    def _run_first(self, out: Any, operands: Sequence[Any], values: Sequence[Any]) -> None:
        """Run the kernel as any caller does, which compiles it."""
        given = (out, *[inner(a) for a in operands], *(self.extended or ()))
        try:
            self.kernel(*given)
        except RaceError:  # while it is compiled
            self.plan.shared, self.kernel = None, self.plan.kernel
            self.kernel(*given)
        self.specialized = self.plan.compiled[self.kernel] = self.kernel.specialized(values)
        self.plan.pointwise = None


def _passed(operand: Any) -> Any:
    """An operand that is no tensor as a value with a signature: a number, or a wrapper."""
    if isinstance(operand, NUMBERS):
        return Number(operand)
    return inner(operand)


def inner(array: Any) -> Any:
    """An operand as it is passed to a kernel: without wrappers that permute its dimensions."""
    while getattr(array, "permutes", False):
        array = array.tensor
    return array


_empty = np.empty
SPARE_ROOM = 64
"""The elements that a result has room for beyond what is estimated."""
LARGE_ROOM = 2**20
KEPT = MOST_AT_ONCE * SMALL
"""Bytes of the buffers of several results that are allocated at once, as they keep each other
alive."""
LEAST_AT_ONCE = 6
"""The least results for which that pays: a part of a block takes longer to make than a small block
of memory, which the others have to save."""
ALIGNED = 16
"""Bytes at whose multiples such buffers begin, as those of NumPy do."""
APART = 1056
"""The elements by which buffers of ``LARGE_ROOM`` elements or more are longer than what the last
result took, which is a power of two on one thread, as capacity doubles. Buffers side by side at a
multiple of 256 MB displace each other in the first cache of some processors, where stores to both
take five times as long."""


@define(eq=False)
class Room:
    """Memory for the results of a plan: as much as the last one took, which is not reallocated as
    it grows. Operands that store less get less, in proportion.

    ``parts`` are the buffers of the result, ``places`` their numbers, offsets and dtypes, and
    whether these have buffers as cffi sees them; ``sizes`` those of the last one, ``values`` how
    many values its operands stored.
    """

    parts: Sequence[Part]
    places: Sequence[tuple[int, int, np.dtype[Any], bool]]
    sizes: list[int]
    values: int = 0
    most: int = 0
    """The most results whose buffers are allocated at once, of ``KEPT`` bytes together; 0 where
    they are not small."""
    free: list[Any] = field(factory=list)
    count: int = 0

    @classmethod
    def of(cls, format: Any) -> Room | None:
        """Room for results of a format; None for dense ones, whose size is known."""
        if format is None or all(level.layout == "dense" for level in format.levels()[:-1]):
            return None
        parts = [p for p in Tensor.bare(format).layout.buffers if not p.field.scratch]
        places = [(p.number, p.offset, p.field.dtype, p.field.dtype.kind in "biufc") for p in parts]
        return cls(parts, places, [])

    def give(self, values: Sequence[Any]) -> None:
        """Give the result, the first of ``values``, memory for its buffers."""
        if not self.sizes:
            return
        sizes = self.sizes
        if self.most < MOST_AT_ONCE and (there := _values(values)) < self.values:
            sizes = [min(n, n * there // self.values + SPARE_ROOM) for n in sizes]
        out = values[0]  # ``set_arrays``, of new memory
        arrays, record, spans = out.arrays, out.record, []
        if self.most and sizes is self.sizes:
            try:
                parts, out.memory = self.free.pop()
            except IndexError:
                parts, out.memory = self._more()
            for number, offset, array, start, size in parts:
                arrays[number] = array
                record[offset], record[offset + 1] = start, size
            out.state = object()
            return
        for (number, offset, dtype, plain), size in zip(self.places, sizes, strict=True):
            array = arrays[number] = _empty(size, dtype)
            start = int(cast(ADDRESS, from_buffer(array))) if plain else address_of(array)
            record[offset], record[offset + 1] = start, size
            if size:
                spans.append((start, start + array.nbytes))
        out.memory = tuple(spans) or ((out.address, out.address + record.nbytes),)
        out.state = object()

    def _more(self) -> Any:
        """Buffers for several results, of which those for one are given; twice as many each
        time."""
        self.count = count = min(2 * self.count, self.most) or 1
        widths = [
            size * dtype.itemsize
            for (_, _, dtype, _), size in zip(self.places, self.sizes, strict=True)
        ]
        step = sum([width + -width % ALIGNED for width in widths])
        block = _empty((count, step), np.uint8)
        start, before, parts = address_of(block), 0, []
        spans: list[Any] = []
        for (number, offset, dtype, _), size, width in zip(
            self.places, self.sizes, widths, strict=True
        ):
            if width:
                rows: Any = block[:, before : before + width].view(dtype)
                starts: Any = range(start + before, start + before + count * step, step)
                spans.append([(at, at + width) for at in starts])
            else:  # at whose address a kernel finds that it has not moved
                rows = [_empty(0, dtype)] * count
                starts = [address_of(rows[0])] * count
            named = (repeat(number, count), repeat(offset, count))
            parts.append(zip(*named, rows, starts, repeat(size, count), strict=True))
            before += width + -width % ALIGNED
        first, *others = zip(zip(*parts, strict=True), zip(*spans, strict=True), strict=True)
        self.free += others
        return first

    def note(self, values: Sequence[Any]) -> None:
        """Remember the memory that the result has, where it took more than it was given."""
        arrays, sizes, parts = values[0].arrays, self.sizes, self.parts
        if (
            not sizes
            or arrays[parts[-1].number].size > sizes[-1]
            or arrays[parts[0].number].size > sizes[0]
        ):
            taken = [arrays[part.number].size for part in self.parts]
            self.sizes = [size + APART * (size >= LARGE_ROOM) for size in taken]
            self.values = _values(values)
            nbytes = sum(arrays[part.number].nbytes for part in self.parts)
            most = min(MOST_AT_ONCE, KEPT // nbytes) if nbytes else 0
            self.most, self.free, self.count = most if most >= LEAST_AT_ONCE else 0, [], 0


def _values(values: Sequence[Any]) -> int:
    """How many values the operands, all of ``values`` but the first, have memory for."""
    total = 0
    for x in values[1:]:
        if x.__class__ is Tensor and x.arrays:
            total += x.arrays[-1].size
    return total


# -- results ----------------------------------------------------------------------------------


def blank_of(format: Format) -> Callable[[tuple[int, ...]], Callable[[], Tensor]]:
    """A function that, given a shape, makes a tensor for a kernel that declares it: with memory of
    this shape where it is dense, else empty."""
    if not all(level.layout == "dense" for level in format.levels()[:-1]):
        make = Tensor.maker(format)
        return lambda shape: make
    return dense_makers(format, Tensor)


__all__ = [
    "ADDRESSED", "Ready", "Room", "blank_of", "inner", "memory_for", "warn_dense", "warn_if_dense",
    "warn_many", "warn_taken_apart",
]  # fmt: skip
