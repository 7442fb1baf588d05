"""``A[i, j]``: by the levels in their buffers where they can, else by a kernel."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from finch_core import Tensor
from finch_core.interface.level import Format
from finch_core.plugins import hub
from finch_core.runtime import convert
from finch_core.runtime.storage import TensorStorage
from finch_levels import (
    Dense,
    Element,
    Pattern,
    RunList,
    Scalar,
    SparseBand,
    SparseBlockList,
    SparseByteMap,
    SparseCOO,
    SparseHash,
    SparseInterval,
    SparseList,
    SparsePinpoint,
    SparseRunList,
)

ARRAY = np.array([[0.0, 1.5, 0.0, -2.0], [0.0, 0.0, 0.0, 0.0], [3.0, 0.0, 0.0, 4.5]])
PLAIN: dict[str, Any] = {
    "dense": Dense(Dense(Element(0.0))),
    "rows": Dense(SparseList(Element(0.0), index=np.int8, pointer=np.uint16)),
    "lists": SparseList(SparseList(Element(0.0))),
    "columns": SparseList(Dense(Element(0.0))),
    "fill": Dense(SparseList(Element(1.5))),
    "pattern": Dense(SparseList(Pattern())),
    "whole": Dense(SparseList(Element(np.int16(0)))),
    "runs": Dense(RunList(Element(0.0), index=np.int8)),
    "runs of rows": RunList(Dense(Element(0.0))),
    "runs with gaps": SparseRunList(SparseRunList(Element(0.0))),
    "band": Dense(SparseBand(Element(0.0), index=np.uint8)),
    "bands": SparseBand(SparseBand(Element(0.0))),
    "blocks": Dense(SparseBlockList(Element(0.0), index=np.uint8, pointer=np.int8)),
    "blocks of rows": SparseBlockList(Dense(Element(0.0))),
    "bytes": Dense(SparseByteMap(Element(0.0))),
    "bytes of bytes": SparseByteMap(SparseByteMap(Pattern())),
    "hashes": Dense(SparseHash(Element(0.0), index=np.int8)),
    "hashes of hashes": SparseHash(SparseHash(Element(0.0))),
    "one run of rows": SparseInterval(SparseRunList(Element(0.0))),
    "one of a column": Dense(SparsePinpoint(Element(0.0), index=np.int8)),
}


@pytest.mark.parametrize("name", PLAIN)
def test_levels_find_elements(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same element as a kernel reads, of the same type."""
    array = ARRAY.astype(PLAIN[name].dtype)
    if name == "one run of rows":
        array = np.vstack([0 * array[:1], array[2:], array[2:]])
    if name == "one of a column":
        array = np.where(array == array.max(axis=1, keepdims=True), array, 0.0) * (array > 0)
    tensor = Tensor(PLAIN[name], array)
    places = [*np.ndindex(array.shape), (-1, -1), (0, -4)]
    found = [tensor[place] for place in places]
    assert [tensor.plain_element(place) is None for place in places[:-2]] == [False] * 12
    monkeypatch.setattr(TensorStorage, "plain_element", lambda *_: None)
    monkeypatch.setattr(convert, "listed_element", lambda *_: None)
    for place, value in zip(places, found, strict=True):
        assert value == tensor[place] == array[place]
        assert type(value) is type(tensor[place]) is type(array[place])


COORDINATES: dict[str, Any] = {
    "coordinates": SparseCOO(SparseCOO(Element(0.0))),
    "narrow": SparseCOO(SparseCOO(Element(2.0), index=np.int8), pointer=np.int16),
    "rows of coordinates": Dense(SparseCOO(Element(0.0))),
    "lists of coordinates": SparseList(SparseCOO(Element(0.0))),
}


@pytest.mark.parametrize("name", COORDINATES)
def test_elements_of_coordinates_take_no_kernel(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    blank, tensor = Tensor(COORDINATES[name], (3, 4)), Tensor(COORDINATES[name], ARRAY)
    monkeypatch.setattr(convert, "cached_kernel", None)
    for place in np.ndindex(3, 4):
        assert tensor[place] == ARRAY[place]
        assert type(tensor[place]) is np.float64
        assert blank[place] == blank.fill_value


@pytest.mark.parametrize("name", sorted(n for n, f in hub().levels.items() if not f.is_leaf))
def test_every_level(name: str) -> None:
    """Levels that cannot find an index leave it to a kernel."""
    row = np.array([0.0, 0.0, 2.0, 0.0, 0.0])
    tensor = Tensor(hub().levels[name](Element(0.0)), row)
    assert [tensor[i] for i in range(5)] == row.tolist()


def test_records_are_copies() -> None:
    record = np.dtype([("a", np.int64), ("b", np.float64)])
    array = np.array([(1, 2.0), (0, 0.0)], record)
    tensor = Tensor(SparseList(Element(np.zeros((), record)[()], record)), array)
    one = tensor[0]
    tensor.buffers["1_val"][0] = (5, 6.0)
    assert one.item() == (1, 2.0)
    assert tensor[0].item() == (5, 6.0)
    assert tensor[1].item() == (0, 0.0)
    assert Scalar(2.5)[()] == 2.5


def test_the_defaults_leave_elements_to_kernels() -> None:
    format: Any = Dense(Element(0.0))
    assert Format.locate(format, {}, 0, 0, 1) is None
    assert Format.value_at(format, {}, 0) is None


PROGRAM = """
import sys
import numpy as np
from finch_core import Tensor
from finch_levels import Dense, Element, SparseList

A = Tensor.from_buffers(
    Dense(SparseList(Element(0.0))), (2, 2),
    {"1_ptr": np.array([0, 1, 2]), "1_idx": np.array([0, 1]), "2_val": np.ones(2)},
)
assert A[1, 1] == 1 and A[0, 1] == 0
print(*sys.modules)
"""


def test_reading_an_element_imports_no_compiler() -> None:
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=os.environ, check=True
    )
    for name in ("finch_core.lower.statements", "finch_core.optimize", "finch_backend_c"):
        assert name not in found.stdout.split()
