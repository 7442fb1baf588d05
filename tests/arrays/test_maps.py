"""Functions of one array and numbers: calls on new memory, once the kernel is compiled."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from array_support import MATRICES, data, fa, same, tensor

from finch_core.runtime.drafts import DRAFT_CALLS

NUMBERS = (2, 2.5, True, np.int8(3), np.float32(1.5), 1j, np.uint64(2**63))


@pytest.fixture
def at_once(monkeypatch):
    """Kernels are compiled for good at their first call."""
    monkeypatch.setenv("FINCH_DRAFTS", "0")
    monkeypatch.setenv("FINCH_BACKEND", "c")


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i2", "?", "c16"])
def test_values_in_new_memory(at_once, dtype):
    function = fa.elementwise_of(np.multiply)
    for n in (5, 6, 0, 300):
        values = data((n, 7), dtype, seed=n)
        for number in NUMBERS:
            for _ in range(3):
                for name in ("rows", "lists"):
                    with np.errstate(all="ignore"):
                        same(function(tensor(values, MATRICES[name]), number), values * number)
    assert all(kept._known for kept in function._maps.values())


def test_drafts_are_remembered_and_replaced(monkeypatch):
    monkeypatch.setenv("FINCH_BACKEND", "c")
    function, values = fa.elementwise_of(np.add), data((5, 6))
    array = tensor(values, MATRICES["dense"])
    for k in range(DRAFT_CALLS + 3):
        found = function(array, float(k))
    same(found, values + float(k))
    (kept,) = function._maps.values()
    assert kept._known


def test_read_only_values_and_integers_beyond_64_bits(at_once):
    values = data((5, 6), np.int64)
    values.flags.writeable = False
    array = fa.asarray(values)
    function = fa.elementwise_of(np.multiply)
    for _ in range(3):
        same(function(array, 3), values * 3)
        for number in (2**64, -(2**70)):
            with pytest.raises(OverflowError, match="out of bounds for int64"):
                function(array, number)


def test_calls_of_several_threads(at_once):
    arrays = [data((40, 50), seed=k) for k in range(16)]
    function = fa.elementwise_of(np.subtract)
    same(function(fa.asarray(arrays[0]), 2.0), arrays[0] - 2.0)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda a: function(fa.asarray(a), 2.0), arrays * 20))
    for mine, own in zip(found, arrays * 20, strict=True):
        same(mine, own - 2.0)
