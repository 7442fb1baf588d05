"""Operands of array functions: tensors, wrappers and numbers, and the order in which an array is
stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from finch_core.errors import FormatError
from finch_core.interface.level import Format
from finch_core.interface.plugins import hub
from finch_core.interface.structure import Pieces, Structure
from finch_core.records import frozen
from finch_core.runtime.arrays import from_array
from finch_core.runtime.convert import asarray as tensor_of
from finch_core.runtime.lists import stored_positions
from finch_core.runtime.tensor import Tensor
from finch_wrappers import swizzle
from finch_wrappers.swizzle import SwizzleTensor

NUMBERS = (bool, int, float, complex, np.generic)


def kind_of(number: Any) -> Any:
    """The dtype of a number, or its class, if that says all."""
    return number.dtype if isinstance(number, np.generic) else type(number)


def told(number: Any) -> tuple[Any, Any]:
    """What tells a number from others: its dtype and bits, so that zeros of both signs and units
    of time differ, and NaN is itself."""
    if isinstance(number, int):
        return type(number), number
    if number.__class__ is float:
        return float, number.hex()
    return kind_of(number), np.asarray(number).tobytes()


def operand(value: Any) -> Any:
    """``value`` as an operand: a tensor or wrapper with dimensions, or a number.

    Arrays without dimensions become NumPy scalars. Raises ``TypeError`` for what is no array.
    """
    if value.__class__ is Tensor:
        place = value.layout
        if place.ndim:
            return value
        if place.dense and value.dtype.kind in _PLAIN:
            return value.arrays[0][0]
        return np.asarray(value.value, value.dtype)[()]
    if isinstance(value, NUMBERS):
        return value
    if value.__class__ is np.ndarray and value.ndim and value.flags.c_contiguous:
        return from_array(value, Tensor)
    if is_lazy(value):
        return value
    found = array_of(value)
    return found if found.ndim else found.to_numpy()[()]


def is_lazy(value: Any) -> bool:
    """Whether ``value`` is a lazy array (see ``plan``)."""
    return hasattr(value, "lazy_node")


def settled(array: Any) -> Any:
    """An array with memory: a lazy one is computed."""
    return array.settle() if is_lazy(array) else array


_PLAIN = "biuf"


def array_of(value: Any) -> Any:
    """``value`` as a tensor or wrapper: NumPy's arrays over their memory, also transposed ones,
    SciPy's, nested lists, and objects with ``__dlpack__`` or ``__array__``.

    Raises ``TypeError`` for what is no array, and ``FormatError`` for a wrapper that
    has no array.
    """
    if value.__class__ is Tensor:
        return value
    if value.__class__ is np.ndarray and value.flags.c_contiguous and value.dtype.kind in _PLAIN:
        return from_array(value, Tensor)  # as most results of NumPy are
    if hasattr(value, "signature"):
        if is_lazy(value):
            return value.settle()
        return _indexed_from_zero(value)
    if isinstance(value, np.ndarray):
        return _over_numpy(value)
    if isinstance(value, (*NUMBERS, list, tuple)):
        return tensor_of(_plain(value))
    try:
        return tensor_of(value)
    except FormatError as error:
        if hub().conversion_of(value) is not None:
            raise  # it says what the object is, and what would work
        raise TypeError(f"{type(value).__name__} is no array: {error.message}") from error


def in_numpy(value: Any) -> Any:
    """A parameter as NumPy's own functions take it: a tensor as an array of NumPy. With a tensor
    they would call the function of this package again."""
    return array_of(value).to_numpy() if hasattr(value, "signature") else value


def _indexed_from_zero(wrapper: Any) -> Any:
    inner = wrapper
    while inner.__class__ is not Tensor and hasattr(inner, "tensor"):
        if not getattr(inner, "has_array", False):
            why = getattr(inner, "without_array", "it has no shape")
            raise FormatError(
                f"the result of {inner.name} is no array: {why}",
                hint="read it in a kernel, into a tensor of its own",
            )
        inner = inner.tensor
    return wrapper


def _plain(value: Any) -> Any:
    """Nested lists with their tensors as arrays, so that NumPy reads them."""
    if isinstance(value, (list, tuple)):
        found = np.asarray([_plain(item) for item in value])
        return found if found.size or found.ndim > 1 else np.zeros(found.shape)
    return value.to_numpy() if hasattr(value, "signature") else value


def _over_numpy(array: np.ndarray[Any, Any]) -> Any:
    """A NumPy array as a tensor over its memory; a permuted one through ``swizzle``."""
    if array.flags.c_contiguous or array.ndim < 2:
        return tensor_of(array)
    order = tuple(int(k) for k in np.argsort([-abs(s) for s in array.strides], kind="stable"))
    stored = array.transpose(order)
    if not stored.flags.c_contiguous:
        return tensor_of(array)
    return swizzle(tensor_of(stored), order)


@frozen(eq=False)
class Stored:
    """An array without the wrapper that permutes its dimensions.

    ``axes[k]`` is the dimension of the array that is dimension ``k`` of ``source``.
    """

    source: Any
    axes: tuple[int, ...]


def stored(array: Any) -> Stored:
    """The tensor or wrapper inside of those that permute dimensions."""
    if array.__class__ is Tensor:
        return Stored(array, IN_ORDER[array.ndim])
    array = settled(array)
    axes = IN_ORDER[array.ndim]
    inner = array
    while getattr(inner, "permutes", False):
        perm = inner.perm
        axes = tuple(axes[p] for p in perm)
        inner = inner.tensor
    return Stored(inner, axes)


def as_seen(tensor: Any, axes: Sequence[int]) -> Any:
    """A tensor whose dimension ``k`` is dimension ``axes[k]`` of the array that it stores."""
    wanted = tuple(axes)
    return tensor if wanted == IN_ORDER[len(wanted)] else _swizzled(tensor, wanted)


def _swizzled(tensor: Any, axes: tuple[int, ...]) -> Any:
    return SwizzleTensor.of_valid(tensor, axes)


IN_ORDER = [tuple(range(n)) for n in range(65)]


def has_memory(array: Any) -> bool:
    """Whether an array is a tensor or a view of one, so that it stores its elements."""
    while array.__class__ is not Tensor:
        if is_lazy(array) or not hasattr(array, "tensor"):
            return False
        array = array.tensor
    return True


def gives_extents(source: Any) -> bool:
    """Whether loops take their extents from an operand, so that windows of it are views."""
    while not isinstance(source, Tensor):
        if not getattr(source, "gives_extents", False):
            return False
        source = source.tensor
    return True


def levels_of(source: Any) -> tuple[Format, ...] | None:
    """The levels, outermost first, by which the dimensions of ``source`` are stored; None where a
    wrapper does not keep the dimensions."""
    ndim = source.ndim
    while not isinstance(source, Tensor):
        if not hasattr(source, "tensor") or source.tensor.ndim != ndim:
            return None
        if getattr(source, "permutes", False):
            return None
        source = source.tensor
    return source.layout.levels[:-1]


def kinds_of(array: Any) -> tuple[Structure, ...]:
    """The structure of each dimension of an array."""
    found = stored(array)
    levels = levels_of(found.source)
    if levels is not None:
        kinds = [level.structure for level in levels]
    else:
        kinds = list(getattr(found.source, "structures", (Structure(),) * array.ndim))
    return tuple(kinds[found.axes.index(k)] for k in range(array.ndim))


def may_have_runs(array: Any) -> bool:
    """Whether many elements of an array may be stored as one value."""
    return any(kind.pieces is Pieces.RUNS for kind in kinds_of(array))


def fanouts(source: Any) -> tuple[float, ...]:
    """For each dimension of ``source``, as it is stored: how many subfibers a fiber stores, on
    average. An estimate, from which a loop order is chosen."""
    if not isinstance(source, Tensor):
        inner = source
        while not isinstance(inner, Tensor) and hasattr(inner, "tensor"):
            inner = inner.tensor
        if isinstance(inner, Tensor) and inner.ndim == source.ndim:
            return fanouts(inner)
        return tuple(EVERY if n is None else float(n) for n in source.shape)
    result = []
    for level, positions, _, below in source.levels():
        if not level.is_leaf:
            result.append(below / max(positions, 1))
    return tuple(result)


EVERY = 1e9
"""The fanout of a dimension without a size: that of a mask, which has each index."""


def entries(array: Any) -> int:
    """How many values an array stores; of a view, the array that it shows a part of. Memory that a
    result has beyond them does not count: it depends on the calls before."""
    if array.__class__ is Tensor:
        if not is_dense(array):
            return stored_positions(array)
    elif hasattr(array, "tensor"):
        return entries(array.tensor)
    elif None in array.shape:  # a mask, which stores nothing
        return 0
    total = 1
    for n in array.shape:
        total *= n
    return int(total)


def holding(array: Any) -> Any:
    """The tensor that an array with memory is, or is a view of."""
    while array.__class__ is not Tensor:
        array = array.tensor
    return array


def tells_absent(array: Any) -> bool:
    """Whether a leaf of an array with memory may say of a position that nothing is stored there, so
    that the levels do not tell where elements are."""
    return type(holding(array).layout.levels[-1]).is_stored is not Format.is_stored


def is_dense(array: Any) -> bool:
    """Whether an array stores every element by itself: all its levels are dense. Its memory need
    not be that of a NumPy array (see ``lists.memory_of``)."""
    found = _dense.get(array.signature)
    if found is None:
        if len(_dense) >= MOST:
            _dense.clear()
        levels = None if is_lazy(array) else levels_of(stored(array).source)
        found = levels is not None and all(level.layout == "dense" for level in levels)
        _dense[array.signature] = found
    return found


def has_gaps(array: Any) -> bool:
    """Whether an array has a level with gaps, or levels that are not known."""
    found = _gaps.get(array.signature)
    if found is None:
        if len(_gaps) >= MOST:
            _gaps.clear()
        levels = levels_of(stored(array).source)
        found = levels is None or any(level.structure.gaps for level in levels)
        _gaps[array.signature] = found
    return found


_dense: dict[Any, bool] = {}
_gaps: dict[Any, bool] = {}
LONG = 1 << 16
"""Memory and time for each index of a dimension are spent up to this length, whatever is stored;
longer ones are gone through by what is stored."""

MOST = 4096
"""The most signatures of dense arrays, and of others, that are remembered."""
