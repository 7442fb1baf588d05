"""The stub of ``finch_array``, by which editors and type checkers see its names."""

from __future__ import annotations

import runpy
from pathlib import Path

import finch_array
from finch_array.namespace import NAMES
from finch_core import Tensor
from finch_levels import Dense, Element

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


def test_completion_lists_what_users_rely_on_and_each_name_is_described() -> None:
    tensor = Tensor(Dense(Element(0.0)), (3,))
    listed = {name for name in dir(tensor) if not name.startswith("_")}
    assert {"shape", "buffers", "sum", "to_scipy", "T"} <= listed
    assert not {"record", "set_shape", "adopt"} & listed
    bare = [name for name in listed if not getattr(type(tensor), name).__doc__]
    assert bare == ["format"], "an attribute of the class's own docstring"
