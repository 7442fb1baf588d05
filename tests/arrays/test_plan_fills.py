"""Lazy, eager and NumPy agree in value, fill and dtype where a function of the fill is not the
fill."""

from __future__ import annotations

import numpy as np
import pytest
from array_support import fa, same

from finch_core import Tensor
from finch_levels import Dense, Element, SparseCOO, SparseList

FUNCTIONS = {
    "x / x": lambda x: x / x,
    "x % x": lambda x: x % x,
    "x // x": lambda x: x // x,
    "x ** -1": lambda x: x**-1,
    "x ** 0": lambda x: x**0,
    "x * inf": lambda x: x * np.inf,
    "1 / x": lambda x: 1 / x,
    "x - x": lambda x: x - x,
    "x * (1 / x)": lambda x: x * (1 / x),
    "log": np.log,
    "log(x) * x": lambda x: np.log(x) * x,
    "exp": np.exp,
    "x / x == x": lambda x: x / x == x,
}


CASES = [
    (name, dtype)
    for name in FUNCTIONS
    for dtype in (np.float64, np.float32, np.int32)
    if (name, dtype) != ("x ** -1", np.int32)  # which NumPy refuses
]


@pytest.mark.parametrize(("name", "dtype"), CASES)
@pytest.mark.parametrize("fill", [0, 1])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_fill_is_the_function_of_the_fill(name, dtype, fill):
    function, zero = FUNCTIONS[name], np.dtype(dtype).type(fill)
    a = np.full((3, 4), zero)
    a[0, 1], a[2, 3] = 2, 3
    A = Tensor(Dense(SparseList(Element(zero))), a)
    wanted, filled = function(a), function(np.full(1, zero))[0]
    eager, lazy = function(A), function(fa.lazy(A))
    fused, computed = fa.fused(function)(A), fa.compute(lazy)
    for found in (eager, computed, fused):
        np.testing.assert_allclose(found.to_numpy(), wanted, rtol=1e-6)
        assert found.dtype == wanted.dtype
    for found in (eager, lazy, computed, fused):
        np.testing.assert_allclose(found.fill_value, filled, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int64])
@pytest.mark.parametrize("n", [100, 200, 257])
@pytest.mark.parametrize("reduction", ["sum", "prod"])
def test_more_elements_than_the_dtype_counts_are_reduced(dtype, n, reduction):
    array = np.full((2, n), 3, dtype)
    array[0, 0] = 2
    A = Tensor(Dense(SparseList(Element(dtype(3)))), array)
    column = fa.asarray(array[:, :1])
    ours, theirs = getattr(fa, reduction), getattr(np, reduction)
    for axis in (None, 1):
        wanted = theirs(array, axis=axis, dtype=dtype)
        same(ours(A, axis=axis, dtype=dtype), wanted)
        same(fa.compute(ours(fa.lazy(A), axis=axis, dtype=dtype)), wanted)
        spread = fa.broadcast_to(fa.lazy(column), (2, n))
        wanted = theirs(np.broadcast_to(array[:, :1], (2, n)), axis=axis, dtype=dtype)
        same(fa.compute(ours(spread, axis=axis, dtype=dtype)), wanted)
    same(A @ fa.permute_dims(A, (1, 0)), array @ array.T)


LISTS = SparseList(SparseList(Element(0.0)))


@pytest.mark.parametrize("rows", [1, 5, 300])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_rows_over_their_sums_are_nan_where_rows_are_empty(rows):
    """Whatever format the sums have, and with no more stored than a run for each row."""
    a = np.zeros((300, 200))
    a[:rows, 7], a[:rows, 20] = 1, 3
    L = Tensor(LISTS, a)
    for scaled in (np.divide, np.add):
        wanted = scaled(a, a.sum(axis=1, keepdims=True))
        for X in (L, fa.lazy(L)):
            found = fa.compute(scaled(X, fa.sum(X, axis=1, keepdims=True)))
            np.testing.assert_array_equal(found.to_numpy(), wanted)
            assert found.nnz <= 300 + 5 * rows
    assert np.isnan((L / fa.sum(L, axis=1, keepdims=True)).fill_value)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_dimension_of_one_index_has_gaps_too():
    a = np.zeros((4, 3))
    a[1, 2] = 2
    s = a.max(axis=1, keepdims=True)
    formats = (LISTS, Dense(SparseList(Element(0.0))))
    for A in (Tensor(f, a) for f in formats):
        for S in (Tensor(f, s) for f in formats):
            for X in (A, fa.lazy(A)):
                np.testing.assert_array_equal(fa.compute(X / S).to_numpy(), a / s)
        for X in (A, fa.lazy(A)):
            found = fa.compute(X / X[:, 2:])  # a slice, which the plan reads in place
            np.testing.assert_array_equal(found.to_numpy(), a / a[:, 2:])


def test_the_spread_of_what_an_expression_does_not_store():
    """A lazy expression stores nothing: it is computed before its stored elements are asked for."""
    x, y = np.array([3.0], np.float32), np.array([0, 0, 2], np.int8)
    B = fa.lazy(Tensor(SparseCOO(Element(np.int8(0))), y))
    A = fa.expand_dims(fa.lazy(fa.asarray(x)), axis=0) * fa.expand_dims(B, axis=0)
    for function in (fa.var, fa.std):
        found = function(fa.squeeze(A, axis=0), axis=0, correction=1)
        expected = getattr(np, function.__name__)(x * y, ddof=1)
        np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-6)
