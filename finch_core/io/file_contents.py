"""The content of a file, before it becomes a tensor: coordinates or an array."""

from __future__ import annotations

import gzip
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from finch_core.errors import FormatError
from finch_core.interface.abi import MOST_INDICES
from finch_core.records import frozen
from finch_core.runtime.backends import compiles
from finch_core.runtime.convert import stored_coordinates, to_coordinates
from finch_core.runtime.tensor import Tensor

Array = np.ndarray[Any, np.dtype[Any]]

MOST_DIMENSIONS = 32

LINES = 1 << 14
"""Lines that are written at once."""

SMALL = 1 << 16
"""Up to so many lines are written by Python; more by a compiled kernel, where kernels are
compiled."""

COMPRESSION = 6
"""The level of compression of gzip's own command: a higher one takes several times as long, for
files that are hardly smaller."""

THREADS = 2
"""Blocks of lines that are written in parallel."""


@frozen(eq=False)
class Coordinates:
    """The entries of a file: ``coords[k]`` is an array of 0-based indices of dimension ``k``,
    ``values`` an array of the same length. Duplicates are added when it becomes a tensor."""

    shape: tuple[int, ...]
    coords: tuple[Array, ...]
    values: Array
    fill: Any = 0


def content_objection(found: Any) -> str:
    """Why something is no content of a file; else an empty text."""
    if not isinstance(found, Coordinates):
        readable = hasattr(found, "signature") or isinstance(found, (np.ndarray, np.generic))
        no_array = found is None or isinstance(found, (str, bytes))
        return "" if readable or not no_array else f"{found!r:.60}, which is no content"
    shape, coords, values = found.shape, found.coords, found.values
    if not isinstance(shape, tuple) or not all(isinstance(n, (int, np.integer)) for n in shape):
        return f"the shape {shape!r:.60}, which is not a tuple of integers"
    if len(coords) != len(shape):
        return f"{len(coords)} arrays of indices for {len(shape)} dimensions"
    lengths = {np.shape(array) for array in (*coords, values)}
    if len(lengths) != 1 or len(lengths.pop()) != 1:
        return "arrays of indices and values that differ in length, or are not one-dimensional"
    kinds = [str(dtype) for dtype in map(_dtype, coords) if dtype.kind not in "iu"]
    return f"indices of {kinds[0]}, which are not integers" if kinds else ""


def _dtype(array: Any) -> np.dtype[Any]:
    return np.asarray(array).dtype


Content = Coordinates | Array
"""The content of a file."""


def content_of(tensor: Any) -> Content:
    """The values of a tensor or wrapper: an array if its format stores every element, else the
    coordinates of the stored entries, in row-major order. A ``Content`` is returned as it is."""
    if isinstance(tensor, (Coordinates, np.ndarray)):
        return tensor
    if not isinstance(tensor, Tensor):
        shape, coords, values = to_coordinates(tensor)
    elif all(level.stores_fill or level.is_leaf for level in tensor.format.levels()):
        return tensor.to_numpy()
    else:
        shape, coords, values = stored_coordinates(tensor)
    return Coordinates(shape, tuple(coords), values, tensor.fill_value)


def array_of(content: Content) -> Array:
    """The content of a file as an array of all elements."""
    if not isinstance(content, Coordinates):
        return content
    array = np.full(content.shape, content.fill, content.values.dtype)
    array[content.coords] = content.values
    return array


def check_plain(content: Content) -> None:
    """Raise ``FormatError`` for what files of numbers with fill value 0 cannot hold."""
    values = content.values if isinstance(content, Coordinates) else content
    if not content.shape:
        raise FormatError(
            "the file format has no tensors without dimensions", hint="write an .npz file"
        )
    if values.dtype.names is not None:
        raise FormatError("the file format holds numbers, and the tensor has tuples")
    if values.dtype.kind not in "biufc":
        raise FormatError(
            f"the file format holds numbers, the tensor {values.dtype}",
            hint="cast it, as in A.astype(np.float64), or write an .npz file",
        )
    if isinstance(content, Coordinates) and content.fill != 0:
        raise FormatError(
            f"the file format has fill value 0, the tensor {content.fill!r}",
            hint="write an .npz file, which keeps the fill value",
        )


def put(texts: Iterable[bytes], path: Path) -> None:
    """Write texts to a file, one after the other, gzipped if the path ends in ``.gz``."""
    with path.open("wb") as file:
        if path.suffix != ".gz":
            file.writelines(texts)
            return
        # without the name and the time: the same tensor gives the same file
        with gzip.GzipFile("", "wb", COMPRESSION, file, mtime=0) as packed:
            for text in texts:
                packed.write(text)


def check_dimensions(shape: Sequence[int]) -> None:
    """Raise ``FormatError`` if there are too many dimensions, or one is negative or too long."""
    if len(shape) > MOST_DIMENSIONS:
        raise FormatError(f"{len(shape)} dimensions are more than {MOST_DIMENSIONS}")
    for n in shape:
        if n < 0:
            raise FormatError(f"the dimension {n} is negative")
        if n > MOST_INDICES:
            raise FormatError(f"the dimension {n} is too long", hint=f"up to {MOST_INDICES}")


def numbers_text(coords: Sequence[Array], values: Array) -> Iterator[bytes]:
    """Texts with a line for each value: its coordinates, counted from 1, and the value."""
    if len(values) <= LINES:
        yield _lines(coords, values)
        return
    lines = _writer(len(values))
    ahead: deque[Future[bytes]] = deque()
    with ThreadPoolExecutor(THREADS) as pool:
        for start in range(0, len(values), LINES):
            part = slice(start, start + LINES)
            ahead.append(pool.submit(lines, [index[part] for index in coords], values[part]))
            if len(ahead) > THREADS:
                yield ahead.popleft().result()
        for text in ahead:
            yield text.result()


def _writer(count: int) -> Callable[[Sequence[Array], Array], bytes]:
    """The function that makes the text of a part of so many lines."""
    if count > SMALL:
        from finch_core.io import row_writer

        if compiles():
            return lambda coords, values: row_writer.lines(coords, values) or _lines(coords, values)
    return _lines


def _lines(coords: Sequence[Array], values: Array) -> bytes:
    """``numbers_text`` of a part, by Python."""
    texts: list[Iterator[str]] = [map(str, (index + 1).tolist()) for index in coords]
    if values.dtype.kind == "c":
        texts += [map(repr, values.real.tolist()), map(repr, values.imag.tolist())]
    elif values.dtype.kind == "f":
        texts.append(map(repr, values.tolist()))
    else:
        texts.append(map(str, map(int, values.tolist())))
    return "".join([" ".join(words) + "\n" for words in zip(*texts, strict=True)]).encode()
