"""The author's suite, and what only this backend does."""

from __future__ import annotations

import numpy as np
from finch_backend_llvm.compiler import LlvmBackend

from finch_core.interface.abi import DONE
from finch_core.ir import primitives as prim
from finch_core.ir.assembly import Assign, For
from finch_core.ir.expressions import Call, Load
from finch_core.testing import BackendSuite, Bench
from finch_core.testing.bench import block, n, var


class TestLlvm(BackendSuite):
    name = "llvm"


class TestWithoutOptimising(BackendSuite):
    """LLVM's own passes may hide what is undefined in the code that we hand to them."""

    name = "llvm"

    @classmethod
    def made(cls) -> LlvmBackend:
        return LlvmBackend(level=0)


def summed(lanes: bool) -> str:
    """The text of a kernel that sums products, in lanes or one after the other."""
    bench, rng = Bench(LlvmBackend()), np.random.default_rng(1)
    x, y = (bench.buffer(name, rng.random(1003)) for name in "xy")
    total, i = bench.variable("total", 0.0, float), var("i")
    product = Call(prim.mul, (Load(x, i), Load(y, i)))
    step = Assign(total, Call(prim.add, (total, product)))
    permitted = ((total, prim.add),) if lanes else ()
    assert bench.run(For(i, n(0), n(1003), block(step), permitted)) == DONE
    return bench.compiled.source


def test_a_sum_keeps_its_order_unless_lanes_are_permitted() -> None:
    assert "reassoc" not in summed(lanes=False)
    source = summed(lanes=True)
    assert source.count("reassoc") == 1
    assert "fast" not in source
