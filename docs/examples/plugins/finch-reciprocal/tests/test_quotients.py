"""The suite of passes, and divisors that are left alone."""

from __future__ import annotations

import numpy as np
import pytest

from finch_core import _, kernel
from finch_core.ir import primitives as prim
from finch_core.ir.assembly import Block, Store
from finch_core.ir.dtypes import FLOAT64, INTP
from finch_core.ir.expressions import Buffer, Call, Literal, Load
from finch_core.testing import AssemblyPassSuite, on

x = Buffer("x", FLOAT64)
zero, one, four = Literal(0, INTP), Literal(1, INTP), Literal(4.0, FLOAT64)
quarter = Block((Store(x, zero, Call(prim.truediv, (Load(x, one), four))),))


class TestQuotients(AssemblyPassSuite):
    name = "power_of_two_quotients"
    blocks = ((quarter, {x: np.array([1.0, 3.0])}),)


def thirds(y, x):
    for i in _:
        y[i] = x[i] / 3.0


def eighths(y, x):
    for i in _:
        y[i] = x[i] / -8.0


@pytest.mark.parametrize("backend", ["interpreter", None])
def test_quotients_keep_their_bits(backend: str | None) -> None:
    x = np.array([0.0, -0.0, 1.0, 5e-324, 1e308, np.inf, np.nan, -3.7])
    for function, divisor in ((thirds, 3.0), (eighths, -8.0)):
        y = np.zeros_like(x)
        on(backend, function)(y, x)
        assert y.tobytes() == (x / divisor).tobytes()


def test_other_divisors_are_left_alone() -> None:
    assert "/ 3.0" in on(None, thirds).lower(np.zeros(2), np.zeros(2)).as_text("assembly")
    text = kernel(disabled={"power_of_two_quotients"})(eighths).lower(np.zeros(2), np.zeros(2))
    assert "/ -8.0" in text.as_text("assembly")
