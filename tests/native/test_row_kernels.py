"""Large files are read and written by compiled kernels: the same numbers, text and errors."""

from __future__ import annotations

import gzip
import math
import sys
import threading
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from finch_core import Tensor, kernel, read, write
from finch_core.errors import FormatError
from finch_core.io import file_contents, progress, row_kernels, row_reader, row_writer, text_tables
from finch_core.io.files import parse
from finch_core.runtime import counting_sort, sorting, waiting
from finch_core.runtime.kernel import Kernel
from finch_levels import Dense, Element, SparseList

RNG = np.random.default_rng(4)
VALUES = np.concatenate(
    [
        RNG.integers(0, 2**63, 3000, np.uint64).view(np.float64),
        RNG.standard_normal(2000),
        RNG.standard_normal(2000).round(3),
        2.0 ** np.arange(-1074, 1024),
        np.nextafter(2.0 ** np.arange(-1000, 1024), 0),
        np.float64("1e-323") * np.arange(1, 50),
        np.arange(-300.0, 300.0),
        np.array([float(f"{m}e{k}") for k in range(-300, 309) for m in (1, 5, 9007199254740993)]),
        [5e-324, sys.float_info.max, sys.float_info.min, -0.0, 0.1, 1e16, 9999999999999998.0, 1e-4],
    ]
)
VALUES = VALUES[np.isfinite(VALUES)]


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels read and write from the second block and the first line on, and sort anything."""
    monkeypatch.setattr(text_tables, "SMALL", -1)
    monkeypatch.setattr(text_tables, "BLOCK", 512)
    monkeypatch.setattr(file_contents, "SMALL", 0)
    monkeypatch.setattr(file_contents, "LINES", 100)
    monkeypatch.setattr(sorting, "FEW", 0)


def reader(*dtypes: Any, order: int = 0) -> row_reader.RowReader:
    return row_reader.RowReader(tuple(map(np.dtype, dtypes)), order)


def columns(rows: row_reader.RowReader, text: bytes) -> list[list[Any]] | None:
    with rows.columns(text, text.count(b"\n") + 1) as found:
        return None if found is None else [column.tolist() for column in found]


def test_doubles_are_written_as_python_writes_them() -> None:
    for part in np.array_split(VALUES, 20):
        found = row_writer.lines([], part)
        assert found is not None
        assert found.decode().split("\n")[:-1] == [repr(v) for v in part.tolist()]


def test_doubles_are_read_as_python_reads_them() -> None:
    words = [repr(v) for v in VALUES.tolist()]
    words += [f"{v:.6e}" for v in VALUES.tolist()] + [f"{v:.12G}" for v in VALUES.tolist()]
    words += [f"{m}e{e}" for m, e in zip(
        RNG.integers(0, 10**19, 3000, np.uint64).tolist(),
        RNG.integers(-330, 330, 3000).tolist(), strict=True,
    )]  # fmt: skip
    rows, read_by_kernels = reader(np.float64), 0
    for word in words:
        found = columns(rows, word.encode())
        if found is not None:  # the others are read by other means
            read_by_kernels += 1
            assert repr(found) == repr([[float(word)]]), word
    normal = [w for w in words if w != "-0.0" and sys.float_info.min < abs(float(w)) < math.inf]
    beyond = [w for w in normal if "e" in w.lower() and Decimal(w).as_tuple().exponent < -300]
    assert read_by_kernels >= len(normal) - len(beyond) - 10


@pytest.mark.parametrize(
    "word",
    ["", "-", "+", ".", "e5", "1e", "1e+", "--1", "1-1", "1.2.3", "1e5.0", "0x10", "1_0", "nan",
     "inf", "1\x00", "1\x0b2", "1" * 20 + "e-19", "1e400", "1e-320", "9" * 25],
)  # fmt: skip
def test_what_is_not_sure_is_left_to_others(word: str) -> None:
    rows = reader(np.int64, np.float64, order=1)
    assert columns(rows, f"3 {word}\n".encode()) is None or not word.strip()
    assert columns(rows, f"3 1.5 {word}x\n".encode()) is None
    assert columns(reader(np.int64), f"{word}x\n".encode()) is None


def test_rooms_are_used_again_by_later_blocks_alone() -> None:
    rows = reader(np.int64)
    with rows.columns(b"7\n", 1) as first, rows.columns(b"8\n", 1) as second:
        assert first is not None
        assert second is not None
        assert [first[0].tolist(), second[0].tolist()] == [[7], [8]]
        with rows.columns(b"9\n" * 9, 9) as third:
            assert third is not None
            assert third[0].tolist() == [9] * 9
    before = first[0].ctypes.data
    with rows.columns(b"6\n", 1) as again:
        assert again is not None
        assert again[0].ctypes.data == before
    assert len(rows._free) == 3


def test_integers() -> None:
    rows = reader(np.int64, np.int64, order=1)
    found = columns(rows, b" 7 -12\n\n\t8\t+13 \r\n9 999999999999999999")
    assert found == [[7, 8, 9], [-12, 13, 10**18 - 1]]
    assert columns(rows, b"7 1000000000000000000\n") is None
    assert columns(reader(np.uint64), b"-1\n") is None
    least = np.iinfo(np.int64).min
    assert row_writer.lines([np.array([0, 9])], np.array([least, 5])) == b"1 %d\n10 5\n" % least
    assert row_writer.lines([], np.array([1.0, math.nan])) is None
    assert row_writer.lines([], np.array([2**63], np.uint64)) is None
    assert row_writer.lines([], np.array([True, False])) == b"1\n0\n"
    assert row_writer.lines([], np.array([1 - 2.5j])) == b"1.0 -2.5\n"


KERNELS: list[tuple[ModuleType, str, list[Any]]] = [
    (row_kernels, "read_rows",
     [np.frombuffer(b"12 -3.25e-7 \n\n 9  4\n", np.uint8), np.array([1, 1, 0]), np.array(20),
      np.zeros((1, 3), np.int64), np.zeros((1, 3), np.uint64), np.zeros((1, 3), np.int64),
      np.zeros((1, 3), np.uint8), np.zeros(2, np.int64)]),
    (row_kernels, "nearest",
     [np.zeros(4, np.uint64), np.array([125, 10**19 - 1, 0, 1], np.uint64),
      np.array([-2, 20, 5, 22]),
      np.array([1, 0, 1, 0], np.uint8), row_kernels.powers(above=False), np.array(4), np.array(1)]),
    (row_kernels, "shortest",
     [np.zeros(5, np.uint64), np.zeros(5, np.int64),
      np.array([0.1, 5e-324, 1e22, 0.5, 1 / 3]).view(np.uint64), row_kernels.powers(above=True)]),
    (row_kernels, "write_rows",
     [np.zeros(90, np.uint8), np.array([1, 1, 0]), np.array([[0, 998]]),
      np.array([[125, 1]], np.uint64), np.array([[-2, 30]]), np.array([[1, 0]], np.uint8),
      row_kernels.TENS, np.array(0)]),
    (counting_sort, "_transpose",
     [np.zeros(5, np.intp), np.zeros(4, np.intp), np.array([0, 2, 2, 5]), np.array([1, 3, 0, 1, 3]),
      np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.zeros(5, np.intp), np.zeros(5)]),
    (counting_sort, "_by_columns",
     [np.zeros(5, np.intp), np.zeros(4, np.intp), np.zeros(4, np.intp), np.array([2, 0, 2, 0, 2]),
      np.array([3, 1, 0, 3, 0]), np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.zeros(5, np.intp),
      np.zeros(5)]),
    (counting_sort, "_by_rows",
     [np.array(0), np.zeros(3, np.intp), np.array([0, 2, 2, 5]), np.array([0, 2, 3, 3, 5]),
      np.array([2, 2, 0, 0, 2]), np.array([3.0, 5.0, 2.0, 4.0, 1.0]), np.zeros(5, np.intp),
      np.zeros(5)]),
    (counting_sort, "_merge",
     [np.array([0, 2, 2, 5]), np.array([1, 1, 0, 0, 0]), np.array([1.0, 2.0, 3.0, 4.0, 5.0])]),
]  # fmt: skip


@pytest.mark.parametrize(("module", "name", "args"), KERNELS, ids=[name for _, name, _ in KERNELS])
def test_three_meanings(module: ModuleType, name: str, args: list[Any]) -> None:
    """C, the interpreter, which checks every access, and plain NumPy agree."""
    made = getattr(module, name)
    made = made if isinstance(made, Kernel) else kernel(made)
    found = []
    for run in (made, kernel(backend="interpreter")(made.__wrapped__), made.reference):
        copies = [np.array(arg) for arg in args]
        results = run(*copies) or {}
        found.append(
            [results.get(name, c) for name, c in zip(made.program.params, copies, strict=True)]
        )
    for other in found[1:]:
        for mine, its in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(mine, its)


@pytest.mark.parametrize("ending", [".mtx", ".mtx.gz", ".tns", ".tns.gz"])
@pytest.mark.parametrize("dtype", ["float64", "int64", "complex128"])
def test_files_come_out_the_same(tmp_path: Path, at_once: None, ending: str, dtype: str) -> None:
    if dtype == "complex128" and "tns" in ending:
        dtype = "float32"
    array = RNG.standard_normal((60, 50)) * (RNG.random((60, 50)) < 0.5)
    array = (array * 100).astype(dtype)
    array[-1, -1] = 5
    path = tmp_path / f"a{ending}"
    write(path, Tensor(Dense(SparseList(Element(array.dtype.type(0)))), array))
    found = read(path)
    np.testing.assert_array_equal(found.to_numpy(), array)
    text = path.read_bytes()
    write(path, found)
    assert (gzip.decompress(text) if ending.endswith("gz") else text).count(b"\n") > 1000
    assert path.read_bytes() == text or found.dtype != array.dtype
    if ending == ".mtx":
        np.testing.assert_array_equal(scipy.io.mmread(path).toarray(), array)


@pytest.mark.parametrize("ending", [".mtx", ".mtx.gz", ".tns", ".tns.gz"])
@pytest.mark.parametrize("every", [1, 7, 300])
def test_blank_lines(tmp_path: Path, at_once: None, ending: str, every: int) -> None:
    """Rows come out in order where blocks that are read at the same time have fewer rows than
    lines, and where lines are so short that there is no room for a row in each."""
    rows = [f"{i % 9 + 1} {i + 1} {i}" for i in range(2000)]
    lines = [row + "\n" * (1 + (i % every == 0)) for i, row in enumerate(rows)]
    head = (
        "" if "tns" in ending else f"%%MatrixMarket matrix coordinate real general\n9 2000 {2000}\n"
    )
    data = (head + "\n" * 3000 + "".join(lines)).encode()
    path = tmp_path / f"a{ending}"
    path.write_bytes(gzip.compress(data) if ending.endswith("gz") else data)
    content = parse(path)
    assert content.shape == (9, 2000)
    assert content.coords[0].tolist() == [i % 9 for i in range(2000)]
    assert content.coords[1].tolist() == content.values.tolist() == list(range(2000))


@pytest.mark.parametrize("amiss", ["1 1", "1 x 1", "1 2 3 4", "301 1 1", "0 1 1", "1 1 1\0"])
def test_the_line_at_fault(tmp_path: Path, at_once: None, amiss: str) -> None:
    lines = [f"{i + 1} {i + 1} 0.5" for i in range(300)]
    lines[200] = amiss
    head = "%%MatrixMarket matrix coordinate real general\n300 300 300\n"
    (tmp_path / "a.mtx").write_text(head + "\n".join(lines))
    with pytest.raises(FormatError, match=r"^a.mtx, line 203: "):
        parse(tmp_path / "a.mtx")


@pytest.mark.parametrize("dtype", ["float64", "int64", "int8", "bool", "complex64"])
@pytest.mark.parametrize("shape", [(40, 30), (1, 500), (300, 1)])
def test_counted_rows(at_once: None, shape: tuple[int, int], dtype: str) -> None:
    """Unsorted coordinates with duplicates become the rows that SciPy makes of them."""
    coords = [RNG.integers(0, n, 400) for n in shape]
    values = (RNG.standard_normal(400) * 2).astype(dtype)
    made = sorting._counted(shape, [*coords, values.copy()], kernel, sorting._added_rows)
    rows, columns = sorting.sorted_coordinates(shape, list(coords), values)[0]
    np.testing.assert_array_equal(np.repeat(np.arange(shape[0]), np.diff(made[0])), rows)
    np.testing.assert_array_equal(made[1], columns)
    dense = np.zeros(shape, "complex128" if dtype == "complex64" else "float64")
    np.add.at(dense, tuple(coords), values)
    expected = dense[rows, columns]
    np.testing.assert_allclose(made[2], expected != 0 if dtype == "bool" else expected, atol=1e-5)


def test_progress(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    at_once: None,
) -> None:
    """A bar counts all bytes on a terminal; there is none elsewhere, nor unless asked for."""
    write(tmp_path / "a.tns", np.ones((40, 40)))
    monkeypatch.setattr(progress, "DELAY", 0.0)
    read(tmp_path / "a.tns", progress=True)
    assert "a.tns" not in capfd.readouterr().err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    read(tmp_path / "a.tns")
    assert "a.tns" not in capfd.readouterr().err
    read(tmp_path / "a.tns", progress=True)
    assert "a.tns: 100%" in capfd.readouterr().err


def test_a_conversion_tells_how_long_it_takes(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    A, began = Tensor(Dense(Dense(Element(0.0))), np.eye(3)), threading.Event()
    monkeypatch.setattr(waiting, "DELAY", 0.0)
    monkeypatch.setattr(waiting, "PERIOD", 0.01)
    for terminal in (False, True):
        monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)  # noqa: B023
        found = A.to(Dense(SparseList(Element(0.0))), progress=True)
        assert np.array_equal(found.to_numpy(), np.eye(3))
        with waiting.waiting("conversion"):
            began.wait(0.1)
        assert ("conversion: 00:00" in capfd.readouterr().err) == terminal


def test_progress_without_tqdm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    write(tmp_path / "a.tns", np.ones((2, 2)))
    with pytest.raises(FormatError, match=r"pip install tqdm") as caught:
        read(tmp_path / "a.tns", progress=True)
    assert "not installed" in caught.value.message
