"""Storage of tensors: the arrays of the levels, and the record by which kernels access them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np

from finch_core.errors import PluginError
from finch_core.interface.layout import Layout, Part, sizes_of
from finch_core.interface.level import Format
from finch_core.interface.plugin_calls import described, emitted
from finch_core.interface.signatures import (
    TensorSignature,
    tensor_signature,
    unseen_signature,
)
from finch_core.runtime.lending import lend
from finch_core.runtime.tensor_records import (
    ADDRESS,
    Unset,
    address_of,
    cast,
    from_buffer,
    set_scalar,
    unset,
    with_levels,
)

MOST_AT_ONCE = 32
"""The most records, or small arrays, that are allocated at once: they keep each other alive."""
_SMALL = 1 << 16  # bytes of the buffers of a tensor that is small


class TensorStorage:
    """A format, a shape and buffers, without conversions: all that calls of kernels need.

    Kernels access it through its *record* (see ``interface.abi``), an array of words that Python
    and compiled code share. It holds dimensions, scalars, and addresses and sizes of buffers.

    The attributes and methods here are for the runtime and for packages that take over buffers;
    what users rely on is in ``Tensor``.
    """

    __slots__ = (
        "__weakref__", "address", "arrays", "format", "layout", "memory", "record", "signature",
        "state", "writer",
    )  # fmt: skip
    writer: Any
    """The last call that wrote it, if its structure grows; unset before the first (see
    ``writers``)."""
    format: Format
    signature: TensorSignature
    address: int
    layout: Layout
    """Where the record has each field."""
    record: np.ndarray[Any, np.dtype[np.uint64]]
    arrays: list[np.ndarray[Any, Any]]
    """The buffers, with their spare capacity, by the numbers of their parts."""
    memory: tuple[tuple[int, int], ...]
    """The ranges of addresses of the buffers, by which shared memory is detected."""
    state: object
    """Replaced whenever the buffers move, so that checks of a state stay valid for it. A tensor
    without elements may share it with others of its format (``Blank``)."""

    # -- making -------------------------------------------------------------------------

    def _setup(self, format: Format) -> None:
        """Initialise: empty buffers and dimensions of 0."""
        self._setup_as(format, unset(format))

    def _setup_sizeless(self, format: Format, made: Unset) -> bool:
        """Initialise as the tensor that ``_keep_sizeless`` has seen; False if there is none yet."""
        if made.sizeless is None:
            return False
        record, arrays = made.sizeless
        self.format, self.signature, self.layout = format, made.signature, made.layout
        self.record = record = record.copy()
        self.address = address = int(cast(ADDRESS, from_buffer(record)))
        self.arrays = [*arrays]
        self.memory = ((address, address + made.nbytes),)
        self.state = made.blank
        if made.sized:
            for part in made.sized:
                self.set_array(part, arrays[part.number].copy())
            self.note_memory()
        return True

    def _keep_sizeless(self) -> None:
        """Remember what this is, which was made without a shape: others are copied from it."""
        made = unset(self.format)
        arrays = [array.copy() if array.size else array for array in self.arrays]
        made.sized = [part for part in self.layout.buffers if arrays[part.number].size]
        made.sizeless = self.record.copy(), arrays

    def _setup_as(self, format: Format, made: Unset) -> None:
        self.format, self.signature, self.layout = format, made.signature, made.layout
        self.record = made.record.copy()
        self.address = address_of(self.record)
        self.arrays = list(made.arrays)
        self.memory, self.state = (), object()

    @classmethod
    def bare(cls, format: Format) -> Self:
        """A tensor whose shape and buffers the caller sets."""
        self = cls.__new__(cls)
        self._setup(format)
        return self

    @classmethod
    def of_parts(cls, format: Format, record: Any, arrays: Sequence[np.ndarray[Any, Any]]) -> Self:
        """A tensor with the dimensions and scalars of a record of ``format``, over ``arrays``."""
        self = cls.bare(format)
        self.adopt(record, arrays)
        return self

    @classmethod
    def maker(cls, format: Format, like: Format | None = None) -> Callable[[], Any]:
        """A function that makes tensors as ``bare`` does, without looking the format up; ``like``
        is a known format that differs in nothing but the fill."""
        made = unset(format) if like is None else unset(like).alike(format)
        signature, parts, arrays, new = made.signature, made.layout, made.arrays, cls.__new__
        free: list[tuple[Any, int]] = []
        pop, made_last = free.pop, 0

        def more() -> tuple[Any, int]:
            """New records with their addresses, of which one is given."""
            nonlocal made_last
            made_last = count = min(2 * made_last, MOST_AT_ONCE) or 1
            records = np.empty((count, made.record.size), np.uint64)
            records[:] = made.record
            start = address_of(records)
            addresses = range(start, start + count * made.nbytes, made.nbytes)
            first, *others = zip(records, addresses, strict=True)
            free.extend(others)
            return first

        def make() -> Any:
            self = new(cls)
            self.format, self.signature, self.layout = format, signature, parts
            try:
                self.record, self.address = pop()
            except IndexError:
                self.record, self.address = more()
            self.arrays = [*arrays]
            self.memory, self.state = (), object()
            return self

        return make

    @classmethod
    def alike(cls, levels: tuple[Format, ...], like: Format) -> Self:
        """A tensor as ``bare`` makes it, in a format of these levels, outermost first, that no
        other tensor is likely to have. It differs from ``like``, which tensors have, in nothing but
        the fill."""
        format = levels[0]
        made = unset(like)
        self = cls.__new__(cls)
        self.format, self.signature = format, unseen_signature(format)
        self.layout = with_levels(made.layout, levels)
        self.record = record = made.record.copy()
        self.address = int(cast(ADDRESS, from_buffer(record)))
        self.arrays = list(made.arrays)
        self.memory, self.state = (), object()
        return self

    # -- what it is ---------------------------------------------------------------------

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.layout.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """The dimensions, outermost first."""
        return tuple(self.record[: self.layout.ndim].tolist())

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the values."""
        return self.layout.dtype

    @property
    def fill_value(self) -> Any:
        """The value of all elements that are not stored."""
        return self.layout.levels[-1].fill_value

    @property
    def nstored(self) -> int:
        """The number of leaf values that are stored."""
        stored, shape = 1, (*self.shape, 0)
        for k, (level, positions, _, below) in enumerate(self.levels()):
            if level.is_leaf:
                break
            if level.stores_fill:
                stored = stored * below // max(positions, 1)
            else:
                stored = level.entries(positions, shape[k], self.fields(k), below)
        return stored

    @property
    def buffers(self) -> dict[str, np.ndarray[Any, Any]]:
        """Views of all buffers, cut to the part in use, by ``"<depth>_<name>"`` (see
        ``docs/formats.md``). Values may be written through them; kernels rely on the structure,
        which is not checked again: a wrong index is undefined behaviour (``Tensor.from_buffers``
        checks). A kernel that builds the structure anew gives the tensor other buffers first."""
        lend(self)
        return self.named_arrays()

    def named_arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """What ``buffers`` gives, for use at once: no other object keeps the arrays."""
        found = {}
        for k, (_, _, sizes, _) in enumerate(self.levels()):
            for name, size in sizes.items():
                part = self.layout.part(k, name)
                found[f"{k}_{name}"] = self.arrays[part.number][:size]
        return found

    def arrays_in_use(self) -> list[np.ndarray[Any, Any]]:
        """Views of the arrays of all levels, without spare capacity; scratch ones are empty."""
        result = [array[:0] for array in self.arrays]
        for k, (_, _, sizes, _) in enumerate(self.levels()):
            for name, size in sizes.items():
                number = self.layout.part(k, name).number
                result[number] = self.arrays[number][:size]
        return result

    def levels(self) -> Iterator[tuple[Format, int, dict[str, int], int]]:
        """Each level with its number of positions, its buffers' sizes and its child's positions."""
        layout, positions, dims = self.layout, 1, iter(self.shape)
        for k, level in enumerate(layout.levels):
            shape = 0 if level.is_leaf else next(dims)
            sizes, below = sizes_of(level, positions, shape, self.fields(k), layout.sized[k])
            yield level, positions, sizes, below
            positions = below

    def fields(self, k: int) -> Mapping[str, Any]:
        """The arrays, with their spare capacity, and scalars of level ``k``, by name."""
        return _Fields(self, k)

    def words(self) -> tuple[int]:
        """The machine words that pass this tensor to a kernel: the address of its record."""
        return (self.address,)

    # -- the record ---------------------------------------------------------------------

    def scalar(self, part: Part) -> Any:
        if part.field.dtype.itemsize == 8:
            return self.record.view(part.field.dtype)[part.offset]
        raw = self.record[part.offset :].view(np.uint8)[: part.field.dtype.itemsize]
        return raw.view(part.field.dtype)[0]

    def number_reader(self) -> Callable[[], Any] | None:
        """A function that gives what ``Tensor.value`` does, where that is a word of the record."""
        scalars = self.layout.scalars
        if self.layout.ndim or self.layout.buffers or len(scalars) != 1:
            return None
        place, dtype = scalars[0].offset, scalars[0].field.dtype
        if dtype.itemsize != 8 or dtype.kind not in "iuf":
            return None
        return self.record.view(dtype)[place : place + 1].item

    def set_fields(self, shape: tuple[int, ...], fields: list[dict[str, Any]]) -> None:
        """Set the shape, and the scalars and buffers of each level. Raises ``IndexOverflow`` for a
        dimension that is too long for its indices, and ``PluginError`` where a level gives no value
        for a field, or an array of another dtype."""
        self.layout.require_lengths(shape)
        words, spans, rest, arrays = list(shape), [], [], list(self.arrays)
        for part in self.layout.scalars:
            value = self._given(fields, part)
            plain = type(value) is int and value >= 0 and part.field.dtype.kind in "iu"
            words += [value] if plain else [0] * part.words
            if not plain:
                rest.append((part, value))
        for part in self.layout.buffers:
            field = part.field
            try:
                array = fields[part.level][field.name]
            except KeyError:
                array = self._given(fields, part)
            arrays[part.number] = array
            dtype = getattr(array, "dtype", None)
            if dtype is not field.dtype and dtype != field.dtype:
                given = type(array).__name__ if dtype is None else f"an array of {dtype}"
                raise PluginError(
                    f"{described(self.layout.levels[part.level])} is made with {given} as "
                    f"{field.name!r}, which is an array of {field.dtype}"
                )
            start, size = address_of(array), array.size
            words += (start, size)
            if size:
                spans.append((start, start + array.nbytes))
        if self.layout.sizeless is not None:
            words.append(0)
        self._take(arrays, words)
        for part, value in rest:
            self.set_scalar(part, value)
        self._remember(spans)

    def _given(self, fields: list[dict[str, Any]], part: Part) -> Any:
        try:
            return fields[part.level][part.field.name]
        except KeyError:
            raise PluginError(
                f"{described(self.layout.levels[part.level])} is made without its field "
                f"{part.field.name!r}",
                hint="blank gives a value for each field",
            ) from None

    def _mark_sizeless(self, sizeless: bool) -> None:
        """Note whether this was made without a shape, to be sized by a kernel."""
        if self.layout.sizeless is not None:
            self.record[self.layout.sizeless] = sizeless

    @property
    def is_sizeless(self) -> bool:
        """Whether this was made without a shape, to be sized by a kernel."""
        place = self.layout.sizeless
        return place is not None and bool(self.record[place])

    def set_scalar(self, part: Part, value: Any) -> None:
        set_scalar(self.record, part, value)

    # The following two call nothing between their stores, so that a signal's handler, which may
    # raise, runs before or after all of them: a record never names memory that has been freed.

    def _take(self, arrays: list[np.ndarray[Any, Any]], words: list[int]) -> None:
        """Take ``arrays`` as buffers, and ``words`` as the record."""
        if words:
            row = np.array(words, np.uint64)  # handlers run while NumPy walks a list
            before = self.arrays
            self.arrays = arrays
            self.record[:] = row
            del before  # not earlier: what is freed may call back

    def set_array(self, part: Part, array: np.ndarray[Any, Any]) -> None:
        address = address_of(array)
        self.arrays[part.number] = array
        self.record[part.offset] = address
        self.record[part.offset + 1] = array.size

    def set_arrays(self, parts: Sequence[Part], arrays: Sequence[np.ndarray[Any, Any]]) -> None:
        """Set several buffers, all that have elements."""
        spans = []
        for part, array in zip(parts, arrays, strict=True):
            self.set_array(part, array)
            if array.size:
                spans.append((start := address_of(array), start + array.nbytes))
        self._remember(spans)

    def places(self) -> tuple[list[int], list[int]]:
        """The addresses of the words of the record that say the shape, and where buffers are."""
        buffers = [p.offset for p in self.layout.buffers if not p.field.scratch]
        dims = range(self.layout.ndim)
        return [self.address + 8 * k for k in dims], [self.address + 8 * k for k in buffers]

    # -- its contents as a whole --------------------------------------------------------

    def adopt(self, record: Any, arrays: Sequence[np.ndarray[Any, Any]]) -> None:
        """Take the dimensions and scalars of a record of this format, and ``arrays`` as buffers."""
        words, spans = record.tolist(), []
        for part in self.layout.buffers:
            array = arrays[part.number]
            words[part.offset] = start = address_of(array)
            words[part.offset + 1] = size = array.size
            if size:
                spans.append((start, start + array.nbytes))
        self._take(list(arrays), words)
        self._remember(spans)

    def adopt_copy(self, other: TensorStorage) -> None:
        """Become a copy of ``other``, of the same format, with memory of its own."""
        self.adopt(other.record, [array.copy() for array in other.arrays])

    def become_blank(self, shape: tuple[int, ...]) -> bool:
        """Become empty, of this shape, by ``Format.blank``; False if a level of the format lacks
        it."""
        self.layout.require_lengths(shape)
        contents = []
        positions, dims = 1, iter(shape)
        for level in self.layout.levels:
            found = level.blank(positions, 0 if level.is_leaf else next(dims))
            if found is None:
                return False
            fields, positions = found
            contents.append(fields)
        self.set_fields(shape, contents)
        return True

    def set_shape(self, shape: tuple[int, ...]) -> None:
        """Set the dimensions alone, before a kernel that declares this. Raises ``IndexOverflow``
        for one that is too long for its indices."""
        self.layout.require_lengths(shape)
        self.record[: len(shape)] = np.array(shape, np.uint64)  # not in parts: see `_take`

    def reset_scalars(self) -> None:
        """Give the scalars the values that they have in an empty tensor."""
        for part in self.layout.scalars:
            self.set_scalar(part, part.field.init)

    def plain_element(self, index: tuple[int, ...]) -> Any:
        """An element that the levels find in their buffers; None if one of them does not."""
        layout, position = self.layout, 0
        if not index and len(layout.scalars) == 1 and not layout.buffers:
            return self.scalar(layout.scalars[0])
        *levels, leaf = layout.levels
        for k, (level, i, n) in enumerate(zip(levels, index, self.shape, strict=True)):
            place = emitted(level, "locate", self.fields(k), position, i, n)
            if place is None:
                return None
            if place < 0:
                return np.asarray(self.fill_value, self.dtype)[()]
            position = place
        return leaf.value_at(self.fields(len(levels)), position)

    # -- its memory ---------------------------------------------------------------------

    def is_over(self, array: np.ndarray[Any, Any]) -> bool:
        """Whether this dense tensor of the array's dimensions is over the array's memory."""
        return bool(self.record[array.ndim] == address_of(array))

    def readonly_buffer(self) -> str:
        """The first read-only buffer, as ``"<depth>_<name>"``; empty if all are writeable."""
        for part in self.layout.buffers:
            if not self.arrays[part.number].flags.writeable:
                return f"{part.level}_{part.field.name}"
        return ""

    def note_memory(self) -> None:
        """Record the address ranges of the buffers (of the record if there are none), by which
        shared memory is detected."""
        spans = []
        for part in self.layout.buffers:
            if size := self.arrays[part.number].nbytes:
                start = int(self.record[part.offset])
                spans.append((start, start + size))
        self._remember(spans)

    def note_readonly(self) -> None:
        """Mark the signature read-only if a buffer is, so that kernels refuse to write it."""
        readonly = any(array.size and not array.flags.writeable for array in self.arrays)
        if readonly != self.signature.readonly:
            self.signature = tensor_signature(self.format, self.signature.fixed, readonly)

    def _leave_readonly(self) -> None:
        """Replace read-only buffers by new, empty ones."""
        self.signature = tensor_signature(self.format, self.signature.fixed)
        for part in self.layout.buffers:
            self.set_array(part, np.empty(0, part.field.dtype))
        self.note_memory()

    def _remember(self, spans: list[tuple[int, int]]) -> None:
        self.memory = tuple(spans) or ((self.address, self.address + self.record.nbytes),)
        self.state = object()

    def room(self) -> tuple[int, ...]:
        """The elements of the one buffer, with which the next call's output may begin (``Room``);
        () where it may not: the buffers of levels have a state, and kernels align large ones."""
        if len(self.layout.buffers) != 1 or any(self.layout.fields[:-1]):
            return ()
        large = sum(array.nbytes for array in self.arrays) > _SMALL
        return () if large else tuple(array.size for array in self.arrays)

    def adopt_moved(self, kernel: Any, keep: bool = False) -> None:
        """Adopt the buffers that a kernel has reallocated. Scratch buffers are released, unless
        ``keep`` asks to reuse them in the next call.

        A signal's handler may raise in the midst: what is adopted at that time belongs to no
        buffer, so that it is freed once at most, and this may be called again.
        """
        if not self.arrays:  # a view of an array, which kernels do not reallocate
            return
        words, spans = self.record.tolist(), []
        for part in self.layout.buffers:
            address, array = words[part.offset], self.arrays[part.number]
            size = words[part.offset + 1]
            if size != array.size or address != address_of(array):
                dtype = part.field.dtype
                self.set_array(part, np.empty(0, dtype))
                memory = kernel.adopt(address, size * dtype.itemsize)
                self.set_array(part, array := np.frombuffer(memory, dtype, size))
            if array.size:
                spans.append((address, address + array.nbytes))
        self._remember(spans)
        if not keep and self._drop_scratch():
            self.note_memory()

    def _drop_scratch(self) -> bool:
        """Release scratch buffers and reset scratch scalars: they have no meaning between calls.
        Gives whether there are any."""
        scratch = unset(self.format).scratch
        for part in scratch:
            if part.field.is_buffer:
                self.set_array(part, np.empty(0, part.field.dtype))
            else:
                self.set_scalar(part, part.field.init)
        return bool(scratch)


class _Fields(Mapping[str, Any]):
    """The arrays and scalars of a level by the names of its fields, looked up lazily."""

    __slots__ = ("_parts", "_tensor")

    def __init__(self, tensor: TensorStorage, k: int) -> None:
        self._tensor, self._parts = tensor, tensor.layout.fields[k]

    def __getitem__(self, name: str) -> Any:
        part = self._parts[name]
        if part.field.is_buffer:
            return self._tensor.arrays[part.number]
        return self._tensor.scalar(part)

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)
