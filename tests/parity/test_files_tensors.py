"""Files read as tensors and tensors written to files."""

from __future__ import annotations

import os
import secrets
import stat
import threading
from pathlib import Path
from typing import Any

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


def test_a_link_is_followed_and_a_mode_is_kept(tmp_path: Path) -> None:
    real, link = tmp_path / "real.npy", tmp_path / "link.npy"
    real.touch()
    real.chmod(0o640)
    link.symlink_to(real)
    write(link, np.ones(3))
    assert link.is_symlink()
    assert np.array_equal(np.load(real), np.ones(3))
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_a_new_file_has_the_mode_that_the_mask_leaves(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write(tmp_path / "a.npy", np.ones(3))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.npy").stat().st_mode) == 0o640


@pytest.mark.parametrize("dangling", [True, False])
def test_a_link_where_write_puts_its_data_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dangling: bool
) -> None:
    victim = tmp_path / "victim"
    if not dangling:
        victim.write_text("precious")
    monkeypatch.setattr(secrets, "token_hex", lambda _: "guessed")
    (tmp_path / ".guessed.part.npy").symlink_to(victim)
    with pytest.raises(FileExistsError):
        write(tmp_path / "a.npy", np.ones(3))
    assert victim.read_text() == "precious" if not dangling else not victim.exists()
    assert not (tmp_path / "a.npy").exists()


def test_a_link_to_a_file_that_is_not_there_makes_it(tmp_path: Path) -> None:
    (tmp_path / "link.npy").symlink_to("real.npy")
    write(tmp_path / "link.npy", np.ones(3))
    assert (tmp_path / "link.npy").is_symlink()
    assert np.array_equal(np.load(tmp_path / "real.npy"), np.ones(3))


def test_the_ending_that_the_user_wrote_decides_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "link.mtx.gz").symlink_to("real")
    write(tmp_path / "link.mtx.gz", np.eye(2))
    assert (tmp_path / "real").read_bytes().startswith(b"\x1f\x8b")  # gzip
    assert np.array_equal(read(tmp_path / "link.mtx.gz").to_numpy(), np.eye(2))


def test_what_is_no_regular_file_is_written_in_place(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.npy"
    os.mkfifo(pipe)
    taken: list[bytes] = []
    reader = threading.Thread(target=lambda: taken.append(pipe.read_bytes()))
    reader.start()
    write(pipe, np.ones(3))
    reader.join()
    assert taken[0].startswith(b"\x93NUMPY")
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_threads_that_write_one_path_leave_one_of_their_files(tmp_path: Path) -> None:
    path, failures = tmp_path / "a.npz", []
    matrix = Tensor(Dense(SparseList(Element(0.0))), MATRIX)

    def work() -> None:
        try:
            for _ in range(10):
                write(path, matrix)
                assert np.array_equal(read(path).to_numpy(), MATRIX)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert list(tmp_path.iterdir()) == [path]


def test_a_matrix_with_few_rows_that_hold_something_costs_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "a.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n900000000000 3 1\n7 1 2.5\n")
    found = read(path)
    assert found.format == SparseList(SparseList(Element(0.0)))
    assert found.shape == (900000000000, 3)
    assert found[6, 0] == 2.5


@pytest.mark.parametrize("size", [2**62, 2**62 + 1, 2**63 - 1, 2**63, 2**64 + 1])
@pytest.mark.parametrize("place", [0, 1])
def test_dimensions_at_the_end_of_the_integers(tmp_path: Path, size: int, place: int) -> None:
    path = tmp_path / "a.mtx"
    sizes = [3, 3]
    sizes[place] = size
    header = "%%MatrixMarket matrix coordinate real general\n"
    path.write_text(f"{header}{sizes[0]} {sizes[1]} 1\n2 2 1.5\n")
    if size > 2**62:
        with pytest.raises(FormatError, match="a.mtx, line 2: the (size|dimension) "):
            read(path)
        return
    found = read(path)
    assert found.nstored == 1
    assert found[1, 1] == 1.5
    write(path, found)
    assert read(path).shape == tuple(sizes)


@pytest.mark.parametrize("shape", [(7,), (3, 4), (2, 3, 4)])
@pytest.mark.parametrize("dtype", [np.float64, np.int16, np.complex64, np.bool_])
def test_scipy_reads_what_is_written(tmp_path: Path, shape: tuple[int, ...], dtype: type) -> None:
    array = np.zeros(shape, dtype)
    array.reshape(-1)[[1, 3]] = 1
    path = tmp_path / "a.npz"
    write(path, Tensor(_lists(len(shape), dtype(0)), array))
    found = scipy.sparse.load_npz(path)
    assert (found.format, found.dtype, found.nnz) == ("coo", array.dtype, 2)
    np.testing.assert_array_equal(found.toarray(), array)
    again = read(path)
    assert (again.nnz, again.fill_value) == (2, 0)
    np.testing.assert_array_equal(again.to_numpy(), array)
    scipy.sparse.save_npz(path, found)
    np.testing.assert_array_equal(read(path).to_numpy(), array)


def test_scipy_refuses_another_fill_than_zero(tmp_path: Path) -> None:
    path, array = tmp_path / "a.npz", np.array([[1.0, 2], [1, 1]])
    write(path, Tensor(_lists(2, 1.0), array))
    with pytest.raises(ValueError, match="does not contain a sparse array"):
        scipy.sparse.load_npz(path)
    np.testing.assert_array_equal(read(path).to_numpy(), array)


def test_npz_of_pydata_has_a_fill(tmp_path: Path) -> None:
    np.savez(
        tmp_path / "a.npz", format="coo", shape=(3,), data=np.array([3.0]),
        coords=np.array([[1]]), fill_value=np.float64(2),
    )  # fmt: skip
    np.testing.assert_array_equal(read(tmp_path / "a.npz").to_numpy(), [2, 3, 2])


def _lists(ndim: int, fill: Any) -> Any:
    format: Any = Element(fill)
    for _ in range(ndim):
        format = SparseList(format)
    return format
