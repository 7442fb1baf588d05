"""The C backend passes the suite that authors of backends subclass."""

from __future__ import annotations

import os

import numpy as np
import pytest

from finch_backend_c.cbackend import CBackend
from finch_core.interface.abi import DONE
from finch_core.ir.assembly import For, Store
from finch_core.ir.expressions import Cast, Load
from finch_core.testing import BackendSuite, Bench
from finch_core.testing.arrays import DTYPES
from finch_core.testing.bench import block, n, var

FLAGS = () if os.environ.get("FINCH_CFLAGS") else ("-O1",)


class TestC(BackendSuite):
    name = "c"

    @classmethod
    def made(cls) -> CBackend:
        return CBackend(flags=FLAGS)

    @classmethod
    def failing(cls, number: int) -> CBackend:
        return CBackend(flags=FLAGS, fail_alloc=number + 1)


@pytest.mark.parametrize("target", [t for t in DTYPES if t.kind in "iu"], ids=str)
def test_cast_of_a_float_that_does_not_fit_is_defined(target: np.dtype) -> None:
    bench, i = Bench(TestC.made()), var("i")
    values = bench.buffer("values", [np.nan, np.inf, -np.inf, 1e300, -1e300])
    found = bench.buffer("found", np.ones(5, target))
    store = Store(found, i, Cast(Load(values, i), target))
    assert bench.run(For(i, n(0), n(5), block(store))) == DONE
    width = max(target.itemsize, 4) if target.name != "uint32" else 8
    lowest = np.array(-(1 << (8 * width - 1)), f"i{width}").astype(target)
    assert bench.arrays["found"][[0, 2, 4]].tolist() == [lowest] * 3
