"""Coordinates in Parquet and Arrow files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from finch_core import Tensor, read, write
from finch_core.errors import FormatError
from finch_core.testing import FileFormatSuite
from finch_levels import Dense, Element, Scalar, SparseList


class TestParquet(FileFormatSuite):
    name = "Parquet"

    def holds(self, tensor: Tensor) -> bool:
        return bool(tensor.dtype.kind != "c")


class TestArrow(FileFormatSuite):
    name = "Arrow"

    def holds(self, tensor: Tensor) -> bool:
        return bool(tensor.dtype.kind != "c")


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".feather"])
def test_shapes_and_fills_are_kept(tmp_path: Path, ending: str) -> None:
    array = np.array([[7, 7, 1.5], [7, 7, 7], [0, 7, 7], [7, 7, 7]])
    tensor = Tensor(Dense(SparseList(Element(7.0))), array)
    write(tmp_path / f"a{ending}", tensor)
    found = read(tmp_path / f"a{ending}")
    assert np.array_equal(found.to_numpy(), array)
    assert (found.fill_value, found.nnz) == (7.0, 2)


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_a_scalar(tmp_path: Path, ending: str) -> None:
    write(tmp_path / f"a{ending}", Scalar(1.5))
    found = read(tmp_path / f"a{ending}")
    assert (found.shape, found.to_numpy()) == ((), 1.5)


def test_a_table_without_metadata_is_as_large_as_its_indices(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"row": [0, 2], "column": [1, 0], "w": [2.0, 3.0]}), tmp_path / "a.parquet"
    )
    found = read(tmp_path / "a.parquet")
    assert found.to_numpy().tolist() == [[0, 2], [0, 0], [3, 0]]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"i0": [0.5], "value": [1.0]}, "not integers and numbers"),
        ({"i0": [-1], "value": [1.0]}, "not from 0 up to"),
        ({"i0": [0, None], "value": [1.0, 2.0]}, "a value is missing"),
        ({"i0": [0], "value": ["a"]}, "not integers and numbers"),
    ],
)
def test_tables_of_something_else_are_refused(
    tmp_path: Path, columns: dict[str, list[object]], message: str
) -> None:
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    with pytest.raises(FormatError, match=message):
        read(tmp_path / "a.parquet")
