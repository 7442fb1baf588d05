"""Runs are moved, counted and mapped as runs."""

from __future__ import annotations

import numpy as np
import pytest
from array_support import fa, same

from finch_core import PerformanceWarning, Tensor
from finch_core.runtime.validation import validate
from finch_levels import Dense, Element, RunList, SparseList, SparseRunList

ELEMENT = Element(0.0)
FORMATS = {
    1: (RunList(ELEMENT), SparseRunList(ELEMENT)),
    2: (Dense(RunList(ELEMENT)), RunList(RunList(ELEMENT)), SparseList(SparseRunList(ELEMENT))),
    3: (Dense(Dense(RunList(ELEMENT))), SparseList(SparseList(SparseRunList(ELEMENT)))),
}
SHAPES = [(24,), (4, 6), (1, 24), (24, 1), (2, 3, 4), (0, 5), (5, 0), (12, 2)]
CASES = [(shape, format) for shape in SHAPES for format in FORMATS[len(shape)]]


def data(shape, seed):
    found = np.random.default_rng(seed).integers(0, 3, (*shape[:-1], (shape[-1] + 2) // 3))
    return np.repeat(found.astype(float), 3, -1)[..., : shape[-1]]


@pytest.mark.parametrize(("shape", "format"), CASES)
def test_shapes(shape, format):
    for seed in range(3):
        a = data(shape, seed)
        A = Tensor(format, a)
        for wanted in ((24,), (6, 4), (24, 1), (2, 2, 6), (-1, 3), (5, 0), (0,)):
            if a.size == abs(int(np.prod(wanted))) or (a.size and -1 in wanted):
                found = fa.reshape(A, wanted)
                same(found, a.reshape(wanted))
                validate(found)
        same(fa.roll(A, 5), np.roll(a, 5))
        for count in (0, 1, 3):
            same(fa.repeat(A, count, axis=-1), np.repeat(a, count, -1))


@pytest.mark.parametrize(("shape", "format"), CASES)
def test_values(shape, format):
    a = data(shape, 7)
    if a.size:
        a[..., -1] = 4
    A = Tensor(format, a)
    values, counts = np.unique(a, return_counts=True)
    found = fa.unique_counts(A)
    same(found.values, values)
    same(found.counts, counts)
    same(fa.isin(A, fa.asarray([4.0, 0.0])), np.isin(a, [4.0, 0.0]))
    same(fa.isin(A, fa.asarray([2.0]), invert=True), np.isin(a, [2.0], invert=True))


def test_each_nan_of_a_run_is_a_value():
    a = np.array([1.0, np.nan, np.nan, 0.0])
    found = fa.unique_counts(Tensor(SparseRunList(ELEMENT), a))
    same(found.values, [0, 1, np.nan, np.nan])
    same(found.counts, [1, 1, 1, 1])


def test_long_runs_stay_runs():
    A = fa.zeros((4000, 10**7), format=Dense(RunList(ELEMENT)))
    A[3:5, 10:-10] = 2.0
    long = 10**7 - 20
    assert fa.unique_counts(A).counts.to_numpy().tolist() == [A.size - 2 * long, 2 * long]
    flat = fa.reshape(A, (-1,))
    assert flat.format == SparseRunList(ELEMENT)
    assert float(fa.sum(flat)) == 4 * long
    assert float(fa.sum(fa.reshape(flat, (2000, 2, 10**7)))) == 4 * long
    assert float(fa.sum(fa.repeat(A, 5, axis=1))) == 20 * long
    assert fa.count_nonzero(fa.isin(A, fa.asarray([2.0]))) == 2 * long


def test_many_that_are_taken_apart_say_so():
    A = fa.zeros((2, 10**7), format=Dense(RunList(ELEMENT)))
    A[:, 5:] = 2.0
    with pytest.warns(PerformanceWarning, match=r"runs of an array of shape \(2, 10000000\)"):
        fa.sort(A)


def test_distinct_elements_of_lazy_arrays_of_runs():
    """What stands for an array in a plan has no memory of its own."""
    plain = np.array([[1, 1, 0, 0, 2, 2, 2], [0, 0, 0, 1, 1, 1, 0]])
    lazy = fa.lazy(fa.asarray(plain, format=Dense(SparseRunList(Element(0)))))
    found = fa.unique_counts(lazy)
    values, counts = np.unique(plain, return_counts=True)
    assert found.values.to_numpy().tolist() == values.tolist()
    assert found.counts.to_numpy().tolist() == counts.tolist()
    numbers = fa.asarray(np.array([0.0, 0.0, 2.0]), format=SparseRunList(Element(0.0)))
    there = fa.isin(lazy, fa.lazy(numbers))
    np.testing.assert_array_equal(np.asarray(there), np.isin(plain, [0, 2]))


def test_products_of_runs_take_a_turn_a_run():
    """By itself, where the dimension is long: a turn an index took time by its square."""
    runs, n = RunList(RunList(ELEMENT)), 300_000
    coords, values = ([3, 5, n - 1], [5, n - 1, 2]), [1.0, 2.0, 3.0]
    A = fa.from_coo(coords, values, (n, n)).to(runs)
    found = A @ A
    assert found[3, n - 1] == 2.0
    assert found[5, 2] == 6.0
    assert fa.sum(found) == 8.0
