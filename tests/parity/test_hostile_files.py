"""Files that were cut off or changed are read or refused: a part of ``hostile_files``."""

from __future__ import annotations

from pathlib import Path

import pytest
from hostile_files import attempt, drawn, files

FILES = files()


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_was_changed_is_read_or_refused(tmp_path: Path, name: str) -> None:
    assert attempt(tmp_path / name, FILES[name]) == "read"
    for what, data in drawn(FILES[name], 100, seed=1):
        try:
            attempt(tmp_path / name, data)
        except Exception as error:
            error.add_note(what)
            raise


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_was_cut_off_is_read_or_refused(tmp_path: Path, name: str) -> None:
    size = len(FILES[name])
    for stop in range(0, size, max(1, size // 100)):
        attempt(tmp_path / name, FILES[name][:stop])
