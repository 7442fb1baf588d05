"""Statements in terms of simpler ones mean the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from finch_core.ir.assembly import Block, Sort
from finch_core.ir.builder import Builder, Names
from finch_core.ir.expansions import heapsort
from finch_core.ir.expressions import Buffer, lift
from finch_core.testing.run_block import run_block


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
def test_a_heapsort_sorts_a_part(dtype: str) -> None:
    draw, a = np.random.default_rng(1), Buffer("a", np.dtype(dtype))
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    for n in (0, 1, 2, 3, 4, 7, 31, 100):
        for values in (
            draw.integers(least, most, n, dtype, endpoint=True),
            draw.integers(0, 3, n).astype(dtype),
            np.arange(n).astype(dtype),
            np.arange(n)[::-1].astype(dtype),
        ):
            for start, stop in ((0, n), (min(1, n), n), (0, n // 2), (n, 0)):
                block = heapsort(Sort(a, lift(start), lift(stop)), Names(("a",)))
                found: Any = run_block(block, {a: values.tolist() or [0]})
                wanted = values.copy()
                wanted[start:stop] = np.sort(values[start:stop])
                assert found[0] == 0
                assert found[1]["a"].tolist()[:n] == wanted.tolist()


def test_it_has_no_sort() -> None:
    a = Buffer("a", np.dtype(np.int64))
    b = Builder(Names(("a",)))
    b.sort(a, 0, 5)
    (statement,) = b.finish().statements
    assert isinstance(statement, Sort)
    text = repr(heapsort(statement, Names(("a",))))
    assert "Sort(" not in text
    assert isinstance(heapsort(statement, Names(("a",))), Block)
