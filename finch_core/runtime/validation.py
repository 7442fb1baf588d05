"""Checks of buffers that the user provides: errors name the buffer and the position at fault."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from finch_core.errors import FormatError, IndexOverflow, quote
from finch_core.interface.layout import Layout, Part, Sized, sizes_of
from finch_core.ir.operators import exact_value
from finch_core.runtime.arguments import UNMASK, is_masked

if TYPE_CHECKING:
    from finch_core.interface.level import Format
    from finch_core.runtime.storage import TensorStorage


def take_buffers(layout: Layout, given: dict[str, Any]) -> dict[tuple[int, str], Any]:
    """The arrays and scalars in ``given``, by level and field name. Raises ``FormatError`` for a
    missing, unknown or unsuitable one."""
    taken = {}
    names = [part.field.name for part in (*layout.buffers, *layout.scalars)]
    for part in (*layout.buffers, *layout.scalars):
        name = part.field.name
        key = f"{part.level}_{name}"
        if key not in given and names.count(name) == 1:
            key = name
        if key not in given:
            if not part.field.is_buffer or part.field.scratch:
                continue
            raise FormatError(
                f"the buffer {part.level}_{name} ({part.field.role}) is missing",
                hint=f"the format has {quote(f'{p.level}_{p.field.name}' for p in layout.buffers)}",
            )
        value = given.pop(key)
        if part.field.scratch or part.field.private:
            continue
        take = _array if part.field.is_buffer else _scalar
        taken[part.level, name] = take(key, part, value)
        if part.field.is_buffer and not layout.levels[part.level].is_leaf:
            _check_bools(key, taken[part.level, name])
    if given:
        raise FormatError(
            f"the format has no buffers {quote(given)}",
            hint="it has "
            + ", ".join(f"{p.level}_{p.field.name}" for p in layout.buffers if not p.field.scratch),
        )
    return taken


def _array(key: str, part: Part, value: Any) -> np.ndarray[Any, Any]:
    wanted = part.field.dtype
    if not isinstance(value, np.ndarray):
        raise FormatError(f"the buffer {key} is a {type(value).__name__}, not a NumPy array")
    if is_masked(value):
        raise FormatError(f"the buffer {key} is masked, and its mask would be lost", hint=UNMASK)
    if value.dtype != wanted:
        raise FormatError(
            f"the buffer {key} has dtype {value.dtype}, and the format wants {wanted}",
            hint="give the format the array's dtype, or the array the format's",
        )
    if value.ndim != 1 or not value.flags.c_contiguous or not value.flags.aligned:
        raise FormatError(
            f"the buffer {key} is not a contiguous, aligned array of one dimension",
            hint="np.require(array, requirements=('C', 'A')) makes one",
        )
    return value


def _check_bools(key: str, array: np.ndarray[Any, Any]) -> None:
    """Refuse bytes of bools that are neither 0 nor 1 in what says where elements are: the checks
    count with these two, as NumPy does. Compiled code takes any byte but 0 as true."""
    if array.dtype.kind == "b" and array.size and array.view(np.uint8).max() > 1:
        at = int(np.flatnonzero(array.view(np.uint8) > 1)[0])
        raise FormatError(
            f"the buffer {key} has a bool at {at} whose byte is {array.view(np.uint8)[at]}",
            hint="array.view(np.uint8) != 0 has bytes of 0 and 1",
        )


def _scalar(key: str, part: Part, value: Any) -> Any:
    wanted = part.field.dtype
    try:
        return exact_value(value, wanted)
    except (TypeError, ValueError):
        shown = f"{value!r}" if np.ndim(value) == 0 else f"a {type(value).__name__}"
        raise FormatError(
            f"{key} is {shown}, and the format has a number of {wanted} there"
        ) from None


def check_parts(layout: Layout, blank: Any, record: Any, arrays: Any) -> None:
    """Check the record and the arrays of which a tensor is to be made; ``blank`` is a record of its
    format. Raises ``FormatError``."""
    if getattr(record, "dtype", None) != blank.dtype or record.shape != blank.shape:
        raise FormatError("its record is not that of the format")
    if not isinstance(arrays, list) or len(arrays) != len(layout.buffers):
        raise FormatError(f"the format has {len(layout.buffers)} buffers")
    for part in layout.buffers:
        _array(f"{part.level}_{part.field.name}", part, arrays[part.number])


def validate(tensor: TensorStorage) -> None:
    """Check all buffers of a tensor, level by level from the outermost. Raises ``FormatError``."""
    levels, counts, dims = tensor.layout.levels, [1], iter(tensor.shape)
    fields = [tensor.fields(k) for k in range(len(levels))]
    for k, level in enumerate(levels):
        shape = 0 if level.is_leaf else next(dims)
        with _placed(k, level):
            sized = tensor.layout.sized[k]
            counts.append(_validate_alone(level, counts[k], shape, fields[k], sized))
    for k, level in enumerate(levels):
        with _placed(k, level):
            level.validate_below(counts[k], fields[k:])


@contextmanager
def _placed(k: int, level: Format) -> Iterator[None]:
    """Name the level in errors."""
    try:
        yield
    except FormatError as error:
        error.message = f"level {k} ({level.name}): {error.message}"
        error.hint = error.hint or "Tensor(fmt, array) makes buffers as the format wants them"
        raise


def _validate_alone(
    level: Format, positions: int, shape: int, fields: Mapping[str, Any], sized: Sized
) -> int:
    """Check the buffers of one level; gives the number of positions of its child."""
    level.validate(positions, shape, fields)
    try:
        sizes, below = sizes_of(level, positions, shape, fields, sized)
    except IndexError:
        names = quote(f.name for f in level.fields if f.is_buffer and not f.scratch)
        raise FormatError(f"{names}: too short for {positions} fibers") from None
    _check_lengths(sizes, fields)
    level.validate_contents(positions, shape, fields)
    return int(below)


def is_valid(tensor: Any) -> bool:
    """Whether the buffers of a tensor, or of the tensor inside a wrapper, are valid."""
    while not hasattr(tensor, "fields"):
        tensor = tensor.tensor
    try:
        validate(tensor)
    except (FormatError, IndexOverflow):
        return False
    return True


def _check_lengths(sizes: dict[str, int], fields: Mapping[str, Any]) -> None:
    for name, size in sizes.items():
        if len(fields[name]) < size:
            raise FormatError(f"{name} has {len(fields[name])} elements, and needs {size}")


def check_pointers(name: str, pointers: np.ndarray[Any, Any], positions: int) -> None:
    """Raise ``FormatError`` unless the first ``positions + 1`` pointers start at 0 and do not
    decrease."""
    if len(pointers) < positions + 1:
        raise FormatError(f"{name} has {len(pointers)} elements, and needs {positions + 1}")
    used = pointers[: positions + 1]
    if used[0] != 0:
        raise FormatError(f"{name}[0] is {used[0]}, and must be 0")
    falls = np.flatnonzero(used[1:] < used[:-1])
    if falls.size:
        k = int(falls[0])
        raise FormatError(f"{name}[{k + 1}] is {used[k + 1]}, less than {name}[{k}], {used[k]}")


def check_indices(
    name: str, indices: np.ndarray[Any, Any], pointers: np.ndarray[Any, Any], shape: int
) -> None:
    """Raise ``FormatError`` unless indices are from 0 up to ``shape`` and increase strictly within
    each fiber."""
    stored = int(pointers[-1]) if len(pointers) else 0
    if len(indices) < stored:
        raise FormatError(f"{name} has {len(indices)} elements, and needs {stored}")
    used = indices[:stored]
    if not are_within(used, shape):
        k = int(np.flatnonzero((used < 0) | (used >= shape))[0])
        raise FormatError(f"{name}[{k}] is {used[k]}, and not within the dimension, {shape}")
    wrong = _not_increasing(used, pointers)
    if wrong.size:
        k = int(wrong[0])
        raise FormatError(f"{name}[{k}] is {used[k]}, not more than {name}[{k - 1}], {used[k - 1]}")


def are_within(indices: np.ndarray[Any, Any], size: int) -> bool:
    """Whether integers are from 0 up to ``size``."""
    if indices.dtype.kind == "i":  # in one pass: without its sign, a negative one is large
        indices = indices.view(indices.dtype.str.replace("i", "u"))
    return not indices.size or bool(indices.max() < size)


def _not_increasing(used: np.ndarray[Any, Any], pointers: np.ndarray[Any, Any]) -> Any:
    """The positions, those where a fiber begins left out, whose index does not exceed the one
    before."""
    wrong = used[1:] <= used[:-1]
    begins = pointers[(pointers > 0) & (pointers < len(used))]
    wrong[begins - 1] = False
    return np.flatnonzero(wrong) + 1


def check_block_starts(
    last: np.ndarray[Any, Any], offsets: np.ndarray[Any, Any], pointers: np.ndarray[Any, Any]
) -> None:
    """Raise ``FormatError`` if a block is empty or overlaps the previous block of its fiber."""
    count = int(pointers[-1])
    lengths = np.diff(offsets[: count + 1].astype(np.int64))
    ends = last[:count].astype(np.int64)
    before = np.concatenate([[-1], ends[:-1]])
    before[pointers[:-1][pointers[:-1] < count]] = -1
    wrong = np.flatnonzero((lengths < 1) | (ends - lengths < before))
    if wrong.size:
        k = int(wrong[0])
        raise FormatError(
            f"ofs[{k + 1}] is {offsets[k + 1]}: the block that ends at idx[{k}], {ends[k]}, cannot "
            f"have {lengths[k]} entries"
        )


def check_bands(
    last: np.ndarray[Any, Any], offsets: np.ndarray[Any, Any], positions: int, shape: int
) -> None:
    """Raise ``FormatError`` unless the band of each fiber is within the dimension."""
    if len(last) < positions:
        raise FormatError(f"idx has {len(last)} elements, and needs {positions}")
    lengths = np.diff(offsets[: positions + 1].astype(np.int64))
    ends = last[:positions].astype(np.int64)
    outside = np.flatnonzero((ends < 0) | (ends >= max(shape, 1)))
    if outside.size:
        k = int(outside[0])
        raise FormatError(f"idx[{k}] is {ends[k]}, and not within the dimension, {shape}")
    wrong = np.flatnonzero(lengths > np.minimum(ends + 1, shape))
    if wrong.size:
        k = int(wrong[0])
        raise FormatError(
            f"ofs[{k + 1}] is {offsets[k + 1]}: the band that ends at idx[{k}], {ends[k]}, cannot "
            f"have {lengths[k]} entries"
        )


def check_range(
    name: str, values: np.ndarray[Any, Any], count: int, least: int, greatest: int
) -> None:
    """Raise ``FormatError`` unless there are ``count`` values, each from ``least`` to
    ``greatest``."""
    if len(values) < count:
        raise FormatError(f"{name} has {len(values)} elements, and needs {count}")
    used = values[:count]
    outside = np.flatnonzero((used < least) | (used > greatest))
    if outside.size:
        k = int(outside[0])
        raise FormatError(f"{name}[{k}] is {used[k]}, and not from {least} to {greatest}")


def check_runs(
    left: np.ndarray[Any, Any], right: np.ndarray[Any, Any], stored: np.ndarray[Any, Any]
) -> None:
    """Raise ``FormatError`` if one of the ``stored`` runs ends before it begins."""
    wrong = np.flatnonzero(stored & (right < left))
    if wrong.size:
        k = int(wrong[0])
        raise FormatError(f"right[{k}] is {right[k]}, less than left[{k}], {left[k]}")


def check_starts(
    left: np.ndarray[Any, Any], right: np.ndarray[Any, Any], pointers: np.ndarray[Any, Any]
) -> None:
    """Raise ``FormatError`` if a run ends before it begins or overlaps the previous run of its
    fiber."""
    count = int(pointers[-1])
    if len(left) < count:
        raise FormatError(f"left has {len(left)} elements, and needs {count}")
    used, ends = left[:count].astype(np.int64), right[:count].astype(np.int64)
    before = np.concatenate([[-1], ends[:-1]])[:count]
    before[pointers[:-1][pointers[:-1] < count]] = -1
    wrong = np.flatnonzero((used > ends) | (used <= before))
    if wrong.size:
        k = int(wrong[0])
        raise FormatError(
            f"left[{k}] is {used[k]}: a run cannot go from there to right[{k}], {ends[k]}"
            + (f", after one that ends at {before[k]}" if before[k] >= 0 else "")
        )


def check_cover(right: np.ndarray[Any, Any], pointers: np.ndarray[Any, Any], shape: int) -> None:
    """Raise ``FormatError`` unless the runs of each fiber cover the dimension: their ends increase
    strictly, and the last is the dimension's end."""
    count = int(pointers[-1])
    if len(right) < count:
        raise FormatError(f"right has {len(right)} elements, and needs {count}")
    used = right[:count].astype(np.int64)
    outside = np.flatnonzero((used < 1) | (used > shape))
    if outside.size:
        k = int(outside[0])
        raise FormatError(f"right[{k}] is {used[k]}, and not from 1 to the dimension, {shape}")
    wrong = _not_increasing(used, pointers)
    if wrong.size:
        k = int(wrong[0])
        raise FormatError(f"right[{k}] is {used[k]}, not more than right[{k - 1}], {used[k - 1]}")
    for p in np.flatnonzero(pointers[1:] == pointers[:-1])[:1] if shape else ():
        raise FormatError(f"ptr[{p + 1}] is ptr[{p}], {pointers[p]}: fiber {p} has no runs")
    ends = pointers[1:][pointers[1:] > pointers[:-1]].astype(np.int64) - 1
    short = ends[used[ends] != shape]
    if short.size:
        k = int(short[0])
        raise FormatError(f"right[{k}], the last of its fiber, is {used[k]}, and must be {shape}")
