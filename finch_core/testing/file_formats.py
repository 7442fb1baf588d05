"""The suite that a file format must pass."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from finch_core.errors import FormatError
from finch_core.interface.file_formats import FileFormat
from finch_core.interface.plugins import hub
from finch_core.io.files import read, write
from finch_core.runtime.compressed import coordinate_format
from finch_core.runtime.convert import asarray
from finch_core.runtime.tensor import Tensor

DTYPES = ("float64", "float32", "complex128", "int64", "int8", "uint64", "bool")
"""The dtypes of what is written."""


class FileFormatSuite:
    """Tests of a file format that is registered, as ``read`` and ``write`` use it.

    Subclasses set ``name``, and say in ``holds(tensor)`` which tensors the format can hold; the
    others must be refused by ``FormatError``. ``value(array)`` is what a dense array comes back as,
    in the dtype that is read: itself, unless the format keeps only a pattern, say, or fewer dtypes
    (``array.astype(float)``). Numbers that such a dtype does not hold must be refused.
    """

    name: str

    def holds(self, tensor: Tensor) -> bool:
        """Whether the format can hold a tensor of this shape, dtype and fill value."""
        return True

    def value(self, array: Any) -> Any:
        """What is read where ``array`` was written."""
        return array

    # -- the tests --------------------------------------------------------------------------

    @property
    def format(self) -> FileFormat:
        """The format under test."""
        return hub().file_formats[self.name]

    @pytest.mark.parametrize("shape", [(3, 4), (1, 1), (0, 3), (5,), (2, 3, 2)], ids=str)
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("sparse", [True, False], ids=["sparse", "dense"])
    def test_what_is_written_is_read(
        self, tmp_path: Path, shape: tuple[int, ...], dtype: str, sparse: bool
    ) -> None:
        least = -1 if np.dtype(dtype).kind in "ifc" else 0
        array = (np.arange(np.prod(shape)) % 3 + least).reshape(shape).astype(dtype)
        tensor = _tensor(array, sparse)
        if not self._written(tensor, tmp_path):
            return
        found = read(self._path(tmp_path))
        np.testing.assert_array_equal(found.to_numpy(), self.value(array), strict=True)
        assert found.shape == shape

    @pytest.mark.parametrize("dtype", ["int64", "uint64"])
    @pytest.mark.parametrize("sparse", [True, False], ids=["sparse", "dense"])
    def test_large_integers_are_read_or_refused(
        self, tmp_path: Path, dtype: str, sparse: bool
    ) -> None:
        """Integers that no float64 holds come back as they are."""
        info, small = np.iinfo(dtype), np.array([[2, 3]], dtype)
        keeps_numbers = self.value(small).tolist() == small.tolist()
        for large in (2**53 + 1, info.max, info.max - 1, info.min + 1):
            array = np.array([[0, large, 1], [1, 0, 0]], dtype)
            path, tensor = self._path(tmp_path), _tensor(array, sparse)
            if self.format.save is None or not keeps_numbers:
                return
            try:
                write(path, tensor)
            except FormatError:
                assert not path.exists(), "a refused tensor left a file"
                continue
            if self.format.load is not None:
                found = read(path).to_numpy().tolist()
                assert found == array.tolist(), "they are rounded: save is to refuse them"
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    @pytest.mark.parametrize("fill", [7.0, np.inf, np.int8(-3), True])
    def test_the_fill_is_read_or_refused(self, tmp_path: Path, fill: Any) -> None:
        array = np.full((3, 4), fill)
        array[1, 2] = array[2, 0] = 1 - fill if array.dtype.kind in "if" else False
        if not self._written(Tensor(coordinate_format(2, fill), array), tmp_path):
            return
        found = read(self._path(tmp_path))
        np.testing.assert_array_equal(found.to_numpy(), self.value(array), strict=True)

    def test_its_name_says_as_much_as_its_ending(self, tmp_path: Path) -> None:
        tensor = _tensor(np.eye(3), True)
        if not self._written(tensor, tmp_path):
            return
        self._path(tmp_path).rename(tmp_path / "other")
        found = read(tmp_path / "other", self.name)
        np.testing.assert_array_equal(found.to_numpy(), self.value(np.eye(3)))
        if self.format.starts:
            np.testing.assert_array_equal(read(tmp_path / "other").to_numpy(), found.to_numpy())

    def test_every_truncation_is_read_or_refused(self, tmp_path: Path) -> None:
        if not self._written(_tensor(np.eye(3), True), tmp_path) or self.format.load is None:
            return
        data, path = self._path(tmp_path).read_bytes(), self._path(tmp_path)
        for length in range(min(len(data), 400)):
            path.write_bytes(data[:length])
            assert path.name in _refusal(path), "the message does not name the file"

    def test_every_changed_byte_is_read_or_refused(self, tmp_path: Path) -> None:
        if not self._written(_tensor(np.eye(3), True), tmp_path) or self.format.load is None:
            return
        data, path = self._path(tmp_path).read_bytes(), self._path(tmp_path)
        for place in range(min(len(data), 100)):
            for byte in (0, 10, 32, 45, 57, 255):
                path.write_bytes(data[:place] + bytes([byte]) + data[place + 1 :])
                assert path.name in _refusal(path), "the message does not name the file"

    # -- inside -----------------------------------------------------------------------------

    def _path(self, folder: Path) -> Path:
        return folder / f"a{self.format.endings[0]}"

    def _written(self, tensor: Tensor, folder: Path) -> bool:
        """Write a tensor if the format holds it, else check that it is refused."""
        if self.format.save is None:
            return False
        if self.holds(tensor):
            write(self._path(folder), tensor)
            return True
        with pytest.raises(FormatError):
            write(self._path(folder), tensor)
        assert not self._path(folder).exists(), "a refused tensor left a file"
        return False


def _refusal(path: Path) -> str:
    """The message by which a file is refused; its name if it is read."""
    try:
        read(path)
    except FormatError as error:
        return str(error)
    return path.name


def _tensor(array: Any, sparse: bool) -> Tensor:
    if not sparse:
        made: Tensor = asarray(array)
        return made
    return Tensor(coordinate_format(array.ndim, array.dtype.type(0)), array)


__all__ = ["FileFormatSuite"]
