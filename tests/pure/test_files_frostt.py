"""FROSTT files."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from finch_core.errors import FormatError
from finch_core.io import Coordinates
from finch_core.io.coordinate_files import write_frostt
from finch_core.io.files import parse


def test_indices_count_from_one_and_the_shape_is_the_smallest(tmp_path: Path) -> None:
    path = tmp_path / "a.tns"
    path.write_text("# made by hand\n2 2 2 6.0\n1 3 1 2\n\n2 3  1\t-1e3\n")
    content = parse(path)
    assert content.shape == (2, 3, 2)
    assert [c.tolist() for c in content.coords] == [[1, 0, 1], [1, 2, 2], [1, 0, 0]]
    assert content.values.tolist() == [6.0, 2.0, -1000.0]


def test_a_dimension_with_a_zero_counts_from_zero(tmp_path: Path) -> None:
    path = tmp_path / "a.tns"
    path.write_text("1 0 2.0\n2 1 3.0\n")
    content = parse(path)
    assert content.shape == (2, 2)
    assert [c.tolist() for c in content.coords] == [[0, 1], [0, 1]]


def test_compressed(tmp_path: Path) -> None:
    path = tmp_path / "a.tns.gz"
    path.write_bytes(gzip.compress(b"4 5\n"))
    content = parse(path)
    assert content.shape == (4,)
    assert content.values.tolist() == [5.0]


def test_a_shape_that_entries_do_not_tell_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.tns"
    write_frostt(Coordinates((2, 3), (np.array([0]), np.array([1])), np.array([5.0])), path)
    assert path.read_text() == "# shape: 2 3\n1 2 5.0\n"
    assert parse(path).shape == (2, 3)
    write_frostt(Coordinates((1, 2), (np.array([0]), np.array([1])), np.array([5.0])), path)
    assert path.read_text() == "1 2 5.0\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# shape: 2\n1 1 5\n", "line 1: 1 dimension for entries of 3 numbers"),
        ("", "line 1: there is no entry, so the number of dimensions is not known"),
        ("# only this\n", "line 2: there is no entry"),
        ("1\n", "line 1: indices and a value are expected"),
        ("1 1 1\n1 1\n", "line 2: 3 numbers expected, 2 found"),
        ("# c\n1 1 1\n\n1 one 1\n", "line 4: 'one' is no index"),
        ("1 1 1\n-1 1 1\n", "line 2: the index -1 is less than 0"),
        ("1 99999999999999999999 1\n", "line 1: '99999999999999999999' is no index"),
    ],
)
def test_a_malformed_file_names_the_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.tns"
    path.write_text(text)
    with pytest.raises(FormatError) as error:
        parse(path)
    assert str(error.value).startswith(f"bad.tns, {message}")


def test_a_shape_that_entries_leave(tmp_path: Path) -> None:
    path = tmp_path / "bad.tns"
    path.write_text("# shape: 2 3\n1 1 5\n1 4 5\n")
    with pytest.raises(FormatError) as error:
        parse(path)
    assert str(error.value) == "bad.tns: dimension 1 is 3 by its comment, and an entry is at 4"
