"""Files read as tensors and tensors written to files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from finch_core import Tensor, read, write
from finch_core.errors import FormatError
from finch_levels import Dense, Element, SparseList

MATRIX = np.array([[0.0, 2.5, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, -3.0]])


def test_a_coordinate_matrix_comes_as_rows_of_sparse_lists(tmp_path: Path) -> None:
    scipy.io.mmwrite(tmp_path / "a.mtx", scipy.sparse.coo_array(MATRIX))
    found = read(tmp_path / "a.mtx")
    assert found.format == Dense(SparseList(Element(0.0)))
    assert found.nstored == 3
    assert np.array_equal(found.to_numpy(), MATRIX)


def test_an_array_comes_dense(tmp_path: Path) -> None:
    scipy.io.mmwrite(tmp_path / "a.mtx", MATRIX)
    found = read(tmp_path / "a.mtx")
    assert found.format == Dense(Dense(Element(0.0)))
    assert np.array_equal(found.to_numpy(), MATRIX)


def test_coordinates_of_a_tensor_come_as_nested_sparse_lists(tmp_path: Path) -> None:
    (tmp_path / "a.tns").write_text("2 3 1 1.5\n1 1 2 2\n2 3 1 1\n")
    found = read(str(tmp_path / "a.tns"))
    assert found.format == SparseList(SparseList(SparseList(Element(0.0))))
    assert found.shape == (2, 3, 2)
    assert found[1, 2, 0] == 2.5
    assert found[0, 0, 1] == 2.0
    assert found.nstored == 2


@pytest.mark.parametrize("ending", [".mtx", ".mtx.gz", ".ttx", ".tns", ".npy", ".npz"])
@pytest.mark.parametrize("sparse", [True, False])
def test_what_is_written_is_read(tmp_path: Path, ending: str, sparse: bool) -> None:
    level = SparseList if sparse else Dense
    path = tmp_path / f"a{ending}"
    write(path, Tensor(Dense(level(Element(0.0))), MATRIX))
    assert np.array_equal(read(path).to_numpy(), MATRIX)
    assert list(tmp_path.iterdir()) == [path]


def test_the_fill_value_and_the_dtype_survive_in_npz(tmp_path: Path) -> None:
    array = np.full((3, 4), np.inf, np.float32)
    array[1, 2] = 7
    fmt = SparseList(SparseList(Element(np.float32(np.inf))))
    write(tmp_path / "a.npz", Tensor(fmt, array))
    found = read(tmp_path / "a.npz")
    assert found.dtype == np.float32
    assert found.fill_value == np.inf
    assert found.nstored == 1
    assert np.array_equal(found.to_numpy(), array)


def test_writing_makes_no_dense_array(tmp_path: Path) -> None:
    (tmp_path / "a.tns").write_text("1000000 2000000 3000000 4.0\n7 8 9 5.0\n")
    huge = read(tmp_path / "a.tns")
    write(tmp_path / "b.ttx", huge)
    again = read(tmp_path / "b.ttx")
    assert again.shape == (1000000, 2000000, 3000000)
    assert again.nstored == 2
    assert again[6, 7, 8] == 5.0


def test_a_refused_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.mtx"
    path.write_text("old")
    with pytest.raises(FormatError):
        write(path, Tensor(Dense(Element(0.0)), np.ones(3)))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
