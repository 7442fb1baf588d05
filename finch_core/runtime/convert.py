"""Conversions: from one format to another by compiled kernels, and to and from NumPy."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from finch_core.errors import DimensionMismatch, FormatError, OutOfMemory
from finch_core.interface.dense_format import dense_format
from finch_core.interface.level import Format
from finch_core.interface.plugins import hub, when_plugins_change
from finch_core.interface.signatures import tensor_signature
from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import as_number, holds
from finch_core.ir.expressions import Access, Call, Expr, Index, Literal, Name
from finch_core.ir.program import Declare, Loop, Program, Sequential, Sieve, Stmt, Stored, Update
from finch_core.locks import Lock
from finch_core.runtime.arguments import UNMASK, is_masked
from finch_core.runtime.arrays import from_array
from finch_core.runtime.backends import LAST, VARIABLE
from finch_core.runtime.compressed import compressed_fields, coordinate_format, format_of
from finch_core.runtime.kernel import Kernel
from finch_core.runtime.lending import lend
from finch_core.runtime.lists import (
    array_of_lists,
    coordinates_of_lists,
    fields_from_array,
    is_dense,
    listed_element,
)
from finch_core.runtime.options import LINEAR, Options
from finch_core.runtime.over_buffers import maker_of_fields
from finch_core.runtime.sorting import csr_buffers, sorted_coordinates
from finch_core.runtime.tensor import Tensor, checked_shape
from finch_core.runtime.tensor_records import MOST_FORMATS
from finch_core.runtime.transposing import transposed_into
from finch_core.runtime.validation import are_within

SMALL = 4096
"""Tensors of at most this many indices are made empty by the interpreter, without compiling."""

_templates: dict[Format, Tensor] = {}
_lock = Lock()


def asarray(data: Any) -> Any:
    """``data`` as a tensor of the same shape and dtype, without a copy where possible.

    A C-contiguous NumPy array becomes a dense tensor over its memory (another array is copied),
    SciPy's CSR and CSC become ``Dense(SparseList(Element(0)))`` over their arrays (CSC seen through
    a ``swizzle``), objects of other libraries are read by a plugin's conversion, or else by
    ``to_scipy_sparse()``, ``__dlpack__`` or ``__array__``; nested lists are read as ``np.asarray``
    reads them, and tensors and wrappers are returned as they are. Raises ``FormatError`` for masked
    arrays, ragged lists, unsupported dtypes, and objects that do not give their values.
    """
    if hasattr(data, "signature"):
        return data
    if is_masked(data):
        raise FormatError("this array is masked, and its mask would be lost", hint=UNMASK)
    if (conversion := hub().conversion_of(data)) is not None:
        return _apart(conversion.take(data))
    try:
        return from_array(np.asarray(data), Tensor)
    except ValueError:
        raise FormatError(
            "the lists are not all of one length",
            hint="nested lists are read as np.array reads them: each level of one length",
        ) from None


def _apart(found: Any) -> Any:
    """A tensor of its own over the buffers of ``found``, which a conversion may remember: what
    becomes of the one is not to be seen in the other, but for values that are written in place."""
    if isinstance(found, Tensor):
        own = Tensor.of_parts(found.format, found.record, found.arrays)
        own.signature = found.signature
        lend(own)
        return own
    if hasattr(found, "tensor"):
        return found.around(_apart(found.tensor))
    return found


def wrapped(data: Any) -> Any:
    """``asarray`` for the tensor inside a wrapper. An array that must be copied becomes read-only:
    what a kernel writes to the copy would not appear in the array."""
    tensor = asarray(data)
    if isinstance(data, np.ndarray) and data.size and not tensor.is_over(data):
        tensor.signature = tensor_signature(tensor.format, fixed=True, readonly=True)
    return tensor


# -- empty tensors --------------------------------------------------------------------------


def empty_into(tensor: Tensor, shape: tuple[int, ...]) -> None:
    """Set the shape of ``tensor``, and every element to the fill value."""
    if tensor.become_blank(shape):
        return
    if any(shape):
        small = math.prod(n + 1 for n in shape) <= SMALL
        made = Tensor.bare(tensor.format)  # the tensor may be one that a call is writing
        _declare(made, shape, Options(backend=LAST if small else None))
        tensor.adopt(made.record, made.arrays)
        return
    with _lock:
        template = _templates.get(tensor.format)
    if template is None:
        template = Tensor.bare(tensor.format)
        _declare(template, shape, Options(backend=LAST))
        with _lock:
            _templates[tensor.format] = template
    tensor.adopt_copy(template)


def _declare(tensor: Tensor, shape: tuple[int, ...], options: Options) -> None:
    """Run a program that declares ``tensor`` and nothing else."""
    tensor.set_shape(shape)
    tensor.reset_scalars()  # a kernel that failed may have left them invalid
    fill = Literal(tensor.fill_value, tensor.dtype)
    program = Program("empty", ("out",), Declare("out", fill))
    cached_kernel(program, options)(tensor)


# -- kernels made here ----------------------------------------------------------------------

_kernels: dict[Any, Any] = {}


def cached_kernel(program: Program, options: Options) -> Any:
    """The kernel of a program that this package makes; equal programs have one."""
    key = (program.name, program.params, program.body, options, os.environ.get(VARIABLE))
    kernel = _kernels.get(key)
    if kernel is None:
        kernel = _kernels.setdefault(key, Kernel.of_program(program, options))
    return kernel


@cache
def kernel_of(function: Any) -> Any:
    """The kernel of a function of this package."""
    return Kernel(function, LINEAR)


def _copy_program(ndim: int, sieve: bool, fill: Any, dtype: Any) -> Program:
    """``out[...] = fill; for i, j in _: if data[i, j] != fill: out[i, j] = data[i, j]``; a fill
    that is NaN equals NaNs, of real numbers."""
    indices = tuple(Index(f"i{k}") for k in range(ndim))
    value: Expr = Access("data", indices)
    body: Stmt = Update(Access("out", indices), None, value)
    if sieve:
        stores: Expr = Call(prim.ne, (value, Literal(fill, dtype)))
        if np.dtype(dtype).kind == "f" and fill != fill:
            stores = Call(prim.not_, (Call(prim.isnan, (value,)),))
        body = Sieve(stores, body)
    for index in reversed(indices):
        body = Loop(index, None, body)
    declare = Declare("out", Literal(fill, dtype))
    return Program("convert", ("out", "data"), Sequential((declare, body)))


def convert_into(out: Tensor, data: Any) -> None:
    """Set ``out`` to the shape and values of ``data``: a tensor, NumPy or SciPy array, or nested
    lists of the same number of dimensions.

    Elements that ``data`` stores are stored in ``out``, even those equal to the fill value, unless
    the innermost level of ``data`` stores ranges of indices (``Format.pads``).

    Raises ``DimensionMismatch`` if they have another number of dimensions than the format.
    """
    if _take_rows(out, data):
        return
    source = asarray(data)
    if not isinstance(source, Tensor):
        made = hub().conversion_of(source)
        if made is not None and not made.fallback:  # a plugin's own, such as a lazy array
            source = asarray(made.take(source))
    if source.ndim != out.ndim:
        raise DimensionMismatch(
            f"data of {source.ndim} dimensions for a format of {out.ndim}",
            hint="nest one level a dimension, ending in a leaf",
        )
    if not in_order(source):
        if getattr(source, "permutes", False) and getattr(source, "perm", None) == (1, 0):
            fields = transposed_into(out, source.tensor, kernel_of)
            if fields is not None:
                out.set_fields(source.shape, fields)
                return
        source = _in_order(source)
    key = out.signature, source.signature, os.environ.get(VARIABLE)
    kernel = _copying.get(key)
    if kernel is None and (fields := fields_from_array(out, source)) is not None:
        out.set_fields(source.shape, fields)
        return
    if kernel is None:
        if len(_copying) >= MOST_FORMATS:
            _copying.clear()
        kernel = _copying[key] = _copying_kernel(out, source)
    out.set_shape(source.shape)
    kernel(out, source)


def _take_rows(out: Tensor, data: Any) -> bool:
    """Set ``out``, a CSR matrix, to the coordinates of an object of another library, if it holds
    such: they are sorted into its rows."""
    if hasattr(data, "signature") or out.layout.ndim != 2 or out.fill_value != 0:
        return False
    conversion = hub().conversion_of(data)
    found = conversion.coordinates(data) if conversion is not None else None
    if found is None:
        return False
    shape, coords, values = found
    if len(shape) != 2:
        return False
    check_range(shape, coords)
    buffers = _rows(out.format, shape, [*coords, values], False)
    if buffers is None:
        return False
    rows = {"ptr": buffers["1_ptr"], "idx": buffers["1_idx"]}
    out.set_fields(shape, [{}, rows, {"val": buffers["2_val"]}])
    return True


def _copying_kernel(out: Tensor, source: Any) -> Any:
    """The kernel that copies tensors like ``source`` into ones like ``out``. Raises ``FormatError``
    where the dtype of ``out`` does not hold the values."""
    if not holds(out.dtype, source.dtype):
        raise FormatError(
            f"the format holds {out.dtype}, and cannot take data of {source.dtype}",
            hint=_wider(out, source.dtype),
        )
    sieve = not (_stores_all(out.format) or _keeps_fills(source, out))
    program = _copy_program(out.ndim, sieve, out.fill_value, out.dtype)
    return cached_kernel(program, LINEAR)


def _wider(out: Tensor, dtype: np.dtype[Any]) -> str:
    """What would hold values of ``dtype``, for a message."""
    leaf = list(out.format.levels())[-1]
    if dtype.kind not in "biufc":
        return f"give the {leaf.name} the dtype {dtype}"
    fill = str(as_number(dtype.type(out.fill_value))).strip("()")
    if dtype not in (np.dtype(int), np.dtype(float), np.dtype(complex)):
        fill = f"np.{dtype}({fill})"
    name = leaf.name if leaf.layout == "values" else hub().layout("values").name
    return f"write {name}({fill}), or cast the data to {out.dtype}"


_copying: dict[Any, Any] = {}
when_plugins_change(_copying.clear)


def _in_order(source: Any) -> Any:
    """A tensor-like with the values of the wrapper ``source`` that can be read in the order of its
    indices: the wrapper itself, or a copy if it permutes dimensions. Raises ``FormatError`` for a
    wrapper that has no array."""
    if hasattr(source, "coordinates"):
        shape, coords, values = to_coordinates(source)
        found = sorted_coordinates(shape, coords, values, kernel_of)
        return from_sorted(shape, *found, source.fill_value)
    inner = source
    while not isinstance(inner, Tensor):
        if not getattr(inner, "has_array", False):
            name = getattr(inner, "name", type(inner).__name__)
            why = getattr(inner, "without_array", "it has no array")
            raise FormatError(
                f"the result of {name} cannot be converted: {why}",
                hint="read it in a kernel, into a tensor of its own",
            )
        if hasattr(inner, "coordinates"):  # it permutes the dimensions of the tensor inside
            return from_array(np.ascontiguousarray(source.to_numpy()), Tensor)
        inner = inner.tensor
    return source


def _stores_all(format: Format) -> bool:
    """Whether a format stores every element, so that conversions drop none."""
    return all(level.stores_fill or level.is_leaf for level in format.levels())


def _keeps_fills(source: Any, out: Tensor) -> bool:
    """Whether stored fill values of ``source`` are meant (not padding), and are fill values of
    ``out``, too."""
    while not isinstance(source, Tensor):
        source = source.tensor
    if source.ndim and list(source.format.levels())[-2].pads:
        return False
    return bool(source.fill_value == out.fill_value)


def in_order(source: Any) -> bool:
    """Whether ``source`` is stored in the order of its dimensions: a tensor, no wrapper."""
    return isinstance(source, Tensor)


def to_coordinates(source: Any) -> tuple[tuple[int, ...], list[Any], Any]:
    """The shape of ``source``, its stored indices (one array for each dimension) and values."""
    if not hasattr(source, "coordinates"):
        return stored_coordinates(source)
    shape, coords, values = source.coordinates()
    return shape, list(coords), values


def stored_coordinates(tensor: Any, shared: bool = False) -> tuple[tuple[int, ...], list[Any], Any]:
    """The shape, the stored indices (one array for each dimension, sorted) and the stored values of
    a tensor; of formats that store ranges of indices, elements equal to the fill are left out.
    ``shared``: they are only read, and may be the tensor's own memory, in its dtypes."""
    found = coordinates_of_lists(tensor, shared)
    if found is not None:
        return found
    coords: list[Any] = []
    compressed, stored = _copied_as(coordinate_format, tensor), 1
    levels = compressed.layout.fields
    for below in levels[:-1]:
        ends = compressed.arrays[below["ptr"].number][: stored + 1]
        stored = int(ends[-1])
        counts = ends[1:] - ends[:-1]
        coords = [np.repeat(c, counts) for c in coords]
        coords.append(compressed.arrays[below["idx"].number][:stored])
    return tensor.shape, coords, compressed.arrays[levels[-1]["val"].number][:stored]


def dense_copy(wrapper: Any) -> np.ndarray[Any, Any]:
    """The values of a wrapper with an array, read by a kernel."""
    return _copied_as(dense_format, wrapper).to_numpy()


def _copied_as(build: Callable[[int, Any, Any], Format], tensor: Any) -> Tensor:
    """A copy of a tensor or wrapper in the format that ``build`` gives for its number of
    dimensions, fill and dtype."""
    key = build, tensor.signature
    make = _makers.get(key)
    if make is None:
        if len(_makers) >= MOST_FORMATS:
            _makers.clear()
        make = _makers[key] = Tensor.maker(build(tensor.ndim, tensor.fill_value, tensor.dtype))
    out: Tensor = make()
    convert_into(out, tensor)
    return out


_makers: dict[Any, Callable[..., Any]] = {}
when_plugins_change(_makers.clear)


# -- coordinates ----------------------------------------------------------------------------


def from_coordinates(
    format: Format, shape: tuple[int, ...], coords: list[Any], values: Any, *, owned: bool = False
) -> Tensor:
    """A tensor of ``format`` from coordinates: ``coords`` has one integer array for each dimension,
    ``values`` is an array of the same length.

    Duplicates are added; zeros are stored. The arrays are copied unless they are ``owned``, that is
    nobody else changes them. Raises ``FormatError`` for an index outside ``shape``, and
    ``OutOfMemory``.
    """
    shape = checked_shape(shape, format.ndim)
    arrays = [np.asarray(c) for c in coords]
    check_range(shape, arrays)
    arrays = [a if a.dtype.kind == "i" else a.astype(np.intp) for a in arrays]
    parts = [*arrays, np.asarray(values)]
    if owned:
        coords.clear()
    del arrays, values  # what is held by nobody else makes room
    buffers = _rows(format, shape, parts, owned)
    if buffers is not None:
        return Tensor.from_buffers(format, shape, buffers)
    *arrays, values = parts
    taken = sorted_coordinates(shape, arrays, values, kernel_of)
    if taken[1] is values and not owned:
        taken = [array.copy() for array in arrays], values.copy()
    source = from_sorted(shape, *taken, format.fill_value)
    return source if source.format == format else Tensor(format, source)


def _rows(
    format: Format, shape: tuple[int, ...], parts: list[Any], owned: bool
) -> dict[str, Any] | None:
    """``csr_buffers``, of sizes for which there is memory."""
    try:
        return csr_buffers(format, shape, parts, owned, kernel_of)
    except (MemoryError, ValueError) as error:  # NumPy has ValueError for sizes beyond int64
        raise OutOfMemory(f"there is no memory for {shape[0]} rows") from error


def check_range(shape: tuple[int, ...], coords: Sequence[Any]) -> None:
    """Raise ``FormatError`` for an index outside of ``shape``."""
    for k, (array, n) in enumerate(zip(coords, shape, strict=True)):
        if not are_within(array, n):
            bad = int(np.flatnonzero((array < 0) | (array >= n))[0])
            raise FormatError(
                f"index {array[bad]} of dimension {k}, at position {bad}, is not within {n}"
            )


def from_sorted(shape: tuple[int, ...], coords: list[Any], values: Any, fill: Any) -> Tensor:
    """A tensor compressed in every dimension, from sorted, unique coordinates and their values."""
    return compressed_tensor(shape, compressed_fields(coords, values), fill)


def compressed_tensor(
    shape: Sequence[int], fields: list[dict[str, Any]], fill: Any, index: Any = np.int64
) -> Tensor:
    """A tensor over the buffers of ``compressed_fields``, whose indices and positions become of
    dtype ``index``. A level that has none is dense."""
    dtype = fields[-1]["val"].dtype
    dense = tuple([not field for field in fields[:-1]])
    index = np.dtype(index)
    told = fill.tobytes() if isinstance(fill, np.generic) else np.asarray(fill).tobytes()
    key = (dense, dtype, told, fill.__class__, index)
    make = _makers.get(key)
    if make is None:
        if len(_makers) >= MOST_FORMATS:
            _makers.clear()
        make = _makers[key] = maker_of_fields(format_of(dense, fill, dtype, index), Tensor)
    if index.itemsize != 8:
        *levels, leaf = fields
        levels = [
            {"ptr": level["ptr"].astype(index), "idx": level["idx"].astype(index)} if level else {}
            for level in levels
        ]
        fields = [*levels, leaf]
    tensor: Tensor = make(checked_shape(shape, len(dense)), fields)
    for array in tensor.arrays:
        if not array.flags.writeable:
            tensor.note_readonly()
            break
    return tensor


# -- to NumPy -------------------------------------------------------------------------------


def to_numpy(tensor: Tensor) -> np.ndarray[Any, Any]:
    """A dense array of the tensor's values; over its own memory if all its levels are dense.

    Raises ``OutOfMemory`` if it does not fit in memory.
    """
    if not is_dense(tensor):
        found = array_of_lists(tensor)
        if found is not None:
            return found
        try:
            tensor = _copied_as(dense_format, tensor)
        except OutOfMemory as error:
            raise OutOfMemory(
                f"there is no memory for a dense array of shape {tensor.shape}",
                hint="A.to_scipy() and A.to(format) take what is stored",
            ) from error
    shape, (values,) = tensor.shape, tensor.arrays
    return values[: math.prod(shape)].reshape(shape)


# -- what is stored -------------------------------------------------------------------------


def structure(source: Any) -> np.ndarray[Any, Any]:
    """Which elements a tensor-like argument stores, as a dense array of bools."""
    found = np.zeros(source.shape, bool)
    program = _where_stored(("out", "data"), source.ndim, Literal(np.True_, found.dtype))
    cached_kernel(program, Options(backend=LAST))(found, source)
    return found


def copy_stored(out: Any, source: Any, value: Any = None) -> None:
    """Set ``out`` to the shape of ``source``, and to ``value`` where that stores an element (None:
    to the element)."""
    out.set_shape(source.shape)
    wanted, given = (None, ()) if value is None else (Name("value"), (value,))
    program = _where_stored(("out", "data"), source.ndim, wanted)
    params = (*program.params, "value")[: 2 + len(given)]
    body = Sequential((Declare("out", Literal(out.fill_value, out.dtype)), program.body))
    cached_kernel(Program("copy_stored", params, body), LINEAR)(out, source, *given)


def set_stored(tensor: Tensor, value: Any) -> None:
    """Set all that a tensor stores to ``value``, in place."""
    program = _where_stored(("out",), tensor.ndim, Literal(value, tensor.dtype))
    cached_kernel(program, LINEAR)(tensor)


def _where_stored(params: tuple[str, ...], ndim: int, value: Expr | None) -> Program:
    """``for i, j in _: if stored(data[i, j]): out[i, j] = value``, of one tensor or of two; None:
    the value is that of ``data``."""
    indices = tuple(Index(f"i{k}") for k in range(ndim))
    source = Access(params[-1], indices)
    update = Update(Access(params[0], indices), None, source if value is None else value)
    body: Stmt = Sieve(Stored(source), update)
    for index in reversed(indices):
        body = Loop(index, None, body)
    return Program("where_stored", params, body)


def element(tensor: Tensor, index: tuple[int, ...]) -> Any:
    """The element of a tensor at a valid ``index``, as a NumPy scalar."""
    found = tensor.plain_element(index)
    if found is None:
        found = listed_element(tensor, index)
    if found is not None:
        return found
    names = tuple(f"i{k}" for k in range(tensor.ndim))
    value = Access("data", tuple(Name(name) for name in names))
    program = Program("element", ("out", "data", *names), Update(Access("out", ()), None, value))
    out = np.zeros((), tensor.dtype)
    cached_kernel(program, Options(backend=LAST))(out, tensor, *index)
    return out[()]
