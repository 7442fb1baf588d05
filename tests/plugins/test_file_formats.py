"""File formats are plugins: the built-in ones pass the suite, and others enter by the same hook."""

from __future__ import annotations

import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from finch_core import FormatError, PluginError, Tensor, read, write
from finch_core.io import Coordinates, FileFormat, content_of
from finch_core.plugins import Hub, hookimpl, hub
from finch_core.testing import FileFormatSuite
from finch_levels import Dense, Element, SparseList


def widest(array: Any) -> Any:
    """An array in the dtype that Matrix Market files have for it."""
    wide = {"b": np.int64, "i": np.int64, "u": np.int64, "f": np.float64, "c": np.complex128}
    return array if array.dtype == np.uint64 else array.astype(wide[array.dtype.kind])


class TestMatrixMarket(FileFormatSuite):
    name = "Matrix Market"

    def value(self, array: Any) -> Any:
        return widest(array)

    def holds(self, tensor: Tensor) -> bool:
        return tensor.ndim == 2 and tensor.fill_value == 0


class TestMatrixMarketTensor(FileFormatSuite):
    name = "Matrix Market tensor"

    def value(self, array: Any) -> Any:
        return widest(array)

    def holds(self, tensor: Tensor) -> bool:
        return bool(tensor.fill_value == 0)


class TestFROSTT(FileFormatSuite):
    name = "FROSTT"

    def holds(self, tensor: Tensor) -> bool:
        real, entries = tensor.dtype.kind != "c", tensor.nstored > 0
        return real and entries and bool(tensor.fill_value == 0)

    def value(self, array: Any) -> Any:
        return array.astype(float)


class TestNumpyArray(FileFormatSuite):
    name = "NumPy array"


class TestNumpyArchive(FileFormatSuite):
    name = "NumPy archive"


MATRIX = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0]])


def plugin(*formats: Any) -> Any:
    return types.SimpleNamespace(finch_file_format=hookimpl(lambda: list(formats)))


def load_lines(path: Path) -> Coordinates:
    rows = [line.split() for line in path.read_text().splitlines()[1:]]
    columns = list(zip(*rows, strict=True))
    coords = tuple(np.array(c, np.intp) for c in columns[:-1])
    return Coordinates((2, 3), coords, np.array(columns[-1], float))


def save_lines(tensor: Any, path: Path) -> None:
    found = content_of(tensor)
    if not isinstance(found, Coordinates):
        raise FormatError("only sparse tensors")
    entries = zip(*found.coords, found.values, strict=True)
    path.write_text("lines\n" + "".join(f"{i} {j} {v}\n" for i, j, v in entries))


LINES = FileFormat("lines", (".lines", ".l.mtx"), load_lines, save_lines, (b"lines\n",))


@pytest.fixture
def lines() -> Iterator[None]:
    hub().register(plugin(LINES), "lines")
    yield
    hub().unregister("lines")


@pytest.mark.usefixtures("lines")
def test_the_suite_notices_other_dtypes_and_rounded_integers(tmp_path: Path) -> None:
    suite = type("Suite", (FileFormatSuite,), {"name": "lines"})()
    suite.test_what_is_written_is_read(tmp_path, (2, 3), "float64", True)
    with pytest.raises(AssertionError, match="dtype"):
        suite.test_what_is_written_is_read(tmp_path, (2, 3), "int8", True)
    floats = {"name": "lines", "value": lambda self, array: array.astype(float)}
    suite = type("Suite", (FileFormatSuite,), floats)()
    suite.test_what_is_written_is_read(tmp_path, (2, 3), "int8", True)
    with pytest.raises(AssertionError, match="they are rounded: save is to refuse them"):
        suite.test_large_integers_are_read_or_refused(tmp_path, "int64", True)


@pytest.mark.usefixtures("lines")
@pytest.mark.parametrize("name", ["a.lines", "a.l.mtx"])
def test_a_file_format_of_a_plugin_is_read_and_written(tmp_path: Path, name: str) -> None:
    write(tmp_path / name, Tensor(Dense(SparseList(Element(0.0))), MATRIX))
    assert (tmp_path / name).read_text() == "lines\n0 1 2.0\n1 0 1.0\n"
    assert read(tmp_path / name).to_numpy().tolist() == MATRIX.tolist()


@pytest.mark.usefixtures("lines")
def test_an_unknown_ending_is_told_by_the_content(tmp_path: Path) -> None:
    (tmp_path / "a.dat").write_text("lines\n0 1 2.0\n")
    assert read(tmp_path / "a.dat").nstored == 1
    (tmp_path / "b.dat").write_text("nothing known")
    with pytest.raises(FormatError, match=r"ending of 'b.dat'.*\n.*endings are .*'.lines'"):
        read(tmp_path / "b.dat")


@pytest.mark.usefixtures("lines")
def test_a_format_is_named(tmp_path: Path) -> None:
    write(tmp_path / "a", Tensor(Dense(SparseList(Element(0.0))), MATRIX), format="lines")
    assert read(tmp_path / "a", format="lines").nstored == 2
    with pytest.raises(FormatError, match=r"no file format 'line'\n.*'lines'"):
        read(tmp_path / "a", format="line")


@pytest.mark.usefixtures("lines")
def test_a_refused_tensor_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.lines"
    path.write_text("old")
    with pytest.raises(FormatError, match="only sparse tensors"):
        write(path, MATRIX)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.lines"]


@pytest.mark.usefixtures("lines")
def test_a_mistake_of_the_plugin_names_it(tmp_path: Path) -> None:
    (tmp_path / "a.lines").write_text("lines\n0 1\n0\n")
    with pytest.raises(
        PluginError, match=r"load of the file format 'lines' of 'lines' .* failed: ValueError"
    ):
        read(tmp_path / "a.lines")


def test_a_format_that_only_reads(tmp_path: Path) -> None:
    hub().register(plugin(FileFormat("listed", (".listed",), load_lines)), "listed")
    try:
        with pytest.raises(FormatError, match="of the format 'listed' cannot be written"):
            write(tmp_path / "a.listed", MATRIX)
    finally:
        hub().unregister("listed")


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (FileFormat("x", (), load_lines), r"has endings = \(\)"),
        (FileFormat("x", ".x", load_lines), "a tuple of texts"),  # type: ignore[arg-type]
        (FileFormat("x", ("x",), load_lines), "an ending begins with a point"),
        (FileFormat("x", (".x",)), "lacks the method 'load or save'"),
        (FileFormat("x", (".x",), lambda: 1), r"load\(\).*called as load\(path\)"),  # type: ignore[arg-type, misc]
        (FileFormat("x", (".x",), load_lines, load_lines), r"called as save\(tensor, path\)"),  # type: ignore[arg-type]
        (FileFormat("x", (".x",), load_lines, None, b"x"), "a tuple of bytes"),  # type: ignore[arg-type]
        (FileFormat("x", (".npz",), load_lines), "the ending '.npz' .* is that of 'NumPy archive'"),
        (types.SimpleNamespace(name="x", load=load_lines), "not a finch_core.io.FileFormat"),
    ],
)
def test_what_is_no_file_format_is_refused(wrong: Any, why: str) -> None:
    with pytest.raises(PluginError, match=why):
        hub().register(plugin(wrong), "x")
    assert "x" not in hub().file_formats


def test_the_built_in_formats_enter_by_the_hook() -> None:
    found = {entry.name: entry.registers for entry in Hub.discover().report()}
    assert set(found["files"]) == {
        "Matrix Market", "Matrix Market tensor", "FROSTT", "NumPy array", "NumPy archive"
    }  # fmt: skip
