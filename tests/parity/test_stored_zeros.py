"""What is stored stays stored: zeros too, by way of files, SciPy and other formats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from finch_core import Tensor, asarray, read, write
from finch_core.runtime.convert import from_coordinates
from finch_levels import (
    Dense,
    Element,
    RunList,
    SparseBand,
    SparseBlockList,
    SparseByteMap,
    SparseHash,
    SparseList,
    SparseRunList,
)
from finch_wrappers import swizzle

CSR = Dense(SparseList(Element(0.0)))
ROWS, COLUMNS, VALUES = [0, 0, 1, 3], [1, 3, 0, 2], [0.0, 2.0, 0.0, -1.0]
SPARSE = [SparseList, SparseHash, SparseByteMap, SparseBlockList, SparseRunList]
STRETCHES = [Dense, RunList, SparseBand]


def stored(format: Any = CSR) -> Tensor:
    coords = [np.array(ROWS), np.array(COLUMNS)]
    return from_coordinates(format, (4, 4), coords, np.array(VALUES))


@pytest.mark.parametrize("ending", [".mtx", ".mtx.gz", ".ttx", ".tns", ".npz"])
@pytest.mark.parametrize("level", SPARSE)
def test_files_keep_zeros(tmp_path: Path, ending: str, level: Any) -> None:
    path = tmp_path / f"a{ending}"
    tensor = stored(Dense(level(Element(0.0))))
    write(path, tensor)
    found = read(path)
    assert found.nstored == tensor.nstored == 4
    assert np.array_equal(found.to_numpy(), tensor.to_numpy())


def test_a_file_of_zeros_is_no_empty_tensor(tmp_path: Path) -> None:
    (tmp_path / "a.tns").write_text("1 1 1 0\n2 2 2 0\n")
    assert read(tmp_path / "a.tns").nstored == 2


def test_duplicates_that_cancel_are_stored(tmp_path: Path) -> None:
    header = "%%MatrixMarket matrix coordinate real symmetric\n"
    (tmp_path / "a.mtx").write_text(f"{header}2 2 3\n2 1 1\n2 1 -1\n1 1 0\n")
    found = read(tmp_path / "a.mtx")
    assert found.nstored == 3
    assert not found.to_numpy().any()


@pytest.mark.parametrize("source", SPARSE)
@pytest.mark.parametrize("target", SPARSE)
def test_conversions_keep_zeros(source: Any, target: Any) -> None:
    tensor = stored(Dense(source(Element(0.0))))
    assert tensor.nstored == 4
    assert tensor.to(Dense(target(Element(0.0)))).nstored == 4
    assert tensor.to(SparseList(target(Element(0.0)))).nstored == 4


@pytest.mark.parametrize("source", STRETCHES)
@pytest.mark.parametrize("target", SPARSE)
def test_conversions_of_stretches_leave_fills_out(source: Any, target: Any) -> None:
    array = np.array([[0.0, 1.0, 0.0, 2.0], [0.0, 0.0, 0.0, 0.0]])
    tensor = Tensor(Dense(source(Element(0.0))), array)
    assert tensor.to(Dense(target(Element(0.0)))).nstored == 2


@pytest.mark.parametrize("format", ["coo", "csr", "csc", "bsr", "dok", "lil"])
def test_scipy_arrays_keep_zeros(format: str) -> None:
    array = scipy.sparse.coo_array((VALUES, (ROWS, COLUMNS)), shape=(4, 4)).asformat(format)
    found = asarray(array)
    assert Tensor(CSR, found).nstored == array.nnz
    assert Tensor(CSR, found).to_scipy().nnz == array.nnz
    assert Tensor(Dense(SparseHash(Element(0.0))), found).to_scipy().nnz == array.nnz


def test_a_swizzle_keeps_zeros() -> None:
    assert Tensor(CSR, swizzle(stored(), (1, 0))).nstored == 4


def test_a_dense_tensor_is_without_zeros_in_scipy() -> None:
    assert asarray(np.eye(3)).to_scipy().nnz == 3


@pytest.mark.parametrize("order", ["sorted", "reversed", "drawn"])
@pytest.mark.parametrize("shape", [(50, 40), (2**40, 2**40), (1, 9)])
def test_coordinates_in_any_order_add_up(order: str, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(3)
    rows, columns = rng.integers(0, min(shape[0], 50), 90), rng.integers(0, min(shape[1], 40), 90)
    if order == "sorted":
        place = np.unique(rows * 64 + columns)
        rows, columns = place // 64, place % 64
    elif order == "reversed":
        rows, columns = -np.sort(-rows), columns
    values = rng.integers(-3, 3, len(rows)).astype(float)
    expected: dict[tuple[int, int], float] = {}
    for i, j, value in zip(rows.tolist(), columns.tolist(), values.tolist(), strict=True):
        expected[i, j] = expected.get((i, j), 0.0) + value
    format = CSR if shape[0] < 1000 else SparseList(SparseList(Element(0.0)))
    found = from_coordinates(format, shape, [rows, columns], values)
    assert found.nstored == len(expected)
    assert all(found[place] == value for place, value in expected.items())


@pytest.mark.parametrize("format", [CSR, SparseList(SparseList(Element(0.0)))], ids=str)
def test_coordinates_in_order_are_copied(format: Any) -> None:
    coords, values = [np.array(ROWS), np.array(COLUMNS)], np.array([1.0, 2.0, 3.0, 4.0])
    found = from_coordinates(format, (4, 4), coords, values)
    values[:], coords[0][:], coords[1][:] = 9.0, 0, 0
    assert found.to_numpy()[ROWS, COLUMNS].tolist() == [1.0, 2.0, 3.0, 4.0]
    array = scipy.sparse.coo_array((VALUES, (ROWS, COLUMNS)), shape=(4, 4))
    copied, taken = Tensor(format, array), asarray(array)
    array.data[:] = 9.0
    assert copied.to_numpy()[ROWS, COLUMNS].tolist() == VALUES
    assert taken.to_numpy()[ROWS, COLUMNS].tolist() == [9.0] * 4  # its own format, over its memory
