"""A file comes out the same, and its errors name the same lines, in blocks of any length."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from finch_core.errors import FormatError
from finch_core.io import text_tables
from finch_core.io.file_contents import Coordinates
from finch_core.io.files import parse

HEADER = "%%MatrixMarket matrix coordinate real general\n"
RNG = np.random.default_rng(8)
COUNT = 200
ENTRIES = [
    f"{i} {j} {v!r}"
    for i, j, v in zip(
        RNG.integers(1, 1000, COUNT).tolist(),
        RNG.integers(1, 10**9, COUNT).tolist(),
        RNG.standard_normal(COUNT).tolist(),
        strict=True,
    )
]
BREAKS = ["\n", "\r\n", "\n\n", " \n\t", "\n% a comment, with 1 2 3\n", "\n  %\n\n"]
BODY = "".join(entry + BREAKS[k % len(BREAKS)] for k, entry in enumerate(ENTRIES))
TEXT = f"{HEADER}999 1000000000 {COUNT}\n{BODY}"
SIZES = (1, 7, 64, 1000, 1 << 18)


@pytest.mark.parametrize("ending", [".mtx", ".mtx.gz", ".tns"])
@pytest.mark.parametrize("size", SIZES)
def test_blocks_of_any_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, ending: str
) -> None:
    path = tmp_path / f"a{ending}"
    data = (BODY if ending == ".tns" else TEXT).encode()
    path.write_bytes(gzip.compress(data) if ending.endswith("gz") else data)
    monkeypatch.setattr(text_tables, "BLOCK", size)
    content = parse(path)
    assert isinstance(content, Coordinates)
    found = zip(*(c.tolist() for c in content.coords), content.values.tolist(), strict=True)
    assert [f"{i + 1} {j + 1} {v!r}" for i, j, v in found] == ENTRIES


AMISS = ["1 1", "1 x 1", "1 2 3 4", "1000 1 1", "1 1 1\0"]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("place", [0, 77, COUNT - 1])
@pytest.mark.parametrize("amiss", AMISS)
def test_the_line_at_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, place: int, amiss: str
) -> None:
    start = TEXT.index(ENTRIES[place])
    (tmp_path / "a.mtx").write_text(TEXT[:start] + amiss + TEXT[start + len(ENTRIES[place]) :])
    monkeypatch.setattr(text_tables, "BLOCK", size)
    line = TEXT[:start].count("\n") + 1
    with pytest.raises(FormatError, match=f"^a.mtx, line {line}: "):
        parse(tmp_path / "a.mtx")


@pytest.mark.parametrize("size", SIZES)
def test_the_line_of_one_entry_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    (tmp_path / "a.mtx").write_text(f"{TEXT}\n1 1 1\n\n1 1 1\n")
    monkeypatch.setattr(text_tables, "BLOCK", size)
    line = TEXT.count("\n") + 2
    with pytest.raises(FormatError, match=f"^a.mtx, line {line}: more than {COUNT} entries"):
        parse(tmp_path / "a.mtx")


def test_a_line_without_an_end_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_tables, "LONGEST_LINE", 1000)
    (tmp_path / "a.tns").write_bytes(b"1 1 " + b"1" * 2000)
    with pytest.raises(FormatError, match="line 1: the line is longer than 1000 bytes"):
        parse(tmp_path / "a.tns")


def test_blank_lines_without_end_cost_no_memory(tmp_path: Path) -> None:
    import tracemalloc

    (tmp_path / "a.tns.gz").write_bytes(gzip.compress(b"1 1 1\n" + b"\n" * (64 << 20)))
    tracemalloc.start()
    try:
        content = parse(tmp_path / "a.tns.gz")
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(content, Coordinates)
    assert len(content.values) == 1
    assert most < 16 << 20


def test_an_array_that_grows_beyond_its_room_keeps_what_is_placed() -> None:
    """A file may become longer while it is read."""
    part = text_tables.Growing(np.dtype(np.int64), None, 4)
    first = part.placed(np.array([1, 2, 3]), 0, 1)
    later = part.placed(np.array([9]), 3, 0)
    beyond = part.placed(np.array([5, 6]), 4, 1)
    part.extend(first)
    part.extend(later)
    part.extend(beyond)
    assert (first.tolist(), later.tolist(), beyond.tolist()) == ([0, 1, 2], [9], [4, 5])
    assert part.taken().tolist() == [0, 1, 2, 9, 4, 5]
