"""The suite of file formats, and files that are malformed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from finch_core import FormatError, Tensor, read
from finch_core.testing import FileFormatSuite


class TestSmtx(FileFormatSuite):
    name = "smtx"

    def holds(self, tensor: Tensor) -> bool:
        return tensor.ndim == 2 and tensor.fill_value == 0

    def value(self, array: Any) -> Any:
        return (array != 0).astype(float)


@pytest.mark.parametrize("text", ["", "1, 2", "2, 2, 1\n0 1\n0\n", "2, 2, 1\n0 1 1\n7\n", "x"])
def test_malformed_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.smtx"
    path.write_text(text)
    with pytest.raises(FormatError, match=r"bad\.smtx"):
        read(path)


def test_a_pattern_is_read_as_ones(tmp_path: Path) -> None:
    path = tmp_path / "a.smtx"
    path.write_text("2, 3, 3\n0 2 3\n0 2 1\n")
    assert read(path).to_numpy().tolist() == [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    assert np.asarray(read(path)).dtype == float
