"""binsparse files: every layout of the standard, both ways; ours that it lacks are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import binsparse
import numpy as np
import pytest

from finch_core import Tensor, read, write
from finch_core.errors import FormatError
from finch_core.testing import FileFormatSuite
from finch_levels import Dense, Element, Pattern, RunList, SparseCOO, SparseList
from finch_wrappers import swizzle

LEAF = Element(0.0)
ENDINGS = (".bsp.h5", ".bsp.npz", ".bsp.zarr")
MATRIX = np.array([[0, 2.0, 0, 0], [1, 0, 0, 3], [0, 0, 0, 0]])
FORMATS: dict[str, tuple[Any, bool]] = {
    "DMATR": (Dense(Dense(LEAF)), False), "DMATC": (Dense(Dense(LEAF)), True),
    "CSR": (Dense(SparseList(LEAF)), False), "CSC": (Dense(SparseList(LEAF)), True),
    "DCSR": (SparseList(SparseList(LEAF)), False), "DCSC": (SparseList(SparseList(LEAF)), True),
    "COOR": (SparseCOO(SparseCOO(LEAF)), False), "COOC": (SparseCOO(SparseCOO(LEAF)), True),
}  # fmt: skip


class TestNumPy(FileFormatSuite):
    name = "binsparse NumPy"


class TestHDF5(FileFormatSuite):
    name = "binsparse HDF5"

    def test_every_truncation_is_read_or_refused(self, tmp_path: Path) -> None:
        write(tmp_path / "a.bsp.h5", MATRIX)
        data = (tmp_path / "a.bsp.h5").read_bytes()
        for length in range(0, len(data), 997):
            (tmp_path / "b.bsp.h5").write_bytes(data[:length])
            with pytest.raises(FormatError, match=r"b\.bsp\.h5"):
                read(tmp_path / "b.bsp.h5")


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("layout", FORMATS)
def test_a_layout_is_written_and_read(tmp_path: Path, layout: str, ending: str) -> None:
    format, by_columns = FORMATS[layout]
    path = tmp_path / f"a{ending}"
    for _again in range(2):  # the second replaces the first
        array = Tensor(format, MATRIX.T if by_columns else MATRIX)
        write(path, swizzle(array, (1, 0)) if by_columns else array)
    if ending != ".bsp.zarr":
        assert type(binsparse.load_binsparse(path)).format == layout
    found = read(path)
    assert np.array_equal(found.to_numpy(), MATRIX)
    assert (found.tensor if by_columns else found).format == format
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
def test_what_the_package_writes_is_read(tmp_path: Path, layout: str) -> None:
    import scipy.sparse as sp
    from binsparse.conversions.scipy import from_scipy

    made = from_scipy(sp.coo_array(MATRIX).asformat(layout))
    binsparse.save_binsparse(made, tmp_path / "a.bsp.h5")
    assert np.array_equal(read(tmp_path / "a.bsp.h5").to_numpy(), MATRIX)


@pytest.mark.parametrize("ending", ENDINGS)
def test_tensors_of_other_ranks_dtypes_and_fills(tmp_path: Path, ending: str) -> None:
    path, rng = tmp_path / f"a{ending}", np.random.default_rng(0)
    cube = np.where(rng.random((3, 4, 5)) < 0.3, rng.random((3, 4, 5)), 0)
    kinds: list[tuple[Any, Any]] = [
        (SparseList(LEAF), MATRIX[1]),
        (Dense(LEAF), MATRIX[1]),
        (Dense(SparseList(SparseList(LEAF))), cube),
        (SparseCOO(SparseCOO(SparseCOO(LEAF))), cube),
        (SparseList(Dense(SparseList(LEAF))), cube),
        (Dense(SparseCOO(SparseCOO(LEAF))), cube),
        (Dense(SparseList(Element(7.0))), MATRIX),
        (Dense(SparseList(Element(np.complex128(0)))), MATRIX * (1 + 2j)),
        (Dense(SparseList(Element(0.0), index=np.int32, pointer=np.uint32)), MATRIX),
        (Dense(SparseList(Element(np.int8(0)))), MATRIX.astype(np.int8)),
    ]
    for format, array in kinds:
        write(path, Tensor(format, array))
        found = read(path)
        assert found.format == format
        assert np.array_equal(found.to_numpy(), array)
    write(path, Tensor(Dense(SparseList(Pattern())), MATRIX != 0))
    assert np.array_equal(read(path).to_numpy(), MATRIX != 0)


def test_levels_that_the_standard_lacks_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="binsparse has no level for RunList") as error:
        write(tmp_path / "a.bsp.h5", Tensor(Dense(RunList(LEAF)), MATRIX))
    assert "A.to(format)" in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_one_value_for_all_is_read_as_a_fill(tmp_path: Path) -> None:
    values = np.broadcast_to(2.5, (12,))
    binsparse.save_binsparse(
        binsparse.DMATRMatrix((3, 4), 12, values=values), tmp_path / "a.bsp.npz"
    )
    found = read(tmp_path / "a.bsp.npz")
    assert np.array_equal(found.to_numpy(), np.full((3, 4), 2.5))


def test_indices_out_of_range_are_refused(tmp_path: Path) -> None:
    made = binsparse.CSRMatrix(
        (2, 3), 2, pointers_to_1=np.array([0, 1, 2]), indices_1=np.array([0, 3]), values=np.ones(2)
    )
    binsparse.save_binsparse(made, tmp_path / "a.bsp.npz")
    with pytest.raises(FormatError, match=r"a\.bsp\.npz is not a binsparse file"):
        read(tmp_path / "a.bsp.npz")


def test_a_folder_of_another_name_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    with pytest.raises(FileExistsError, match=r"does not end as \.bsp\.zarr"):
        write(tmp_path / "precious", MATRIX, "binsparse Zarr")


def test_indices_narrower_than_the_dimension(tmp_path: Path) -> None:
    """Every stored index fits in a byte; the size of the dimension, or their number, does not."""
    rows, columns = np.divmod(np.arange(0, 600, 2), 100)
    made = binsparse.COORMatrix(
        (300, 400), 300, indices_0=rows.astype(np.uint8), indices_1=columns.astype(np.uint8),
        values=np.ones(300),
    )  # fmt: skip
    binsparse.save_binsparse(made, tmp_path / "a.bsp.npz")
    expected = np.zeros((300, 400))
    expected[rows, columns] = 1
    np.testing.assert_array_equal(read(tmp_path / "a.bsp.npz").to_numpy(), expected)
