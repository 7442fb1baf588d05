"""Matrix Market files: matrices, tensors and vectors."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from finch_core.errors import FormatError
from finch_core.io.file_contents import Coordinates
from finch_core.io.files import parse

HEADER = "%%MatrixMarket matrix coordinate real general\n"


def file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def dense(content) -> np.ndarray:
    if not isinstance(content, Coordinates):
        return content
    array = np.full(content.shape, content.fill, content.values.dtype)
    np.add.at(array, content.coords, content.values)
    return array


def test_a_coordinate_matrix_with_duplicates(tmp_path: Path) -> None:
    text = HEADER + "% a comment\n\n2 3 3\n1 1 1.5\n2 3 2\n1 1 0.5\n"
    content = parse(file(tmp_path, "a.mtx", text))
    assert dense(content).tolist() == [[2.0, 0.0, 0.0], [0.0, 0.0, 2.0]]


def test_a_compressed_symmetric_matrix(tmp_path: Path) -> None:
    path = tmp_path / "a.mtx.gz"
    text = HEADER.replace("general", "symmetric") + "2 2 2\n1 1 4\n2 1 3\n"
    path.write_bytes(gzip.compress(text.encode()))
    assert dense(parse(path)).tolist() == [[4.0, 3.0], [3.0, 0.0]]


def test_an_array_is_stored_by_columns(tmp_path: Path) -> None:
    text = "%%MatrixMarket matrix array integer general\n2 2\n1\n2\n3\n4\n"
    content = parse(file(tmp_path, "a.mtx", text))
    assert content.tolist() == [[1, 3], [2, 4]]
    assert content.dtype == np.int64


def test_a_tensor_in_coordinates(tmp_path: Path) -> None:
    text = "%%MatrixMarket tensor coordinate real general\n%\n5 6 7 2\n1 1 1 1\n5 1 7 3.5\n"
    content = parse(file(tmp_path, "a.ttx", text))
    assert content.shape == (5, 6, 7)
    assert [c.tolist() for c in content.coords] == [[0, 4], [0, 0], [0, 6]]
    assert content.values.tolist() == [1.0, 3.5]


def test_a_tensor_as_an_array_has_the_first_index_fastest(tmp_path: Path) -> None:
    text = "%%MatrixMarket tensor array real general\n2 3 1\n1\n2\n3\n4\n5\n6\n"
    content = parse(file(tmp_path, "a.ttx", text))
    assert content[:, :, 0].tolist() == [[1, 3, 5], [2, 4, 6]]


@pytest.mark.parametrize(
    ("field", "line", "value"),
    [("complex", "3 1.5 -2", 1.5 - 2j), ("integer", "3 7", 7), ("pattern", "3", 1.0)],
)
def test_the_fields_of_a_vector(tmp_path: Path, field: str, line: str, value: complex) -> None:
    text = f"%%MatrixMarket vector coordinate {field} general\n4 1\n{line}\n"
    content = parse(file(tmp_path, "a.mtx", text))
    assert content.shape == (4,)
    assert content.coords[0].tolist() == [2]
    assert content.values.tolist() == [value]


def test_indices_beyond_the_precision_of_floats_are_exact(tmp_path: Path) -> None:
    big = 2**53 + 1
    text = f"%%MatrixMarket tensor coordinate real general\n2 {big} 1\n1 {big} 1\n"
    content = parse(file(tmp_path, "a.ttx", text))
    assert content.coords[1].tolist() == [big - 1]


TENSOR = "%%MatrixMarket tensor coordinate real general\n"

MALFORMED = {
    "no header": ("1 1 1\n1 1 2\n", "line 1: the file does not begin with %%MatrixMarket"),
    "unknown object": (HEADER.replace("matrix", "graph"), "line 1: "),
    "no sizes": (HEADER + "% nothing\n", "line "),
    "one size": (
        HEADER + "%\n3\n1 1 1\n",
        "line 3: the size of each dimension",
    ),
    "negative size": (HEADER + "-1 2 1\n1 1 1\n", "line 2: "),
    "row out of range": (HEADER + "2 2 1\n3 1 1\n", "line 3: the index 3 is not from 1 to 2"),
    "no number": (HEADER + "2 2 2\n1 1 1\n2 2 x\n", "line 4: "),
    "too few": (HEADER + "2 2 3\n1 1 1\n2 2 1\n", "line 5: 3 entries expected, only 2 found"),
    "too few, and no last end of a line": (
        HEADER + "2 2 3\n1 1 1\n2 2 1",
        "line 5: 3 entries expected, only 2 found",
    ),
    "a byte 0": (HEADER + "2 2 1\n1 1 1\0\n", "line 3: '1\\x00' is no value"),
    "a line of a byte 0": (HEADER + "2 2 1\n1 1 1\n\0", "line 4: 3 numbers expected, 1 found"),
    "a word that is no text": (HEADER.replace("real", "r\xe9el"), "line 1: the field 'r\\xc3"),
    "no square": (HEADER.replace("general", "symmetric") + "2 3 0\n", "line 2: a matrix of shape"),
    "too many": (HEADER + "2 2 1\n1 1 1\n2 2 1\n", "line 4: "),
    "more than memory holds": (
        HEADER + "3 3 100000000000000\n1 1 1\n",
        "line 4: 100000000000000 entries expected, only 1 found",
    ),
    "an array larger than memory": (
        HEADER.replace("coordinate", "array") + "1000000000 1000000000\n1\n",
        "line 4: 1000000000000000000 values expected, only 1 found",
    ),
    "tensor: row out of range": (
        TENSOR + "2 2 2 1\n1 3 1 1\n",
        "line 3: the index 3 is not from 1 to 2",
    ),
    "tensor: index 0": (
        TENSOR + "2 2 2 1\n% here\n0 1 1 1\n",
        "line 4: the index 0 is",
    ),
    "tensor: no number": (TENSOR + "2 2 2 1\n1 1 1 x\n", "line 3: 'x' is no value"),
    "tensor: no integer": (TENSOR + "2 2 2 1\n1 1.5 1 2\n", "line 3: '1.5' is no index"),
    "tensor: ragged": (TENSOR + "2 2 2 2\n1 1 1 1\n1 1 1\n", "line 4: 4 numbers expected, 3 found"),
    "tensor: too few": (TENSOR + "2 2 2 2\n1 1 1 1\n", "line 4: 2 entries expected, only 1 found"),
    "tensor: too many": (TENSOR + "2 2 1\n1 1 1\n1 2 1\n", "line 4: more than 1 entries"),
    "tensor: size": (TENSOR + "2 two 2 1\n", "line 2: the size 'two' is not an integer in range"),
    "tensor: large size": (
        TENSOR + f"2 {2**70} 1\n",
        "line 2: the size '1180591620717411",
    ),
    "tensor: no sizes": (TENSOR, "line 2: the sizes are missing"),
    "tensor: symmetry": (TENSOR.replace("general", "symmetric"), "line 1: only matrices"),
    "tensor: field": (TENSOR.replace("real", "quaternion"), "line 1: the field 'quaternion'"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_file_names_the_line(tmp_path: Path, case: str) -> None:
    text, message = MALFORMED[case]
    with pytest.raises(FormatError) as error:
        parse(file(tmp_path, "bad.mtx", text))
    assert str(error.value).startswith(f"bad.mtx, {message}")


def test_half_a_gzip_file_is_malformed(tmp_path: Path) -> None:
    path = tmp_path / "half.mtx.gz"
    path.write_bytes(gzip.compress(HEADER.encode() * 100)[:-20])
    with pytest.raises(FormatError, match="half.mtx.gz: not a whole gzip file"):
        parse(path)


def test_an_unknown_ending_lists_the_known_ones(tmp_path: Path) -> None:
    known = r"'a.csv' is not that of a known file format\n.*'.mtx'.*'.npz'"
    with pytest.raises(FormatError, match=known):
        parse(file(tmp_path, "a.csv", ""))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        parse(tmp_path / "none.mtx")
