"""Outputs that are made for each call: small ones get the room that the last call needed."""

from __future__ import annotations

import numpy as np
import pytest
import shared_programs

from finch_core import DimensionMismatch, LifecycleError, Tensor, _, kernel
from finch_core.level import Format
from finch_levels import Dense, Element, RunList, SparseByteMap, SparseHash, SparseList


@kernel
def doubled(y, x):
    y[...] = 0
    for i in _:
        y[i] = 2 * x[i]
    return y


FORMATS = [
    Dense(Element(0.0)),
    SparseList(Element(0.0)),
    SparseHash(Element(0.0)),
    SparseByteMap(Element(0.0)),
    RunList(Element(0.0)),
]


@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_sizes_may_change_from_call_to_call(format: Format) -> None:
    kept = []
    for n in (5, 5, 3, 3, 40, 40, 0, 0, 1, 7, 20000, 20000, 6):
        x = np.arange(n, dtype=float) % 7 - 2
        y = doubled(Tensor(format), x)
        assert y.shape == (n,)
        assert np.array_equal(y.to_numpy(), 2 * x)
        kept.append((y, 2 * x))
    for y, expected in kept:  # which share no memory
        assert np.array_equal(y.to_numpy(), expected)


def test_a_new_output_is_updated_again() -> None:
    for n in (4, 4, 4):
        y = Tensor(Dense(Element(0.0)))
        for factor in (1.0, 3.0):
            assert doubled(y, np.full(n, factor)) is y
            assert y.to_numpy().tolist() == [2 * factor] * n


product = kernel(shared_programs.spmv)


def test_a_call_that_fails_leaves_a_new_output_valid() -> None:
    A = np.ones((3, 4))
    for _again in range(3):
        assert product(Tensor(Dense(Element(0.0))), A, np.ones(4)).to_numpy().tolist() == [4] * 3
    y = Tensor(Dense(Element(0.0)))
    with pytest.raises(DimensionMismatch):
        product(y, A, np.ones(5))
    assert y.shape == (0,)
    assert product(y, A, np.ones(4)).to_numpy().tolist() == [4] * 3


def test_only_small_buffers_without_a_state_get_room() -> None:
    small = doubled(Tensor(Dense(Element(0.0))), np.ones(9))
    assert 9 <= small.room()[0] < 100
    assert doubled(Tensor(Dense(Element(0.0))), np.ones(9000)).room() == ()
    assert doubled(Tensor(SparseHash(Element(0.0))), np.ones(9)).room() == ()


def test_small_results_after_a_large_one_take_little_memory() -> None:
    made = kernel(doubled.__wrapped__)
    for _again in range(2):
        assert made(Tensor(Dense(Element(0.0))), np.ones(4000)).arrays[0].size >= 4000
        few = [made(Tensor(Dense(Element(0.0))), np.ones(3)) for _ in range(5)]
        assert few[0].arrays[0].size >= 4000  # it is the first
        assert max(y.arrays[0].size for y in few[1:]) < 100
        assert all(y.to_numpy().tolist() == [2, 2, 2] for y in few)


def test_calls_with_new_outputs_are_repeated_calls() -> None:
    made, x = kernel(doubled.__wrapped__), np.ones(4)
    for k in range(40):
        x[:] = k
        assert made(Tensor(Dense(Element(0.0))), x).to_numpy().tolist() == [2 * k] * 4
    assert len(made._calls) == 1


@kernel
def split(small, large, x):
    small[...] = 0
    large[...] = 0
    for i in _:
        if x[i] < 2:
            small[i] = x[i]
        else:
            large[i] = x[i]


def test_several_new_outputs_in_repeated_calls_are_different() -> None:
    x, format = np.arange(4.0), Dense(Element(0.0))
    for _again in range(5):
        small, large = Tensor(format), Tensor(format)
        split(small, large, x)
        assert small.to_numpy().tolist() == [0, 1, 0, 0]
        assert large.to_numpy().tolist() == [0, 0, 2, 3]
    same = Tensor(format)
    for _again in range(2):
        with pytest.raises(LifecycleError):
            split(same, same, x)
    split(small, same, x)
    assert same.to_numpy().tolist() == [0, 0, 2, 3]


def test_new_tensors_that_are_read_are_empty() -> None:
    read = kernel(doubled.__wrapped__)
    for _again in range(4):
        empty = Tensor(Dense(Element(0.0)))
        y = read(Tensor(Dense(Element(0.0))), empty)
        assert (y.shape, empty.shape) == ((0,), (0,))
        with pytest.raises(LifecycleError):
            read(empty, empty)
        assert read(y, np.ones(2)).to_numpy().tolist() == [2, 2]
