"""What tensors call for their operators and array methods, by name (``array_method``)."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import finch_array
from finch_array import functions as fn
from finch_array.joining import has_structure
from finch_array.leaves import same
from finch_array.manipulation import permute_dims
from finch_array.namespace import method
from finch_array.operands import is_dense, settled, stored
from finch_array.run import materialised
from finch_core.errors import FormatError, OutOfBounds
from finch_core.runtime.lists import memory_of
from finch_core.runtime.tensor import Tensor
from finch_core.runtime.writers import Writer, begin_writing

VERSIONS = (None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12")


def array_method(name: str) -> Callable[..., Any]:
    """The function that an operator or array method of tensors calls."""
    found = globals().get(name) if name in _OWN else None
    if found is None:
        found = method(_ELSEWHERE.get(name, name))
    return found  # type: ignore[no-any-return]


_ELSEWHERE = {"linalg_diagonal": "axes_diagonal", "linalg_trace": "axes_trace"}
_OWN = frozenset(
    "array_namespace as_bool as_int as_float item as_complex as_index formatted in_place "
    "stored_count to_device astype with_fill_value to_dense_array to_list to_dlpack "
    "dlpack_device pow".split()
)


def array_namespace(version: str | None) -> Any:
    """The package. Raises ``ValueError`` for a version of the standard that it does not have."""
    if version not in VERSIONS:
        raise ValueError(f"version {version!r} of the array API standard is not supported")
    return finch_array


# -- one element ------------------------------------------------------------------------------


def _one(array: Any) -> Any:
    if array.size != 1:
        hint = "combine conditions by &, | and ~; any(x) and all(x) make one of many"
        told = f": {hint}" if array.dtype.kind == "b" else ""
        raise ValueError(f"an array of shape {array.shape} has no single value{told}")
    return array.to_numpy().reshape(())[()]


def as_bool(array: Any) -> bool:
    """``bool(array)``, of one element."""
    return bool(_one(array))


def as_int(array: Any) -> int:
    """``int(array)``, of one element."""
    return int(_one(array))


def as_float(array: Any) -> float:
    """``float(array)``, of one element."""
    return float(_one(array))


def item(array: Any, *index: Any) -> Any:
    """The element at an index, or at a place among all in row-major order, or the only one, as a
    Python number, as of a NumPy array. Raises ``ValueError`` if there are several, and
    ``OutOfBounds``."""
    if index:
        place = index[0] if len(index) == 1 else index
        array = array[place if isinstance(place, tuple) else _unravelled(array, place)]
    found = array if isinstance(array, np.generic) else _one(array)
    return found.item()


def _unravelled(array: Any, place: Any) -> tuple[Any, ...]:
    """The index of the element at a place among all, in row-major order."""
    n = operator.index(place)
    if not -array.size <= n < array.size:
        raise OutOfBounds(f"index {n} is out of bounds for {array.size} elements")
    return tuple(int(k) for k in np.unravel_index(n % array.size, array.shape))


def as_complex(array: Any) -> complex:
    """``complex(array)``, of one element."""
    return complex(_one(array))


def as_index(array: Any) -> int:
    """The element of an integer array without dimensions, as an index."""
    if array.dtype.kind not in "iu" or array.ndim:
        raise TypeError("only integer arrays without dimensions are indices")
    return operator.index(_one(array))


def formatted(array: Any, spec: str) -> str:
    """``format(array, spec)``: of the element of an array without dimensions."""
    if array.ndim:
        raise TypeError(
            f"the elements of an array of {array.ndim} dimensions have no format {spec!r}"
        )
    return format(_one(array), spec)


def pow(x: Any, y: Any) -> Any:
    """``x ** y``; ``x ** 2`` of bools is their square, in int8, as of NumPy's."""
    if y.__class__ is int and y == 2 and x.dtype.kind == "b":
        return fn.FUNCTIONS["square"](x)
    return fn.FUNCTIONS["pow"](x, y)


# -- in place ---------------------------------------------------------------------------------


def in_place(array: Any, result: Any) -> Any:
    """``array`` with the values of ``result``, in its own format and dtype. Raises ``TypeError``
    for a dtype that it cannot hold, ``ValueError`` for another shape, ``LifecycleError`` for an
    array that another thread is writing."""
    result = settled(result)
    check_fits(array, result)
    if array.__class__ is Tensor:
        _replaced(array, result)
    elif not is_dense(array) and isinstance((inner := stored(array)).source, Tensor):
        _replaced(inner.source, permute_dims(result, inner.axes))
    else:
        array[...] = result
    return array


def check_fits(array: Any, result: Any) -> None:
    """Raise ``TypeError`` for a result of a dtype that ``array`` cannot hold, ``ValueError`` for
    one of another shape."""
    if result.shape != array.shape:
        raise ValueError(f"the result has shape {result.shape}, and the array has {array.shape}")
    if not np.can_cast(result.dtype, array.dtype, "same_kind"):
        raise TypeError(f"a result of {result.dtype} does not fit in an array of {array.dtype}")


def _replaced(array: Tensor, result: Any) -> None:
    mark = Writer()
    try:
        begin_writing(array, mark)
        replace(array, result)
    finally:
        mark.ended = True


def replace(array: Tensor, result: Any) -> None:
    """Give ``array`` the values of ``result``, of the same shape: in its memory where NumPy can
    write that, otherwise in new buffers. The caller has marked the array as
    written (``writers.begin_writing``)."""
    if (memory := memory_of(array)) is not None:
        memory[...] = result.to_numpy()
        return
    cast = result if result.dtype == array.dtype else fn.cast(result, array.dtype)
    if cast.__class__ is not Tensor or cast.format != array.format:
        if not same(cast.fill_value, array.fill_value) and not has_structure(array):
            cast = cast.to_numpy()  # each element is stored: no kernel for this fill
        cast = Tensor(array.format, cast)
    adopt(array, cast.record, cast.arrays)


def adopt(array: Tensor, record: Any, buffers: Any) -> None:
    """Give ``array`` other buffers; it stays read-only if one of them is."""
    array.adopt(record, buffers)
    if array.signature.readonly:
        array.note_readonly()


# -- the rest ---------------------------------------------------------------------------------


def stored_count(array: Any) -> int:
    """The number of stored values."""
    source = stored(array).source
    if isinstance(source, Tensor):
        return source.nstored
    return materialised(source).nstored


def to_device(array: Any, device: Any, /, *, stream: Any = None) -> Any:
    """``array``. Raises ``ValueError`` for a device other than ``"cpu"``."""
    if device != "cpu" or stream is not None:
        raise ValueError(f"there is no device {device!r}; arrays are on 'cpu'")
    return array


def astype(
    array: Any, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: bool = True,
    copy: bool = True, *, device: Any = None,
) -> Any:  # fmt: skip
    """``array`` with its values, and its fill, cast to a dtype. ``order`` and ``subok`` are those
    of NumPy, and change nothing. Raises ``TypeError`` for what ``casting`` does not allow."""
    to_device(array, device or "cpu")
    if casting != "unsafe" and not np.can_cast(array.dtype, dtype, casting):
        raise TypeError(f"{array.dtype} is not cast to {np.dtype(dtype)} by the rule {casting!r}")
    if np.dtype(dtype) == array.dtype and not copy:
        return array
    from finch_array.reductions import array_operand

    return array_operand(fn.cast(array, dtype))


def with_fill_value(array: Any, value: Any) -> Any:
    """``array`` with the same elements and another fill."""
    from finch_array.manipulation import with_fill

    return with_fill(array, np.asarray(value, array.dtype)[()])


def copied(array: Any) -> Any:
    """An array of its own with the same elements."""
    from finch_array.creation import asarray

    return asarray(array, copy=True)


def to_dense_array(array: Any) -> Any:
    """A NumPy array of the elements, as SciPy names it."""
    return np.array(array.to_numpy())


def to_list(array: Any) -> Any:
    """The elements as Python numbers in nested lists, as NumPy names it: a number without
    dimensions."""
    return array.to_numpy().tolist()


def to_dlpack(array: Any, **options: Any) -> Any:
    """The DLPack capsule of a dense tensor. Raises ``BufferError`` for one that is not dense."""
    return _dense(array).__dlpack__(**options)


def dlpack_device(array: Any) -> Any:
    """The device of a tensor for DLPack: the CPU."""
    return np.empty(0).__dlpack_device__()


def _dense(array: Any) -> Any:
    try:
        found = memory_of(array)
    except FormatError as error:
        raise BufferError(str(error)) from error
    if found is None:
        raise BufferError("DLPack has dense arrays only: np.asarray(A) makes one")
    return found
