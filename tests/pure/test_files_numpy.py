"""NumPy's files, and SciPy's and our own within ``.npz``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

from finch_core.errors import FormatError
from finch_core.io.file_contents import Coordinates
from finch_core.io.files import parse


def test_npy(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(6, dtype=np.int16).reshape(2, 3))
    content = parse(tmp_path / "a.npy")
    assert content.dtype == np.int16
    assert content.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_npz_with_one_array(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", anything=np.eye(2))
    assert parse(tmp_path / "a.npz").tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_npz_of_scipy(tmp_path: Path) -> None:
    scipy.sparse.save_npz(tmp_path / "a.npz", scipy.sparse.csr_array(np.diag([1.0, 2.0])))
    content = parse(tmp_path / "a.npz")
    assert isinstance(content, Coordinates)
    assert [c.tolist() for c in content.coords] == [[0, 1], [0, 1]]
    assert content.values.tolist() == [1.0, 2.0]


def test_npz_with_coordinates_and_a_fill(tmp_path: Path) -> None:
    np.savez(
        tmp_path / "a.npz",
        coords=np.array([[0, 1], [2, 0], [1, 1]]),
        data=np.array([3.0, 4.0]),
        shape=np.array([2, 3, 2]),
        fill_value=np.inf,
    )
    content = parse(tmp_path / "a.npz")
    assert content.shape == (2, 3, 2)
    assert [c.tolist() for c in content.coords] == [[0, 1], [2, 0], [1, 1]]
    assert content.fill == np.inf


@pytest.mark.parametrize("ending", ["npy", "npz"])
def test_something_else_is_malformed(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    path.write_bytes(b"something else entirely")
    with pytest.raises(FormatError, match=rf"a.{ending} is not a (whole )?NumPy file"):
        parse(path)


def test_pickles_are_not_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([{}]), allow_pickle=True)
    with pytest.raises(FormatError, match="a.npy: values of dtype object are not expected"):
        parse(tmp_path / "a.npy")


def test_several_arrays_are_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.eye(2), y=np.eye(2))
    with pytest.raises(FormatError, match="a.npz holds 2 arrays: 'x' and 'y'"):
        parse(tmp_path / "a.npz")


@pytest.mark.parametrize(
    ("coords", "message"),
    [
        ([[0, 2], [0, 0]], "index 2 of dimension 0 is not"),
        ([[0, 1]], "coordinates of shape"),
    ],
)
def test_coordinates_that_do_not_fit(tmp_path: Path, coords, message: str) -> None:
    np.savez(tmp_path / "a.npz", coords=np.array(coords), data=np.ones(2), shape=np.array([2, 2]))
    with pytest.raises(FormatError, match=message):
        parse(tmp_path / "a.npz")


def test_a_fill_that_is_a_date_beside_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    parts = {"coords": np.zeros((1, 1), int), "data": np.ones(1), "shape": np.array([2])}
    np.savez(path, **parts, fill_value=np.array(1, "M8[s]"))
    with pytest.raises(FormatError, match="the fill value 1970.* is no value of dtype float64"):
        parse(path)
