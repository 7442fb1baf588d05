"""Generated text is reviewed as code is: it is compared with a file named after the test.

``FINCH_UPDATE_GOLDEN=1 pytest tests/golden`` writes the files anew.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from finch_backend_c import toolchain

FOLDER = Path(__file__).parent / "expected"


@pytest.fixture(autouse=True)
def registers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text for a processor with long registers, on any."""
    monkeypatch.setattr(toolchain, "register_bytes", lambda: 64)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Compares a text with the one that is on file for this test."""
    path = FOLDER / f"{request.node.name.removeprefix('test_')}.txt"

    def compare(text: str) -> None:
        if os.environ.get("FINCH_UPDATE_GOLDEN"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        assert path.exists(), f"no text is on file: FINCH_UPDATE_GOLDEN=1 writes {path.name}"
        assert text == path.read_text()

    return compare
