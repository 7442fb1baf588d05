"""``read`` and ``write``: tensors in files, in the format that the ending of the path names.

Text: Matrix Market (``.mtx``, ``.ttx``) and FROSTT's coordinates (``.tns``), optionally gzipped
(``.mtx.gz``). Binary: NumPy's ``.npy`` and ``.npz``. A matrix of coordinates is read as
``Dense(SparseList(Element))``, or with both levels sparse if most rows are empty; other coordinates
with all levels sparse; an array with dense levels. Stored zeros are kept.
"""

from __future__ import annotations

import gzip
import io
import os
import secrets
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from finch_core.errors import FormatError, quote
from finch_core.io.file_contents import Array, Content, Coordinates, numbers_text

if TYPE_CHECKING:
    from finch_core.runtime.tensor import Tensor

PathLike = str | os.PathLike[str]

FEW_ROWS = 1 << 20
"""A matrix with at most this many rows is read with a dense outer level."""

ROWS_PER_VALUE = 16
"""A larger matrix is read with a sparse outer level if it has more rows per value than this."""


def read(path: PathLike) -> Tensor:
    """Read a tensor from a file; the ending of ``path`` names the file format: ``.mtx``, ``.ttx``,
    ``.tns`` (also with ``.gz``), ``.npy`` or ``.npz``.

    Shape and dtype are the file's; values of text files are float64, int64 or complex128, by the
    header (``.tns``: float64). Indices are counted from 0.

    Raises ``FormatError``, with the line at fault, for a malformed file or an unknown ending, and
    ``OSError`` if the file cannot be opened.
    """
    return tensor_of(parse(path))


def parse(path: PathLike) -> Content:
    """The content of a file as coordinates or as an array; raises as ``read`` does."""
    path = Path(path)
    content: Content = _by_ending(READERS, path)(path)
    return content


def write(path: PathLike, tensor: Any) -> None:
    """Write ``tensor``, or anything that ``asarray`` takes, to a file; the ending of ``path`` names
    the file format.

    ``.mtx`` takes matrices, ``.ttx`` and ``.tns`` tensors with at least one dimension (these three
    with the fill value 0, optionally with ``.gz``), ``.npy`` a dense array of the values, and
    ``.npz`` the coordinates and the fill value, or the array if all elements are stored. A file of
    that name is replaced when the new one is complete.

    Raises ``FormatError`` for an unknown ending or a tensor that the file format cannot hold, and
    ``OSError`` if the file cannot be written.
    """
    from finch_core.runtime.convert import asarray

    path = Path(path)
    text = _by_ending(WRITERS, path)(content_of(asarray(tensor)))
    if path.suffix == ".gz":
        text = gzip.compress(text, mtime=0)
    _replace(path, text)


def _replace(path: Path, data: bytes) -> None:
    """Replace the content of a file atomically: readers see the old content or the new.

    Symbolic links are followed, and the mode of an existing file is kept. What is not a regular
    file, such as a pipe, is written directly.
    """
    path = Path(os.path.realpath(path))
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        path.write_bytes(data)
        return
    aside = path.with_name(f".{secrets.token_hex(16)}.part")
    # O_EXCL: never write to a file that another process has put there
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    flags |= getattr(os, "O_BINARY", 0)
    descriptor = os.open(aside, flags, 0o666 if mode is None else 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        if mode is not None:
            aside.chmod(stat.S_IMODE(mode))
        aside.replace(path)
    except BaseException:
        with suppress(OSError):
            aside.unlink()
        raise


def tensor_of(content: Content) -> Tensor:
    """A tensor of the content of a file, in the format that the module's docstring describes."""
    from finch_core.interface.plugins import hub
    from finch_core.runtime.arrays import dense_format
    from finch_core.runtime.convert import coordinate_format, from_coordinates
    from finch_core.runtime.tensor import Tensor

    if not isinstance(content, Coordinates):
        fill = np.zeros((), content.dtype)[()]
        return Tensor(dense_format(content.ndim, fill), content)
    fill, ndim = np.asarray(content.fill, content.values.dtype)[()], len(content.shape)
    rows = ndim == 2 and content.shape[0] <= max(FEW_ROWS, ROWS_PER_VALUE * len(content.values))
    fmt = coordinate_format(1 if rows else ndim, fill)
    if rows:
        fmt = hub().layout("dense")(fmt)
    coords = list(content.coords)
    return from_coordinates(fmt, content.shape, coords, content.values, owned=True)


def _by_ending(table: Mapping[str, Callable[..., Any]], path: Path) -> Callable[..., Any]:
    for ending, function in table.items():
        if path.name.endswith(ending):
            return function
    raise FormatError(
        f"the ending of {path.name!r} is not that of a known file format",
        hint=f"endings are {quote(table)}",
    )


# -- reading --------------------------------------------------------------------------------


def _market(path: Path) -> Content:
    from finch_core.io.market_files import read_market

    return read_market(path)


def _frostt(path: Path) -> Content:
    from finch_core.io.coordinate_files import read_frostt

    return read_frostt(path)


def _npy(path: Path) -> Content:
    from finch_core.io.numpy_files import read_npy

    return read_npy(path)


def _npz(path: Path) -> Content:
    from finch_core.io.numpy_files import read_npz

    return read_npz(path)


READERS: Mapping[str, Callable[[Path], Content]] = MappingProxyType(
    {
        ".mtx": _market,
        ".mtx.gz": _market,
        ".ttx": _market,
        ".ttx.gz": _market,
        ".tns": _frostt,
        ".tns.gz": _frostt,
        ".npy": _npy,
        ".npz": _npz,
    }
)
"""The readers by ending."""


# -- writing --------------------------------------------------------------------------------


def content_of(tensor: Any) -> Content:
    """The array if the format stores every element, else the coordinates of the stored values."""
    from finch_core.runtime.convert import stored_coordinates, to_coordinates
    from finch_core.runtime.tensor import Tensor

    if not isinstance(tensor, Tensor):
        shape, coords, values = to_coordinates(tensor)
    elif all(level.stores_fill or level.is_leaf for level in tensor.format.levels()):
        return tensor.to_numpy()
    else:
        shape, coords, values = stored_coordinates(tensor)
    return Coordinates(shape, tuple(coords), values, tensor.fill_value)


def _array_of(content: Content) -> Array:
    if not isinstance(content, Coordinates):
        return content
    array = np.full(content.shape, content.fill, content.values.dtype)
    array[content.coords] = content.values
    return array


def _write_matrix(content: Content) -> bytes:
    from finch_core.io.market_files import market_text

    if len(content.shape) != 2:
        raise FormatError(
            f"a Matrix Market matrix has 2 dimensions, the tensor {len(content.shape)}",
            hint="a .ttx file takes tensors",
        )
    _check_zero_filled(content)
    return market_text(content, "matrix")


def _write_market(content: Content) -> bytes:
    from finch_core.io.market_files import market_text

    _check_zero_filled(content)
    return market_text(content, "tensor")


def _write_frostt(content: Content) -> bytes:
    _check_zero_filled(content)
    if not isinstance(content, Coordinates):
        coords = tuple(index.ravel() for index in np.indices(content.shape))
        content = Coordinates(content.shape, coords, content.ravel())
    if not len(content.values):
        raise FormatError(
            "a .tns file tells its dimensions by its entries, and the tensor has none",
            hint="a .ttx or .npz file takes it",
        )
    if content.values.dtype.kind == "c":
        raise FormatError("a .tns file holds real values, the tensor has complex ones")
    return numbers_text([index + 1 for index in content.coords], content.values)


def _write_npy(content: Content) -> bytes:
    file = io.BytesIO()
    np.save(file, _array_of(content), allow_pickle=False)
    return file.getvalue()


def _write_npz(content: Content) -> bytes:
    file = io.BytesIO()
    if not isinstance(content, Coordinates):
        np.savez_compressed(file, array=content)
    else:
        np.savez_compressed(
            file,
            coords=np.stack(content.coords),
            data=content.values,
            shape=np.array(content.shape, np.intp),
            fill_value=np.array(content.fill, content.values.dtype),
        )
    return file.getvalue()


def _check_zero_filled(content: Content) -> None:
    values = content.values if isinstance(content, Coordinates) else content
    if not content.shape:
        raise FormatError(
            "the file format has no tensors without dimensions", hint="write an .npz file"
        )
    if values.dtype.names is not None:
        raise FormatError("the file format holds numbers, the tensor tuples")
    if isinstance(content, Coordinates) and content.fill != 0:
        raise FormatError(
            f"the file format has fill value 0, the tensor {content.fill!r}",
            hint="write an .npz file, which keeps the fill value",
        )


WRITERS: Mapping[str, Callable[[Content], bytes]] = MappingProxyType(
    {
        ".mtx": _write_matrix,
        ".mtx.gz": _write_matrix,
        ".ttx": _write_market,
        ".ttx.gz": _write_market,
        ".tns": _write_frostt,
        ".tns.gz": _write_frostt,
        ".npy": _write_npy,
        ".npz": _write_npz,
    }
)
"""The writers by ending."""
