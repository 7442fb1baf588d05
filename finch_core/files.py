"""Tensors in files: ``read`` and ``write`` go by the ending of the path.

Matrix Market matrices (``.mtx``, ``.mtx.gz``) are parsed by SciPy; its tensors (``.ttx``) and
vectors, and FROSTT's coordinates (``.tns``, ``.tns.gz``) by ``coordinate_files``; ``.npy`` and
``.npz`` by NumPy. Coordinate matrices come as rows of sparse lists, coordinate tensors as nested
sparse lists, arrays as dense.
"""

from __future__ import annotations

import gzip
import io
import os
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from finch_core.errors import FormatError, quote
from finch_core.records import frozen

if TYPE_CHECKING:
    from finch_core.tensor import Tensor

PathLike = str | os.PathLike[str]
Array = np.ndarray[Any, np.dtype[Any]]


@frozen(eq=False)
class Coordinates:
    """A tensor as a file lists it: ``coords[k]`` are 0-based indices of dimension ``k``.

    Duplicates are summed when a tensor is made of it.
    """

    shape: tuple[int, ...]
    coords: tuple[Array, ...]
    values: Array
    fill: Any = 0


Content = Coordinates | Array
"""What a file holds: coordinates with values, or an array."""

GENERAL = "general"
"""The symmetry that matrices are written with: looking for one takes longer than writing."""


def read(path: PathLike) -> Tensor:
    """The tensor in a file.

    Raises ``FormatError``, with the line at fault, where the file is malformed or its ending is
    not known, and ``OSError`` where it cannot be opened.
    """
    return tensor_of(parse(path))


def parse(path: PathLike) -> Content:
    """What the file holds, before any tensor is made of it. Raises as ``read`` does."""
    path = Path(path)
    content: Content = _by_ending(READERS, path)(path)
    return content


def write(path: PathLike, tensor: Any) -> None:
    """Write ``tensor`` (or what ``asarray`` takes) to a file, by its ending.

    ``.mtx`` takes matrices, ``.tns`` and ``.ttx`` tensors with fill 0, ``.npy`` any array and
    ``.npz`` coordinates, or the array where everything is stored. The file is replaced only once
    it is complete. Raises ``FormatError`` where the ending or the tensor does not fit.
    """
    from finch_core import asarray

    path = Path(path)
    text = _by_ending(WRITERS, path)(content_of(asarray(tensor)))
    if path.suffix == ".gz":
        text = gzip.compress(text, mtime=0)
    aside = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        aside.write_bytes(text)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def tensor_of(content: Content) -> Tensor:
    """A tensor in the format that suits what a file holds."""
    from finch_core.convert import coordinate_format, dense_format
    from finch_core.plugins import hub
    from finch_core.tensor import Tensor, from_coordinates

    if not isinstance(content, Coordinates):
        fill = content.dtype.type(0)
        return Tensor(dense_format(content.ndim, fill), content)
    fill, ndim = content.values.dtype.type(content.fill), len(content.shape)
    # a matrix has rows, most of which are not empty
    rows = ndim == 2
    fmt = coordinate_format(1 if rows else ndim, fill)
    if rows:
        fmt = hub().layout("dense")(fmt)
    return from_coordinates(fmt, content.shape, list(content.coords), content.values)


def _by_ending(table: Mapping[str, Callable[..., Any]], path: Path) -> Callable[..., Any]:
    for ending, function in table.items():
        if path.name.endswith(ending):
            return function
    raise FormatError(
        f"the ending of {path.name!r} says no known file format",
        hint=f"endings are {quote(table)}",
    )


# -- reading --------------------------------------------------------------------------------


def _text(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix != ".gz":
        return data
    try:
        return gzip.decompress(data)
    except (EOFError, OSError, zlib.error) as error:
        raise FormatError(f"{path.name}: not a whole gzip file: {error}") from error


def _market(path: Path) -> Content:
    from finch_core import coordinate_files

    data = _text(path)
    words = data.split(b"\n", 1)[0].lower().split()
    if len(words) > 1 and words[1] in (b"tensor", b"vector"):
        return coordinate_files.market(path.name, data)
    return _matrix(path.name, data)


def _matrix(name: str, data: bytes) -> Content:
    from finch_core.coordinate_files import blame, check_promise

    try:
        from scipy.io import mmread
    except ImportError as error:
        raise FormatError(
            f"{name}: Matrix Market matrices are read by SciPy, which is not installed",
            hint='pip install "finch-python[scipy]"',
        ) from error
    check_promise(name, data)
    try:
        found = mmread(io.BytesIO(data))
    except (ValueError, OverflowError) as error:
        raise FormatError(f"{name}, {blame(data, str(error))}") from error
    array: Array = found
    if isinstance(found, np.ndarray):
        return array
    coords = tuple(index.astype(np.intp) for index in (found.row, found.col))
    return Coordinates(tuple(map(int, found.shape)), coords, found.data)


def _frostt(path: Path) -> Content:
    from finch_core import coordinate_files

    return coordinate_files.frostt(path.name, _text(path))


def _npy(path: Path) -> Content:
    found = _numpy(path)
    if isinstance(found, dict):
        raise FormatError(f"{path.name} is an .npz file, to judge by what is in it")
    return found


def _npz(path: Path) -> Content:
    """One array; or SciPy's ``save_npz``; or the coordinates that ``write`` puts there."""
    arrays = _numpy(path)
    if isinstance(arrays, np.ndarray):
        return arrays
    if "coords" in arrays:
        return _stored_coordinates(path, arrays)
    if "format" in arrays:
        return _scipy_npz(path)
    if len(arrays) != 1:
        raise FormatError(f"{path.name} holds {len(arrays)} arrays: {quote(sorted(arrays))}")
    (only,) = arrays.values()
    return only


def _numpy(path: Path) -> Array | dict[str, Array]:
    try:
        with path.open("rb") as file:
            loaded = np.load(file, allow_pickle=False)
            # an .npz file is read lazily, so its arrays are taken out while it is open
            found: Array | dict[str, Array] = loaded
            return found if isinstance(loaded, np.ndarray) else dict(loaded)
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise FormatError(f"{path.name} is not a NumPy file: {error}") from error


def _stored_coordinates(path: Path, arrays: dict[str, Array]) -> Coordinates:
    try:
        coords, values, shape = arrays["coords"], arrays["data"], arrays["shape"]
    except KeyError as error:
        raise FormatError(f"{path.name} holds coordinates, but no array {error}") from error
    if coords.ndim != 2 or coords.shape != (len(shape), len(values)):
        raise FormatError(
            f"{path.name}: coordinates of shape {coords.shape} for {len(shape)} dimensions "
            f"and {len(values)} values"
        )
    if coords.size and ((coords < 0) | (coords >= shape[:, None])).any():
        raise FormatError(f"{path.name}: a coordinate lies outside the shape {tuple(shape)}")
    fill = arrays["fill_value"][()] if "fill_value" in arrays else 0
    indices = tuple(coords.astype(np.intp, copy=False))
    return Coordinates(tuple(map(int, shape)), indices, values, fill)


def _scipy_npz(path: Path) -> Coordinates:
    from scipy.sparse import load_npz

    try:
        found = load_npz(path).tocoo()
    except (ValueError, KeyError, AttributeError) as error:
        raise FormatError(f"{path.name} is no sparse matrix of SciPy's: {error}") from error
    coords = (found.row.astype(np.intp), found.col.astype(np.intp))
    return Coordinates(tuple(map(int, found.shape)), coords, found.data)


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
    """The array where every value is stored, else the coordinates of the stored values."""
    from finch_core.convert import stored_coordinates, to_coordinates
    from finch_core.tensor import Tensor

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
    from scipy.io import mmwrite
    from scipy.sparse import coo_array

    if len(content.shape) != 2:
        raise FormatError(
            f"a Matrix Market matrix has 2 dimensions, the tensor {len(content.shape)}",
            hint="a .ttx file takes tensors",
        )
    _check_zero_filled(content)
    file = io.BytesIO()
    if isinstance(content, Coordinates):
        mmwrite(file, coo_array((content.values, content.coords), content.shape), symmetry=GENERAL)
    else:
        mmwrite(file, content, symmetry=GENERAL)
    return file.getvalue()


def _write_market(content: Content) -> bytes:
    from finch_core import coordinate_files

    _check_zero_filled(content)
    if isinstance(content, Coordinates):
        return coordinate_files.market_text(content)
    return coordinate_files.market_array_text(content)


def _write_frostt(content: Content) -> bytes:
    from finch_core import coordinate_files

    _check_zero_filled(content)
    if not isinstance(content, Coordinates):
        coords = tuple(index.ravel() for index in np.indices(content.shape))
        content = Coordinates(content.shape, coords, content.ravel())
    if content.values.dtype.kind == "c":
        raise FormatError("a .tns file holds real values, the tensor has complex ones")
    return coordinate_files.frostt_text(content)


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
