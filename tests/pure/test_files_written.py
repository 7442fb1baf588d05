"""What ``write`` puts into a file is what ``parse`` finds there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from finch_core.errors import FormatError
from finch_core.io.file_contents import Content, Coordinates
from finch_core.io.files import parse
from finch_core.plugins import hub


def listed(array: Any, fill: Any = 0) -> Coordinates:
    """The values of ``array`` that differ from ``fill``, as coordinates."""
    array = np.asarray(array)
    coords = np.nonzero(array != fill if fill == fill else ~np.isnan(array))
    return Coordinates(array.shape, coords, array[coords], array.dtype.type(fill))


def save(written: Content, path: Path) -> None:
    """Write the content of a file by the file format that has the path's ending."""
    formats = hub().file_formats.values()
    (found,) = (f.save for f in formats if path.suffix in f.endings)
    assert found is not None
    found(written, path)


def round_trip(folder, ending: str, written: Content) -> np.ndarray:
    path = folder / f"a{ending}"
    save(written, path)
    content = parse(path)
    if isinstance(content, Coordinates):
        array = np.full(content.shape, content.fill, content.values.dtype)
        array[content.coords] = content.values
        return array
    return content


MATRIX = np.array([[0.1, 0.0, -1e300], [0.0, 0.0, 0.0], [0.0, 1 / 3, 0.0]])
TENSOR = np.zeros((2, 3, 4))
TENSOR[1, 2, 3], TENSOR[0, 1, 0] = 0.1, -2.5e-200


@pytest.mark.parametrize("ending", [".mtx", ".ttx", ".npy", ".npz", ".tns"])
@pytest.mark.parametrize("written", [MATRIX, listed(MATRIX)], ids=["array", "coordinates"])
def test_a_matrix_comes_back_to_the_last_bit(tmp_path, ending: str, written: Content) -> None:
    assert np.array_equal(round_trip(tmp_path, ending, written), MATRIX)


@pytest.mark.parametrize("ending", [".ttx", ".npy", ".npz", ".tns"])
def test_a_tensor_comes_back_to_the_last_bit(tmp_path, ending: str) -> None:
    assert np.array_equal(round_trip(tmp_path, ending, listed(TENSOR)), TENSOR)


@pytest.mark.parametrize("ending", [".mtx", ".ttx", ".npz"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float32", "complex128"])
def test_values_of_other_dtypes(tmp_path, ending: str, dtype: str) -> None:
    array = np.diag(np.array([1, 0, 3], dtype))
    assert np.array_equal(round_trip(tmp_path, ending, listed(array)), array)


@pytest.mark.parametrize("fill", [np.inf, np.nan, 7.0])
def test_npz_keeps_the_fill_value(tmp_path, fill: float) -> None:
    array = np.full((2, 3), fill)
    array[1, 1] = 2.0
    found = round_trip(tmp_path, ".npz", listed(array, fill))
    assert np.array_equal(found, array, equal_nan=True)


@pytest.mark.parametrize("ending", [".mtx", ".ttx", ".tns"])
def test_text_files_have_fill_zero(tmp_path, ending: str) -> None:
    with pytest.raises(FormatError, match=r"has fill value 0, the tensor .*\n.*\.npz"):
        save(listed(np.full((2, 2), 7.0), 7.0), tmp_path / f"a{ending}")


def test_a_matrix_file_takes_matrices(tmp_path) -> None:
    with pytest.raises(FormatError, match="has 2 dimensions, the tensor 3"):
        save(TENSOR, tmp_path / "a.mtx")


@pytest.mark.parametrize("ending", [".ttx", ".tns"])
def test_text_files_hold_no_scalar(tmp_path, ending: str) -> None:
    with pytest.raises(FormatError, match=r"no tensors without dimensions\n.*\.npz"):
        save(np.array(3.0), tmp_path / f"a{ending}")


@pytest.mark.parametrize("written", [np.zeros((0, 3)), listed(np.zeros((2, 3)))])
def test_coordinates_without_a_shape_need_an_entry(tmp_path, written: Content) -> None:
    with pytest.raises(FormatError, match="tells its dimensions by its entries"):
        save(written, tmp_path / "a.tns")
