"""Tensors: a format, a shape, and the buffers of its levels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from _cffi_backend import FFI

from finch_core.abi import MOST_INDICES
from finch_core.errors import (
    DimensionMismatch,
    FinchError,
    FormatError,
    IndexOverflow,
    OutOfBounds,
    OutOfMemory,
    count,
)
from finch_core.layout import Layout, Part, layout, sizes_of
from finch_core.level import Format
from finch_core.signatures import TensorSignature, tensor_signature

_ffi = FFI()
_ADDRESS = _ffi.typeof("uintptr_t")


class Tensor:
    """A tensor of some format.

    ``Tensor(fmt)`` is empty with every dimension 0, ``Tensor(fmt, shape)`` holds the fill value
    throughout, ``Tensor(fmt, data)`` converts a NumPy array, a SciPy sparse array, another tensor
    or nested lists.

    Kernels find the tensor through its *record* (see ``abi``), which Python and compiled code
    share: dimensions and scalars are read from it.
    """

    __slots__ = (
        "__weakref__", "_arrays", "_layout", "_memory", "_record", "_state", "address", "format",
        "signature",
    )  # fmt: skip
    __finch_local__ = True
    __array_priority__ = 1000
    format: Format
    signature: TensorSignature
    address: int
    _layout: Layout
    _record: np.ndarray[Any, np.dtype[np.uint64]]
    _arrays: list[np.ndarray[Any, Any]]
    _memory: tuple[tuple[int, int], ...]
    _state: object
    """Another one whenever the buffers move: what is known of a state stays true of it."""

    def __init__(self, format: Format, data: Any = None, /) -> None:
        if isinstance(format, type) and issubclass(format, Format):
            format = format()
        if not isinstance(format, Format):
            raise FormatError(
                f"the first argument of Tensor is a level format, not {type(format).__name__}",
                hint="Tensor(Dense(SparseList(Element(0.0))), data), or asarray(data)",
            )
        self._setup(format)
        if data is None:
            self._empty((0,) * self._layout.ndim)
            self._mark_sizeless(True)
        elif _is_shape(data):
            self._empty(checked_shape(data, self._layout.ndim))
        else:
            from finch_core.convert import convert_into

            convert_into(self, data)

    # -- making -------------------------------------------------------------------------

    def _setup(self, format: Format) -> None:
        """Be of a format, without buffers and of no size."""
        made = _UNSET.get(format) or _UNSET.setdefault(format, _Unset(format))
        self.format, self.signature, self._layout = format, made.signature, made.layout
        self._record = made.record.copy()
        self.address = address_of(self._record)
        self._arrays = list(made.arrays)
        self._memory, self._state = (), object()

    @classmethod
    def _bare(cls, format: Format) -> Tensor:
        """A tensor whose buffers are still to be set."""
        self = cls.__new__(cls)
        self._setup(format)
        return self

    @classmethod
    def from_buffers(
        cls, format: Format, shape: tuple[int, ...], buffers: Mapping[str, Any]
    ) -> Tensor:
        """A tensor over existing arrays, which are checked and used without a copy.

        ``buffers`` maps ``"0_ptr"``, ``"1_idx"``, ``"2_val"`` (the level's depth and the field's
        name; or the name alone where only one level has it) to one-dimensional contiguous arrays of
        the field's dtype; what a kernel alone can know, of memory beyond them, is not taken.
        Over arrays that are read-only the tensor may be read, and not written. Raises
        ``FormatError`` naming the buffer and the position at fault.
        """
        from finch_core.validation import take_buffers, validate

        self = cls._bare(format)
        shape = checked_shape(shape, format.ndim)
        taken = take_buffers(self._layout, dict(buffers))
        self._record[: len(shape)] = shape
        for part in self._layout.scalars:
            key = (part.level, part.field.name)
            if key in taken:
                self._set_scalar(part, taken[key])
        for part in self._layout.buffers:
            empty = np.empty(0, part.field.dtype)
            self._set_array(part, taken.get((part.level, part.field.name), empty))
        self._note_memory()
        self._note_readonly()
        validate(self)
        return self

    def fill(self, shape: tuple[int, ...]) -> None:
        """Make this hold the fill value throughout, with the given shape, in fresh buffers."""
        self._empty(checked_shape(shape, self.ndim))
        self._mark_sizeless(False)

    def _empty(self, shape: tuple[int, ...]) -> None:
        from finch_core.convert import empty_into

        if self.signature.readonly:
            self._leave_readonly()
        try:
            empty_into(self, shape)
        except FinchError:
            raise
        except (MemoryError, ValueError) as error:  # NumPy has ValueError for sizes beyond int64
            raise OutOfMemory(f"there is no memory for a tensor of shape {shape}") from error

    # -- what it is ---------------------------------------------------------------------

    @property
    def ndim(self) -> int:
        return self._layout.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._record[: self._layout.ndim].tolist())

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the values."""
        return self.format.dtype

    @property
    def fill_value(self) -> Any:
        """The value of whatever is not stored."""
        return self.format.fill_value

    @property
    def nstored(self) -> int:
        """The number of leaf values that are stored."""
        stored, shape = 1, (*self.shape, 0)
        for k, (level, positions, _, below) in enumerate(self._levels()):
            if level.is_leaf:
                break
            if level.stores_fill:
                stored = stored * below // max(positions, 1)
            else:
                stored = level.entries(positions, shape[k], self._fields(k), below)
        return stored

    @property
    def buffers(self) -> dict[str, np.ndarray[Any, Any]]:
        """The parts in use of all buffers, as views, by ``"<depth>_<name>"``."""
        result = {}
        for k, (_, _, sizes, _) in enumerate(self._levels()):
            for name, size in sizes.items():
                part = self._layout.part(k, name)
                result[f"{k}_{name}"] = self._arrays[part.number][:size]
        return result

    @property
    def value(self) -> Any:
        """The value of a 0-dimensional tensor, as a Python scalar (a tuple of them for tuples)."""
        if self.ndim:
            raise DimensionMismatch(
                f"a tensor with {self.ndim} dimensions has no single value",
                hint="A[i, j] reads one element",
            )
        place = self._layout
        if not place.buffers and len(place.scalars) == 1:
            return self._scalar(place.scalars[0]).item()
        return self[()].item()

    def _levels(self) -> Iterator[tuple[Format, int, dict[str, int], int]]:
        """Each level with its number of positions, its buffers' sizes and its child's positions."""
        positions, dims = 1, iter(self.shape)
        for k, level in enumerate(self._layout.levels):
            shape = 0 if level.is_leaf else next(dims)
            sizes, below = sizes_of(level, positions, shape, self._fields(k))
            yield level, positions, sizes, below
            positions = below

    def _fields(self, k: int) -> Mapping[str, Any]:
        """The arrays (whole) and scalars of level ``k``, by name."""
        return _Fields(self, k)

    def words(self) -> tuple[int]:
        """How a kernel is given this tensor: the address of its record."""
        return (self.address,)

    # -- the record ---------------------------------------------------------------------

    def _scalar(self, part: Part) -> Any:
        if part.field.dtype.itemsize == 8:
            return self._record.view(part.field.dtype)[part.offset]
        raw = self._record[part.offset :].view(np.uint8)[: part.field.dtype.itemsize]
        return raw.view(part.field.dtype)[0]

    def _set_fields(self, shape: tuple[int, ...], fields: list[dict[str, Any]]) -> None:
        """Take over a shape, and the scalars and new buffers of each level."""
        words, spans, rest = list(shape), [], []
        for part in self._layout.scalars:
            value = fields[part.level][part.field.name]
            plain = type(value) is int and value >= 0 and part.field.dtype.kind in "iu"
            words += [value] if plain else [0] * part.words
            if not plain:
                rest.append((part, value))
        for part in self._layout.buffers:
            array = fields[part.level][part.field.name]
            self._arrays[part.number] = array
            start, size = address_of(array), array.size
            words += (start, size)
            if size:
                spans.append((start, start + array.nbytes))
        if self._layout.sizeless is not None:
            words.append(0)
        if words:
            self._record[:] = words
        for part, value in rest:
            self._set_scalar(part, value)
        self._remember(spans)

    def _mark_sizeless(self, sizeless: bool) -> None:
        """Note whether this has no size because it was made without a shape."""
        if self._layout.sizeless is not None:
            self._record[self._layout.sizeless] = sizeless

    @property
    def _sizeless(self) -> bool:
        place = self._layout.sizeless
        return place is not None and bool(self._record[place])

    def _set_scalar(self, part: Part, value: Any) -> None:
        raw = self._record[part.offset :].view(np.uint8)[: part.field.dtype.itemsize]
        raw.view(part.field.dtype)[0] = value

    def _set_array(self, part: Part, array: np.ndarray[Any, Any]) -> None:
        self._arrays[part.number] = array
        self._record[part.offset] = address_of(array)
        self._record[part.offset + 1] = array.size

    def _note_memory(self) -> None:
        """Remember where the buffers are (the record where there are none), to notice memory that
        is shared."""
        spans = []
        for part in self._layout.buffers:
            if size := self._arrays[part.number].nbytes:
                start = int(self._record[part.offset])
                spans.append((start, start + size))
        self._remember(spans)

    def _note_readonly(self) -> None:
        """Have kernels refuse to write this where a buffer is read-only."""
        if any(array.size and not array.flags.writeable for array in self._arrays):
            self.signature = tensor_signature(self.format, self.signature.fixed, readonly=True)

    def _leave_readonly(self) -> None:
        """Take buffers of one's own, with nothing in them, for those that are read-only."""
        self.signature = tensor_signature(self.format, self.signature.fixed)
        for part in self._layout.buffers:
            self._set_array(part, np.empty(0, part.field.dtype))
        self._note_memory()

    def _remember(self, spans: list[tuple[int, int]]) -> None:
        self._memory = tuple(spans) or ((self.address, self.address + self._record.nbytes),)
        self._state = object()

    def _adopt_moved(self, kernel: Any, keep: bool = False) -> None:
        """Take over the buffers that a kernel has reallocated; what means nothing outside of it
        only to ``keep`` it for the next call."""
        if not self._arrays:  # the memory is another's, and stays where it is
            return
        for part in self._layout.buffers:
            address = int(self._record[part.offset])
            if address != address_of(self._arrays[part.number]):
                dtype = part.field.dtype
                size = int(self._record[part.offset + 1])
                memory = kernel.adopt(address, size * dtype.itemsize)
                self._arrays[part.number] = np.frombuffer(memory, dtype, size)
        if not keep:
            self._drop_scratch()
        self._note_memory()

    def _drop_scratch(self) -> None:
        """Give back the memory of what means nothing outside of a kernel."""
        for part in (*self._layout.scalars, *self._layout.buffers):
            if part.field.scratch and part.field.is_buffer:
                self._set_array(part, np.empty(0, part.field.dtype))
            elif part.field.scratch:
                self._set_scalar(part, part.field.init)

    # -- conversions --------------------------------------------------------------------

    def to_numpy(self) -> np.ndarray[Any, Any]:
        """A dense array of the same values (new memory, except where it is stored like that)."""
        from finch_core.convert import to_numpy

        return to_numpy(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = self.to_numpy()
        fresh = not any(np.may_share_memory(array, mine) for mine in self._arrays)
        cast = dtype is not None and array.dtype != dtype
        if copy is False and (fresh or cast):
            raise ValueError("a dense array of this tensor cannot be made without a copy")
        if cast:
            return array.astype(dtype)
        return array.copy() if copy and not fresh else array

    def to_scipy(self) -> Any:
        """A SciPy sparse array: CSR for matrices (sharing memory where this is stored so), else
        COO. Stored zeros are kept as ``to`` keeps them."""
        from finch_core.scipy_arrays import to_scipy

        return to_scipy(self)

    def to(self, format: Format) -> Tensor:
        """This tensor in another format.

        What is stored is stored there, fills too; only those of levels that store stretches of
        indices (``Dense``, ``RunList``, ``SparseBand``) are left out where ``format`` can do so.
        """
        return Tensor(format, self)

    def __copy__(self) -> Tensor:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return self.copy()

    def __reduce__(self) -> Any:
        return _restored, (self.format, self._record, self._arrays)

    def copy(self) -> Tensor:
        """A tensor of the same format with memory of its own."""
        other = Tensor._bare(self.format)
        other._record[:] = self._record
        for part in other._layout.buffers:
            other._set_array(part, self._arrays[part.number].copy())
        other._note_memory()
        return other

    def __getitem__(self, index: Any) -> Any:
        """One element, by one integer a dimension; negative ones count from the end."""
        from finch_core.convert import element

        return element(self, checked_index(index, self.shape))

    def __repr__(self) -> str:
        from finch_core.describe import describe

        return describe(self)


class _Unset:
    """What all tensors of a format begin as."""

    __slots__ = ("arrays", "layout", "record", "signature")

    def __init__(self, format: Format) -> None:
        self.signature, self.layout = tensor_signature(format), layout(format)
        self.arrays = [np.empty(0, part.field.dtype) for part in self.layout.buffers]
        model = Tensor.__new__(Tensor)
        model._layout, model._arrays = self.layout, list(self.arrays)
        model._record = self.record = np.zeros(self.layout.words, np.uint64)
        for part in self.layout.buffers:
            model._set_array(part, self.arrays[part.number])
        for part in self.layout.scalars:
            model._set_scalar(part, part.field.init)


_UNSET: dict[Format, _Unset] = {}


def _restored(format: Format, record: Any, arrays: list[Any]) -> Tensor:
    """A tensor that was pickled: with a record of its own, that has its own addresses."""
    tensor = Tensor._bare(format)
    tensor._record[:] = record
    for part in tensor._layout.buffers:
        tensor._set_array(part, arrays[part.number])
    tensor._note_memory()
    tensor._note_readonly()
    return tensor


class _Fields(Mapping[str, Any]):
    """What a level of a tensor stores, by name; looked up when it is asked for."""

    __slots__ = ("_parts", "_tensor")

    def __init__(self, tensor: Tensor, k: int) -> None:
        self._tensor, self._parts = tensor, tensor._layout.fields[k]

    def __getitem__(self, name: str) -> Any:
        part = self._parts[name]
        if part.field.is_buffer:
            return self._tensor._arrays[part.number]
        return self._tensor._scalar(part)

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)


def address_of(array: np.ndarray[Any, Any]) -> int:
    """Where an array's memory begins."""
    try:
        address: int = int(_ffi.cast(_ADDRESS, _ffi.from_buffer(array)))
    except (ValueError, BufferError):  # it is not contiguous, or of a dtype that buffers lack
        address = array.__array_interface__["data"][0]
    return address


def _is_shape(data: Any) -> bool:
    """Whether ``data`` is meant as a shape: a tuple of integers. (Data are nested lists.)"""
    return isinstance(data, tuple) and all(map(_is_whole, data))


def _is_whole(n: Any) -> bool:
    return type(n) is int or (isinstance(n, (int, np.integer)) and not isinstance(n, bool))


def checked_shape(shape: Any, ndim: int) -> tuple[int, ...]:
    """``shape`` as a tuple of ``ndim`` non-negative ints. Raises ``FormatError`` for what is no
    integer, ``IndexOverflow`` for more than ``MOST_INDICES``, else ``DimensionMismatch``."""
    for n in shape:
        if not _is_whole(n):
            raise FormatError(f"a dimension is an integer, not {type(n).__name__} {n!r}")
    taken = tuple([int(n) for n in shape])
    if len(taken) != ndim:
        raise DimensionMismatch(
            f"a shape of {count(len(taken), 'dimension')} for a format of {ndim}",
            hint="nest one level a dimension, ending in a leaf",
        )
    if taken and min(taken) < 0:
        raise DimensionMismatch(f"a dimension cannot be negative: {taken}")
    if taken and max(taken) > MOST_INDICES:
        raise IndexOverflow(
            f"a dimension of {max(taken)} is too long: a tensor has at most {MOST_INDICES} indices",
            hint="split the dimension in two",
        )
    return taken


def checked_index(index: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """``index`` as a tuple of indices within ``shape``."""
    indices = index if isinstance(index, tuple) else (index,)
    if len(indices) != len(shape):
        raise DimensionMismatch(
            f"{count(len(indices), 'index', 'indices')} for a tensor of "
            f"{count(len(shape), 'dimension')}",
            hint="element access takes one integer a dimension",
        )
    result = []
    for k, (i, n) in enumerate(zip(indices, shape, strict=True)):
        if not isinstance(i, (int, np.integer)) or isinstance(i, bool):
            raise FormatError(
                f"element access takes integers, not {type(i).__name__}",
                hint="to_numpy() gives an array that can be sliced",
            )
        if not -n <= i < n:
            raise OutOfBounds(
                f"index {i} is out of bounds for dimension {k} of size {n}",
                hint="from 0 up to the size, or from -1 down to minus the size",
            )
        result.append(int(i) % n)
    return tuple(result)


def from_coordinates(
    format: Format, shape: tuple[int, ...], coords: list[Any], values: Any, *, owned: bool = False
) -> Tensor:
    """A tensor from one array of indices a dimension and an array of values. Duplicates add up. The
    arrays are copied, unless they are ``owned``: nobody else has them."""
    from finch_core.convert import from_coordinates as build

    return build(format, shape, coords, values, owned=owned)
