"""Tuples as written, where a tensor holds another tuple or a number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from shared_programs import function_of

from finch_core import kernel, minby
from finch_core.errors import FormatError
from finch_levels import Scalar

PAIR: Any = (0.0, -1)
NARROW: Any = (np.float32(0), np.int8(0))


@pytest.mark.parametrize(
    ("line", "fill", "told"),
    [
        ("w[...] = (0.0, -1, 2)", PAIR, "w is declared to (0.0, -1, 2), but its fill value is (0.0, -1)"),
        ("w[...] = (1.0, -1)", PAIR, "w is declared to (1.0, -1), but its fill value is (0.0, -1)"),
        ("w[...] = (0.0, -1.5)", PAIR, "w is declared to (0.0, -1.5), but its fill value is (0.0, -1)"),
        ("w[...] = (1, 2)", 0.0, "w is declared to (1, 2), but its fill value is 0.0"),
        ("w[...] = 1j", 0.0, "w is declared to 1j, but its fill value is 0.0"),
        ("w[()] = (1, 2)", 0.0, "w holds float64, and cannot take a value of (int64, int64)"),
        ("w[()] = 3", PAIR, "w holds (float64, int64), and cannot take a value of int64"),
        ("w[()] = (1, 2, 3)", PAIR, "w holds (float64, int64), and cannot take a value of (int64, int64, int64)"),
        ("w[()] = (1, 2.5)", PAIR, "w holds (float64, int64), and cannot take a value of (int64, float64)"),
        ("w[()] = (0.5, 300)", NARROW, "w holds (float32, int8), and cannot take a value of (float64, int64)"),
        (
            "w[()] = minby(w[()], (1, 2, 3))", PAIR,
            "'minby' is not defined on (float64, int64) and (int64, int64, int64)",
        ),
    ],
)  # fmt: skip
def test_they_are_refused(line: str, fill: Any, told: str) -> None:
    function = function_of(f"def k(w):\n    {line}\n", minby=minby)
    with pytest.raises(FormatError) as error:
        kernel(function)(Scalar(fill))
    assert str(error.value).startswith(told + "\n")


def test_what_is_held_is_taken() -> None:
    @kernel
    def run(w, v):
        w[...] = (-0.0, -1)
        v[...] = (np.nan, -1)
        w[()] = (3, 4)
        v[()] = (0.1, 127)

    w, v = Scalar(PAIR), Scalar((np.float32(np.nan), np.int8(-1)))
    run(w, v)
    assert w.value == (3.0, 4)
    assert v.value == (np.float32(0.1), 127)
