"""The stub of ``finch_array``, by which editors and type checkers see its names."""

from __future__ import annotations

import runpy
from pathlib import Path

import finch_array
from finch_array.namespace import NAMES

DOCS = Path(__file__).parents[2] / "docs"


def test_the_stub_is_up_to_date() -> None:
    made = runpy.run_path(str(DOCS / "make_stubs.py"))["stub"]()
    stub = Path(finch_array.__file__).with_suffix(".pyi")
    assert made.rstrip("\n") == stub.read_text().rstrip("\n"), "run docs/make_stubs.py"


def test_every_name_tells_what_it_is() -> None:
    for name in NAMES:
        value = getattr(finch_array, name)
        if callable(value):
            assert (value.__doc__ or "").strip(), name
    assert finch_array.add.__doc__.startswith("add(x1, x2, /)\n\n``x1 + x2``")
