"""Workspaces that take after arrays of tuples, and what lies between the elements of a tuple."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from shared_programs import function_of

from finch_core import kernel, swap
from finch_core.ir.expressions import Literal
from finch_levels import Element

PAIR = np.dtype([("f0", np.float64), ("f1", np.int8)], align=True)


def pairs() -> Any:
    return np.array([(1.5, 2), (3.5, 4)], PAIR)


@pytest.mark.parametrize("backend", ["interpreter", "c"])
@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("v = np.zeros_like(w); w[0] = v[1]", [(0.0, 0), (3.5, 4)]),
        ("v = np.ones_like(w); w[0] = v[1]", [(1.0, 1), (3.5, 4)]),
        ("v = np.full_like(w, 3); w[0] = v[1]", [(3.0, 3), (3.5, 4)]),
        ("v = np.zeros(2, w.dtype); w[0] = v[1]", [(0.0, 0), (3.5, 4)]),
        ("v = w.copy(); w[0] = (3.0, 1); w[1] = v[0]", [(3.0, 1), (1.5, 2)]),
        ("v = w.copy(); w[0] = (3.0, 1); swap(v, w)", [(1.5, 2), (3.5, 4)]),
    ],
)
def test_workspaces_of_tuples(made: str, expected: Any, backend: str) -> None:
    w = pairs()
    kernel(backend=backend)(function_of(f"def k(w):\n    {made}\n", np=np, swap=swap))(w)
    assert w.tolist() == expected


def test_memory_between_elements_tells_no_tuples_apart() -> None:
    clean = np.array((1.5, 2), PAIR)[()]
    memory = np.full(PAIR.itemsize, 255, np.uint8)
    dirty = memory.view(PAIR)
    dirty["f0"], dirty["f1"] = 1.5, 2
    assert memory[-1] == 255
    assert Element(dirty[0], PAIR) == Element(clean, PAIR) == Element((1.5, 2), PAIR)
    assert Literal(dirty[0], PAIR) == Literal((1.5, np.int8(2)), PAIR)
    assert Element((1.5, 3), PAIR) != Element(clean, PAIR)
