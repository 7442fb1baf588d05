"""``a or b`` and ``a and b`` as values are one of both, as in Python; of bools they are bools."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import finch_array as fa
from finch_core import Tensor, _, coalesce, kernel, parallel
from finch_core.testing import backend_names
from finch_levels import Dense, Element, RunList, SparseByteMap, SparseList

DATA = np.array([4, 0, 9, 0, 3])
LEVELS = [Dense, SparseList, SparseByteMap, RunList]
DTYPES = [np.float64, np.int8, np.uint64, np.complex64, np.bool_]


def or_one(v):
    return v or 1


def chosen(y, x):
    for i in range(len(x)):
        y[i] = x[i] or 3
        y[i] += (x[i] and 5) or x[0]
        y[i] += or_one(x[i])
        if not (x[i] or (i and x[0])):
            y[i] += 7


@pytest.mark.parametrize("backend", backend_names())
@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.__name__)
@pytest.mark.parametrize("dtype", DTYPES)
def test_values_of_or_and_and(dtype: Any, level: Any, backend: str) -> None:
    x, wanted, y = DATA.astype(dtype), np.zeros(5, complex), np.zeros(5, complex)
    chosen(wanted, x)
    run, given = kernel(backend=backend)(chosen), Tensor(level(Element(dtype(0))), x)
    np.testing.assert_array_equal(run.reference(np.zeros(5, complex), given)["y"], wanted)
    run(y, given)
    np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize("backend", backend_names())
def test_updates_and_names(backend: str) -> None:
    @kernel(backend=backend)
    def first(y, x):
        t = 0.0
        u = False
        for i in _:
            y[0] = y[0] or x[i]
            y[1] = y[1] and x[i]
            t = t or x[i]
            u = u or x[i] > 4
        return t, u

    y = np.array([0.0, 2.0])
    assert first(y, DATA[1:] * 1.0) == (9.0, True)
    assert y.tolist() == [9.0, 0.0]
    y = np.array([False, True])
    first(y, DATA > 8)
    assert y.tolist() == [True, False]


def test_or_of_bools_is_a_reduction() -> None:
    @kernel
    def anywhere(y, x):
        for i in parallel(_):
            y[()] = y[()] or x[i]

    y = np.array(False)
    anywhere(y, DATA > 8)
    assert y


@pytest.mark.parametrize("backend", backend_names())
def test_what_is_missing_decides_nothing(backend: str) -> None:
    @kernel(backend=backend)
    def beyond(y, x):
        for i in range(len(y)):
            y[i] = coalesce(x[~(i + 3)] or 6, 8) + coalesce(1 if x[~(i + 3)] else 2, 0)

    y = np.zeros(3)
    beyond(y, DATA * 1.0)
    assert y.tolist() == [8.0, 4.0, 8.0]
    assert beyond.reference(np.zeros(3), DATA * 1.0)["y"].tolist() == y.tolist()


def test_einsum() -> None:
    A = Tensor(Dense(SparseList(Element(0.0))), np.diag([2.0, 3.0]))
    B = np.array([[5.0, 0.0], [7.0, 0.0]])
    either = fa.einsum("C[i, j] = A[i, j] or B[i, j]", A=A, B=B)  # logical, as for arrays
    assert either.to_numpy().tolist() == [[True, False], [True, True]]
    both = fa.einsum("C[i, j] = A[i, j] and B[i, j]", A=A, B=B)
    assert both.to_numpy().tolist() == [[True, False], [False, False]]
    bools = fa.einsum("C[i, j] = A[i, j] > 2 and True", A=A)
    assert bools.dtype == bool
    assert bools.to_numpy().sum() == 1
