"""Tensors: a format, a shape, and the buffers of its levels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from finch_core.errors import (
    DimensionMismatch,
    FinchError,
    FormatError,
    IndexOverflow,
    OutOfBounds,
    OutOfMemory,
    count,
)
from finch_core.interface.abi import MOST_INDICES
from finch_core.interface.array_methods import ArrayMethods
from finch_core.interface.array_namespace import METHODS
from finch_core.interface.display import drawn
from finch_core.interface.level import Format
from finch_core.interface.plugins import hub
from finch_core.ir.dtypes import as_number
from finch_core.locks import imported
from finch_core.runtime.lending import lend
from finch_core.runtime.over_buffers import copy_of
from finch_core.runtime.storage import TensorStorage
from finch_core.runtime.tensor_records import UNSET_BY_ID, unset


def _without_arguments(format: type[Format]) -> Format:
    """The format of a class. Raises ``FormatError`` for one that needs arguments."""
    try:
        return format()
    except TypeError as error:
        raise FormatError(
            f"{format.__name__} is not a format by itself: {error}",
            hint=f"as in Tensor({format.__name__}(Element(0.0)), data) for one dimension",
        ) from None


_FOR_THE_RUNTIME = {name for name in vars(TensorStorage) if not name.startswith("_")} - {
    "buffers", "dtype", "fill_value", "format", "ndim", "nstored", "shape",
}  # fmt: skip


class Tensor(ArrayMethods, TensorStorage):
    """A tensor stored in a format: a tree of levels, one for each dimension, that ends in a leaf.

    ``Tensor(fmt)`` has dimensions of 0, which a kernel that declares it sets.
    ``Tensor(fmt, shape)``, with a tuple of integers, holds the fill value everywhere.
    ``Tensor(fmt, data)`` has the shape and values of ``data``: a NumPy array, a SciPy sparse array,
    another tensor, or nested lists, with the format's number of dimensions and a dtype that the
    format's dtype can represent.

    Raises ``FormatError`` for what is no format or cannot be stored in it, ``DimensionMismatch``
    for a wrong number of dimensions, ``IndexOverflow`` for a dimension that the format's index
    dtype cannot hold, and ``OutOfMemory``.
    """

    __slots__ = ()
    __finch_local__ = True

    def __dir__(self) -> Iterable[str]:
        """The attributes that users rely on: completion leaves out what is for the runtime."""
        return sorted(set(super().__dir__()) - _FOR_THE_RUNTIME)

    def __init__(self, format: Format, data: Any = None, /) -> None:
        known = UNSET_BY_ID.get(id(format)) if data is None else None
        if known is not None and self._setup_sizeless(format, known[1]):
            return
        if isinstance(format, type) and issubclass(format, Format):
            format = _without_arguments(format)
        if not isinstance(format, Format):
            raise FormatError(
                f"the first argument of Tensor is a level format, not {type(format).__name__}",
                hint="Tensor(Dense(SparseList(Element(0.0))), data), or asarray(data)",
            )
        if data is None and self._setup_sizeless(format, unset(format)):
            return
        self._setup(format)
        if data is None and format.fill_value is None:
            return  # a variable: what is not stored has no value
        if data is None:
            self._empty((0,) * self.layout.ndim)
            self._mark_sizeless(True)
            self._keep_sizeless()
        elif _is_shape(data):
            self._empty(checked_shape(data, self.layout.ndim))
        else:
            _conversions().convert_into(self, data)

    @classmethod
    def from_buffers(
        cls, format: Format, shape: tuple[int, ...], buffers: Mapping[str, Any]
    ) -> Tensor:
        """A tensor over existing arrays, which are checked and used without a copy.

        ``buffers`` maps names such as ``"0_ptr"``, ``"1_idx"``, ``"2_val"`` (the depth of the level
        and the name of the field; or the name alone where only one level has it) to contiguous
        one-dimensional arrays of the field's dtype. ``docs/formats.md`` lists the buffers of each
        level; private and scratch fields are ignored. Over read-only arrays the tensor can be read
        but not written.

        Raises ``FormatError`` with the buffer and the position where the buffers are not valid for
        the format, ``DimensionMismatch`` for a shape of another number of dimensions, and
        ``IndexOverflow`` for a dimension that is too long for the index dtype.
        """
        from finch_core.runtime.validation import take_buffers, validate

        if not isinstance(buffers, Mapping):
            raise FormatError(
                f"buffers is a {type(buffers).__name__}, not a mapping from names to arrays",
                hint='as in {"1_ptr": ptr, "1_idx": idx, "2_val": val}; docs/formats.md lists them',
            )
        self = cls.bare(format)
        shape = checked_shape(shape, format.ndim)
        taken = take_buffers(self.layout, dict(buffers))
        self.set_shape(shape)
        for part in self.layout.scalars:
            key = (part.level, part.field.name)
            if key in taken:
                self.set_scalar(part, taken[key])
        for part in self.layout.buffers:
            empty = np.empty(0, part.field.dtype)
            self.set_array(part, taken.get((part.level, part.field.name), empty))
        self.note_memory()
        self.note_readonly()
        validate(self)
        lend(self)
        return self

    def fill(self, shape: tuple[int, ...]) -> None:
        """Set the shape, and every element to the fill value, in new buffers.

        Raises ``DimensionMismatch``, ``IndexOverflow`` or ``OutOfMemory`` for a shape that the
        format cannot have, and ``FormatError`` for a number: ``A[...] = 3`` sets all elements.
        """
        if isinstance(shape, (int, float, complex, np.generic)):
            raise FormatError(
                f"fill takes a shape, and {shape} is a number",
                hint=f"A[...] = {shape} sets all elements; A.fill(A.shape) empties the tensor",
            )
        self._empty(checked_shape(shape, self.ndim))
        self._mark_sizeless(False)

    def _empty(self, shape: tuple[int, ...]) -> None:
        if self.signature.readonly:
            self._leave_readonly()
        try:
            _conversions().empty_into(self, shape)
        except FinchError:
            raise
        except (MemoryError, ValueError) as error:  # NumPy has ValueError for sizes beyond int64
            raise OutOfMemory(f"there is no memory for a tensor of shape {shape}") from error

    @property
    def value(self) -> Any:
        """The value of a 0-dimensional tensor, as a Python scalar (a tuple for a tuple dtype); a
        date or a span of time as NumPy's.

        Raises ``DimensionMismatch`` for a tensor with dimensions.
        """
        if self.ndim:
            raise DimensionMismatch(
                f"a tensor with {self.ndim} dimensions has no single value",
                hint="A[i, j] reads one element",
            )
        place = self.layout
        if not place.buffers and len(place.scalars) == 1:
            return as_number(self.scalar(place.scalars[0]))
        return as_number(self[()])

    # -- conversions --------------------------------------------------------------------

    def to_numpy(self) -> np.ndarray[Any, Any]:
        """A dense NumPy array of the tensor's shape, dtype and values; a view of the tensor's own
        memory if its levels are all ``Dense``, else a copy."""
        array: np.ndarray[Any, Any] = _conversions().to_numpy(self)
        return array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = self.to_numpy()
        cast = dtype is not None and array.dtype != dtype
        if copy is None and not cast:
            return array
        fresh = not any(np.may_share_memory(array, mine) for mine in self.arrays)
        if copy is False and (fresh or cast):
            raise ValueError("a dense array of this tensor cannot be made without a copy")
        if cast:
            return array.astype(dtype)
        return array.copy() if copy and not fresh else array

    def structure(self) -> np.ndarray[Any, Any]:
        """Which elements are stored, ``stored(A[i, j])``: a dense array of bools."""
        array: np.ndarray[Any, Any] = _conversions().structure(self)
        return array

    def to_scipy(self, *, index_dtype: Any = None) -> Any:
        """A SciPy sparse array of the same values: ``csr_array`` for a matrix, over this tensor's
        memory if it is stored as CSR, else ``coo_array`` (also for a matrix with far more rows than
        values). Stored zeros are kept as by ``to``. ``index_dtype=np.int32``: its index arrays are
        of that dtype, as scikit-learn wants them, copies where the tensor's are of another.

        Raises ``FormatError`` if the fill value is not 0, and ``IndexOverflow`` for indices that do
        not fit in ``index_dtype``."""
        found = hub().conversion("scipy").give(self)
        if index_dtype is None:
            return found
        from finch_core.runtime.scipy_indices import with_index_dtype

        return with_index_dtype(found, index_dtype)

    def to(self, format: Format, *, progress: bool = False) -> Tensor:
        """A new tensor with the values of this one in another format of the same number of
        dimensions; raises as ``Tensor(format, data)`` does. ``progress``: on a terminal, the time
        that it takes is shown while it runs, after two seconds (by tqdm).

        Stored elements stay stored, even those equal to the fill value. Exception: a source whose
        innermost level stores ranges of indices (``Dense``, ``RunList``, ``SparseBand``) stores
        fill values only to be contiguous, and those are dropped.
        """
        if progress:
            from finch_core.runtime.waiting import waiting

            with waiting("conversion"):
                return Tensor(format, self)
        return Tensor(format, self)

    def __copy__(self) -> Tensor:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return self.copy()

    def __reduce__(self) -> Any:
        return _restored, (self.format, self.record, self.arrays_in_use())

    def copy(self) -> Tensor:
        """A copy: a tensor of the same format and values with memory of its own."""
        return copy_of(self)

    def like(self, value: Any = None, dtype: Any = None) -> Tensor:
        """A tensor that stores the same elements as this one, all of them ``value`` (None: the fill
        value), in memory of its own.

        ``dtype`` is that of the values (None: this tensor's; for a ``Pattern``, which has no
        values, that of ``value``). A kernel fills it in place, ``if stored(C[i, j]): C[i, j] =
        ...``. Raises ``FormatError`` if the dtype cannot represent ``value`` or the fill value.
        """
        from finch_core.runtime.likeness import like

        made, wanted = like(self, value, dtype)
        if wanted is not None:
            _conversions().set_stored(made, wanted)
        return made

    def __getitem__(self, index: Any) -> Any:
        """One element as a NumPy scalar, for one integer for each dimension; negative integers
        count from the end. Other indices are those of the array namespace (``finch_array``).

        Raises ``OutOfBounds``, ``DimensionMismatch`` for a wrong number of indices and
        ``FormatError`` for what is not an integer where there is no array namespace."""
        if index.__class__ is not slice and _is_element(index, self.layout.ndim):
            return _conversions().element(self, checked_index(index, self.shape))
        if (method := METHODS.get("getitem")) is not None:  # without one more call
            return method(self, index)
        if not hub().array_namespaces:
            return _conversions().element(self, checked_index(index, self.shape))
        return super().__getitem__(index)

    def __repr__(self) -> str:
        from finch_core.runtime.describe import describe

        return describe(self)

    def __str__(self) -> str:
        """The element of a tensor without dimensions, as of NumPy's; else the same as ``repr``."""
        return repr(self) if self.ndim else str(self.to_numpy()[()])

    def _repr_html_(self) -> str | None:
        """The picture that notebooks show: the levels with their buffers, and where elements are
        stored. Its size, and the work to draw it, are bounded."""
        return drawn("tensor_html", self)


def _conversions() -> Any:
    """What converts, which imports this module."""
    return imported("finch_core.runtime.convert")


def _restored(format: Format, record: Any, arrays: list[Any]) -> Tensor:
    """Unpickle a tensor: the record is rebuilt with the addresses of the new buffers; those that
    lie at any byte of what was received are copied. Raises ``FormatError`` where the parts are none
    of a valid tensor."""
    from finch_core.runtime.validation import check_parts, validate

    try:
        arrays = [_aligned(array) for array in arrays]
        check_parts(unset(format).layout, unset(format).record, record, arrays)
        tensor = Tensor.of_parts(format, record, arrays)
        for part in tensor.layout.scalars:
            if part.field.private:  # of memory that was not in use, and is left behind
                tensor.set_scalar(part, part.field.init)
        tensor.layout.require_lengths(checked_shape(tensor.shape, tensor.ndim))
        validate(tensor)
    except (FinchError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as why:
        message = why.message if isinstance(why, FinchError) else f"{type(why).__name__}: {why}"
        raise FormatError(
            f"the pickled tensor is damaged, or one of another version: {message}",
            hint="pickle it again; files keep tensors for longer, finch_core.write(path, A)",
        ) from None
    tensor.note_readonly()
    return tensor


def _aligned(array: Any) -> Any:
    return array.copy() if isinstance(array, np.ndarray) and not array.flags.aligned else array


def _is_element(index: Any, ndim: int) -> bool:
    """Whether ``index`` is one integer for each of ``ndim`` dimensions."""
    if not isinstance(index, tuple):
        return ndim == 1 and _is_whole(index)
    return len(index) == ndim and all(map(_is_whole, index))


def _is_shape(data: Any) -> bool:
    """Whether ``data`` is a shape: a tuple of integers. (Nested lists are values.)"""
    return isinstance(data, tuple) and all(map(_is_whole, data))


def _is_whole(n: Any) -> bool:
    return type(n) is int or (isinstance(n, (int, np.integer)) and not isinstance(n, bool))


def checked_shape(shape: Any, ndim: int) -> tuple[int, ...]:
    """``shape`` as a tuple of ``ndim`` non-negative ints. Raises ``FormatError`` for a dimension
    that is not an integer, ``IndexOverflow`` for one beyond ``MOST_INDICES``, and
    ``DimensionMismatch`` for a negative one or a wrong number of them."""
    for n in shape:
        if n.__class__ is not int and not _is_whole(n):
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
    """``index`` as a tuple of ints from 0 up to the dimensions in ``shape``; raises as
    ``Tensor.__getitem__`` does."""
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
