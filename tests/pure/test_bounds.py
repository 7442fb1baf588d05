"""Which accesses are checked as a kernel runs: those that no extent proves."""

import numpy as np
import pytest

from finch_core import Tensor, _, kernel
from finch_core.errors import DimensionMismatch, OutOfBounds
from finch_levels import Dense, Element, Scalar, SparseList

LEAF = Element(0.0)
VECTOR, MATRIX = np.arange(4.0), np.arange(12.0).reshape(3, 4)


def new(function):
    return kernel(backend="interpreter")(function)


def sites(function, *args):
    """The messages of the checks that are left to run time."""
    lowered = new(function).lower(*args)
    return [s.message for s in lowered.kernel.sites if s.error is OutOfBounds]


def spmv(y, A, x):
    y[...] = 0
    for i, j in _:
        y[i] += A[i, j] * x[j]


def by_columns(y, A, x):
    y[...] = 0
    for j, i in _:
        y[i] += A[i, j] * x[j]


def triangle(s, A):
    s[...] = 0
    for i, j in _:
        if i <= j:
            s[()] += A[i, j]


def twice(y, A):
    y[...] = 0
    for i, j in _:
        y[j] += A[i, j]
    for j in _:
        y[j] *= 2


@pytest.mark.parametrize("row", [Dense(LEAF), SparseList(LEAF)])
@pytest.mark.parametrize("level", [Dense, SparseList])
def test_whole_dimensions_are_not_checked(level, row):
    A, y = Tensor(level(row), MATRIX), Tensor(Dense(LEAF))
    assert sites(spmv, y, A, VECTOR) == []
    assert sites(by_columns, y, A, VECTOR) == []
    assert sites(triangle, Scalar(0.0), A) == []
    assert sites(twice, y, A) == []


def test_a_range_is_checked_before_the_program_runs():
    def part(y, x, n):
        for i in range(1, n):
            y[i] = x[i]

    assert sites(part, np.zeros(4), VECTOR, 3) == []
    y = np.zeros(4)
    new(part)(y, VECTOR, 3)
    assert y.tolist() == [0, 1, 2, 0]
    with pytest.raises(DimensionMismatch):
        new(part)(y, VECTOR, 5)


@pytest.mark.parametrize(("start", "stop"), [(9, 9), (7, 2), (-3, -3), (-2, -5)])
def test_an_empty_range_may_lie_anywhere(start, stop):
    def part(y, x, a, b):
        for i in range(a, b):
            y[i] = x[i]

    y = np.full(4, 7.0)
    new(part)(y, VECTOR, start, stop)
    assert y.tolist() == [7, 7, 7, 7]


def test_an_empty_range_makes_an_empty_output():
    def part(y, a, b):
        y[...] = 0
        for i in range(a, b):
            y[i] = 1
        return y

    made = new(part)
    assert made(Tensor(Dense(LEAF), [5.0]), 3, -2).shape == (0,)
    assert made(Tensor(Dense(LEAF), [5.0]), 1, 3).to_numpy().tolist() == [0, 1, 1]


def test_a_gather_is_checked_once():
    def gather(y, x, at):
        for i in _:
            y[i] = x[at[i]] + x[at[i]]

    found = sites(gather, np.zeros(3), VECTOR, np.array([0, 1, 2]))
    assert found == ["index {0} is out of bounds for dimension 0 of x of size {1}"]


@pytest.mark.parametrize("index", [np.int8, np.uint8, np.int32, np.uint64])
def test_indices_of_any_integer_type(index):
    def gather(y, x, at):
        for i in _:
            y[i] = x[at[i]]

    y = np.zeros(2)
    new(gather)(y, VECTOR, np.array([3, 1], index))
    assert y.tolist() == [3, 1]
    with pytest.raises(OutOfBounds):
        new(gather)(y, VECTOR, np.array([3, np.iinfo(index).max], index))


def test_an_access_that_is_not_evaluated_is_not_checked():
    def some(y, x, at):
        for i in _:
            y[i] = x[at[i]] if at[i] >= 0 and x[at[i]] < 3 else 5

    y = np.zeros(4)
    new(some)(y, VECTOR, np.array([-1, 1, 2, 3]))
    assert y.tolist() == [5, 1, 2, 5]
    with pytest.raises(OutOfBounds):
        new(some)(y, VECTOR, np.array([-1, 1, 2, 4]))


def test_an_access_under_a_condition():
    def some(y, x, at):
        for i in _:
            if at[i] >= 0 and at[i] < 4:
                y[i] = x[at[i]]

    y = np.full(3, -1.0)
    new(some)(y, VECTOR, np.array([-5, 2, 99]))
    assert y.tolist() == [-1, 2, -1]


def test_ranges_that_the_data_give():
    def row_sums(y, ptr, val):
        y[...] = 0
        for i in range(0, 2):
            for p in range(ptr[i], ptr[i + 1]):
                y[i] += val[p]
        return y

    made = new(row_sums)
    y = Tensor(Dense(LEAF))
    assert made(y, np.array([0, 1, 4]), VECTOR).to_numpy().tolist() == [0, 6]
    assert made(y, np.array([9, 9, 4]), VECTOR).to_numpy().tolist() == [0, 0]
    for ptr in ([0, 1, 5], [-1, 1, 2]):
        with pytest.raises(OutOfBounds, match=r"is not within dimension 0 of val of size 4"):
            made(y, np.array(ptr), VECTOR)


def test_two_declared_outputs_with_one_index_become_equally_long():
    def both(y, z):
        y[...] = 0
        z[...] = 0
        for i in _:
            y[i] = 1
            z[i] = 2

    y, z = Tensor(Dense(LEAF), (3,)), Tensor(Dense(LEAF), (1,))
    new(both)(y, z)
    assert y.to_numpy().tolist() == [1, 1, 1]
    assert z.to_numpy().tolist() == [2, 2, 2]


def next_places(end, degrees):
    for i in _:
        d = degrees[i]
        at = end[d - 1]
        end[d - 1] = at + 1


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_an_index_that_is_computed_again_is_checked_once(dtype):
    """Sums of narrow integers may wrap, and so are terms of which facts are known."""
    end, degrees = np.zeros(4, dtype), np.array([1, 3, 4], dtype)
    assert len(sites(next_places, end, degrees)) == 1
    new(next_places)(end, degrees)
    assert end.tolist() == [1, 0, 1, 1]
    for beyond in (0, 5):
        with pytest.raises(OutOfBounds, match=f"index {beyond - 1} is out of bounds"):
            new(next_places)(end, np.array([beyond], dtype))
