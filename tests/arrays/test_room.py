"""Results are given as much memory as the last one took; what is in it does not matter."""

from __future__ import annotations

import operator
from itertools import pairwise

import numpy as np
import pytest
from array_support import LEVELS, data, held, same, tensor

import finch_array as fa
import finch_array.ready
from finch_array.operands import stored
from finch_array.ready import Room
from finch_core import kernel
from finch_core.errors import LifecycleError


@kernel
def copied(y, x):
    y[...] = 0
    for i, j in _:
        y[i, j] = x[i, j]


NESTS = (
    *((first, second) for first in ("Dense", "SparseList") for second in LEVELS),
    *((first, "Dense") for first in LEVELS),
    ("SparseCOO", "SparseCOO"), ("SparseList", "Dense", "SparseList"),
    ("SparseBlockList", "SparseBlockList", "Dense"),
)  # fmt: skip

OPERATORS = {np.float64: (operator.add, operator.mul), np.bool_: (operator.or_, operator.and_)}


@pytest.fixture
def garbage(monkeypatch):
    """What memory for results contains."""

    def full(size, dtype):
        return np.full(size, 77, dtype)

    monkeypatch.setattr(finch_array.ready, "_empty", full)


@pytest.mark.sampled(0.29)
@pytest.mark.parametrize("levels", NESTS, ids="-".join)
@pytest.mark.parametrize("dtype", [np.float64, np.bool_], ids=["float", "bool"])
def test_memory_that_is_given_may_hold_anything(garbage, levels, dtype):
    shape = (6, 7, 3)[: len(levels)]
    a, b = (held(data(shape, dtype, seed=s), levels) for s in (1, 2))
    A, B = tensor(a, levels), tensor(b, levels)
    for _ in range(3):
        for op in OPERATORS[dtype]:
            same(op(A, B), op(a, b))
            same(op(A, B[:1]), op(a, b[:1]))
        same(A[1:5], a[1:5])
        same(A.T, a.T)


def test_results_get_what_the_last_one_took():
    a = data((50, 60), seed=1)
    A, few = tensor(a, ("Dense", "SparseList")), tensor(a * (a == 4), ("Dense", "SparseList"))
    for _ in range(3):
        whole = A + A
    taken = whole.arrays[-1].size
    assert taken == (A + A).arrays[-1].size
    assert (few + few).arrays[-1].size < taken
    same(few + few, 2 * a * (a == 4))
    same(A + A, 2 * a)


def test_large_buffers_of_a_result_do_not_lie_a_power_of_two_apart():
    n = finch_array.ready.LARGE_ROOM + 1
    one, A = (tensor(np.ones((1, k)), ("Dense", "SparseList")) for k in (1, n))
    grown = [array.size for array in (one @ A).arrays]
    taken = [array.size for array in (one @ A).arrays]
    apart = finch_array.ready.APART
    assert taken == [grown[0], grown[1] + apart, grown[2] + apart]
    assert [array.size for array in (one @ A).arrays] == taken


def test_dense_results_need_no_room():
    dense = fa.asarray(np.ones((3, 4)))
    assert Room.of(dense.format) is None


def test_results_in_given_memory_know_it():
    A = tensor(data((6, 7), seed=1), ("Dense", "SparseList"))
    for _ in range(3):
        found = A + A
        assert len(found.memory) == 3
        with pytest.raises(LifecycleError, match="shares memory"):
            copied(found, found)


def test_arrays_of_new_shapes_run_what_is_compiled(monkeypatch):
    """Neither the compiled kernel nor the memory of results is looked up again for each shape."""
    first = 0
    run_first = finch_array.ready.Ready._run_first

    def counted(self, *args):
        nonlocal first
        first += 1
        run_first(self, *args)

    monkeypatch.setattr(finch_array.ready.Ready, "_run_first", counted)
    for n in range(33, 60):
        a = data((n, n + 1), seed=n)
        A = tensor(a, ("Dense", "SparseList"))
        found = A - A * 3
        same(found, a - a * 3)
        same(fa.sum(A, axis=1), a.sum(axis=1))
        same(A @ np.ones(n + 1), a @ np.ones(n + 1))
    assert first <= 2 * 3  # for two magnitudes of what is stored


def test_results_of_new_shapes_take_no_memory_of_much_longer_ones():
    rows, entries = ("Dense", "SparseList"), np.zeros((5000, 2))
    entries[:3] = 1
    for array in (entries, entries[:40]):
        A = tensor(array, rows)
        for _ in range(3):
            found = A + A
    assert found.arrays[0].size < 100


@pytest.mark.parametrize("levels", NESTS, ids="-".join)
def test_small_results_share_no_memory(levels):
    shape = (6, 7, 3)[: len(levels)]
    a, b = (held(data(shape, np.float64, seed=s), levels) for s in (1, 2))
    A, B = tensor(a, levels), tensor(b, levels)
    found = [A + B for _ in range(70)]
    spans = sorted(span for out in found for span in out.memory)
    assert all(one[1] <= other[0] for one, other in pairwise(spans))
    assert len({out.address for out in found}) == len(found)
    for out in found:
        assert out.address == out.record.ctypes.data
        for part, array in zip(out.layout.buffers, out.arrays, strict=True):
            if array.size and not part.field.scratch:
                assert out.record[part.offset] == array.ctypes.data
                assert (array.ctypes.data, array.ctypes.data + array.nbytes) in out.memory
        same(out, a + b)
        out.arrays[-1][:] = 99.0  # what is written into one is not read from another


def test_buffers_without_elements_are_at_their_addresses():
    """Else they would be taken for buffers of the kernel, and freed."""
    A = tensor(np.zeros((6, 7)), ("Dense", "SparseList"))
    for out in [stored(A + A).source for _ in range(70)]:
        for part, array in zip(out.layout.buffers, out.arrays, strict=True):
            assert out.record[part.offset] == array.ctypes.data
