"""Accesses that may be out of bounds, as programs write them: missing there, or dropped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wrapper_support import BACKENDS, MATRICES, QUICK, VECTORS, arrays, check, dense, on

from finch_core import FormatError, Tensor, _, coalesce, kernel
from finch_core.level import Format
from finch_levels import Dense, Element, Scalar, SparseBlockList, SparseList
from finch_wrappers import stride, window

both_vectors = pytest.mark.parametrize("format", VECTORS, ids=str)
all_matrices = pytest.mark.parametrize("format", MATRICES, ids=str)


def stencil(y, x):
    y[...] = 0
    for i in _:
        y[i] = coalesce(x[~(i - 1)], 0) + 10 * x[i] + 100 * coalesce(x[~(i + 1)], 7)
    return y


def padded_convolution(C, A, F, n, pad):
    C[...] = 0
    for i in range(0, n):
        for k in _:
            C[i] += coalesce(A[~(i + k - pad)], 0) * F[k]
    return C


def concatenation(C, A, B, m, n):
    C[...] = 0
    for i in range(0, n):
        C[i] = coalesce(A[~i], B[~(i - m)], 0)
    return C


def gathered(y, x, at):
    y[...] = 0
    for i in _:
        y[i] = coalesce(x[~at[i]], -1)
    return y


def dropped(y, x, d):
    for i in _:
        y[~(i + d)] += x[i]
    return y


def missing_both(y, x):
    y[...] = 0
    for i in _:
        neighbours = x[~(i - 1)] + x[~(i + 1)]
        y[i] = coalesce(neighbours, -1)
    return y


def padded_both(y, A):
    y[...] = 0
    for i in range(-1, 4):
        for j in range(-1, 4):
            y[()] += coalesce(A[~i, ~j], 1) * (i + 10 * j)
    return y


@both_vectors
def test_out_of_bounds_reads_are_missing(format: Format) -> None:
    @QUICK
    @given(arrays(0), st.lists(st.integers(-2, 8), max_size=5))
    def property_(x: np.ndarray[Any, Any], at: list[int]) -> None:
        X, n = Tensor(format, x), len(x)
        padded = np.concatenate([[0], x, [7]])
        found = check(stencil, dense(1), X)
        np.testing.assert_array_equal(found, padded[:-2] + 10 * x + 100 * padded[2:])
        found = check(gathered, dense(1), X, np.array(at, int))
        np.testing.assert_array_equal(found, [x[i] if 0 <= i < n else -1 for i in at])
        check(missing_both, lambda: Tensor(Dense(Element(0.0)), (n,)), X)

    property_()


@both_vectors
def test_out_of_bounds_writes_are_dropped(format: Format) -> None:
    @QUICK
    @given(arrays(0), st.integers(0, 6), st.integers(-4, 4))
    def property_(x: np.ndarray[Any, Any], m: int, d: int) -> None:
        found = check(dropped, lambda: np.ones(m), Tensor(format, x), d)
        expected = np.ones(m)
        for i, value in enumerate(x):
            if 0 <= i + d < m:
                expected[i + d] += value
        np.testing.assert_array_equal(found, expected)

    property_()


def test_a_sparse_output_takes_permissive_writes() -> None:
    def part(y, x, m):
        y[...] = 0
        for i in range(0, 6):
            if i != 2:
                y[~i] = coalesce(x[~(i - m)], 0)
        return y

    x = np.array([1.0, 0.0, 2.0, 3.0])
    for backend in BACKENDS:
        y = Tensor(SparseList(Element(0.0)), (4,))
        found = on(backend, part)(y, Tensor(SparseList(Element(0.0)), x), 1)
        np.testing.assert_array_equal(np.asarray(found), [0, 1, 0, 2])


@pytest.mark.parametrize("filter_format", VECTORS, ids=str)
@both_vectors
def test_convolution(format: Format, filter_format: Format) -> None:
    @QUICK
    @given(arrays(0), arrays(0, largest=4), st.integers(0, 3))
    def property_(A: np.ndarray[Any, Any], F: np.ndarray[Any, Any], pad: int) -> None:
        n = len(A)
        found = check(
            padded_convolution, dense(1), Tensor(format, A), Tensor(filter_format, F), n, pad
        )
        wide = np.concatenate([np.zeros(pad), A, np.zeros(len(F))])
        expected = [(wide[i : i + len(F)] * F).sum() for i in range(n)]
        np.testing.assert_array_equal(found, expected)

    property_()


@both_vectors
def test_concatenation(format: Format) -> None:
    @QUICK
    @given(arrays(0), arrays(0))
    def property_(A: np.ndarray[Any, Any], B: np.ndarray[Any, Any]) -> None:
        n = len(A) + len(B)
        found = check(concatenation, dense(1), Tensor(format, A), Tensor(format, B), len(A), n)
        np.testing.assert_array_equal(found, np.concatenate([A, B]))

    property_()


@all_matrices
def test_both_dimensions_may_be_padded(format: Format) -> None:
    A = np.array([[0.0, 2.0], [3.0, 0.0], [0.0, 0.0]])
    found = check(padded_both, lambda: Scalar(0.0), Tensor(format, A))
    wide = np.pad(A, ((1, 1), (1, 2)), constant_values=1)
    i, j = np.indices(wide.shape) - 1
    assert found == (wide * (i + 10 * j)).sum()


def neighbour(y, x, side):
    y[...] = 0
    for i in _:
        near = x[~(i - 1)] if side[i] > 1 else (x[~(i + 1)] if side[i] > 0 else 4.0)
        y[i] = coalesce(2.0 * (1.0 + near) - 1.0, 50.0)
    return y


@both_vectors
def test_cases_within_cases_may_be_missing(format: Format) -> None:
    x = np.array([1.0, 2.0, 0.0, 3.0, 5.0])
    found = check(neighbour, dense(1), Tensor(format, x), np.array([2, 1, 0, 2, 1]))
    assert found.tolist() == [50.0, 1.0, 9.0, 1.0, 50.0]


def test_missing_must_be_given_a_value() -> None:
    def careless(y, x):
        y[...] = 0
        for i in _:
            y[i] = x[i] + x[~(i - 1)]
        return y

    with pytest.raises(FormatError, match="missing cannot be stored") as caught:
        on("interpreter", careless)(dense(1)(), np.ones(3))
    assert "coalesce(A[~i], 0)" in str(caught.value)


def conjunction(y, x, a):
    for i in _:
        y[i] = coalesce(x[~(i - 1)] > 1 and a[i] > 2, 3)


def conjunction_after(y, x, a):
    for i in _:
        y[i] = coalesce(a[i] > 2 and x[~(i - 1)] > 1, 3)


def disjunction(y, x, a):
    for i in _:
        y[i] = coalesce(x[~(i - 1)] > 1 or a[i] > 2, 3)


def disjunction_after(y, x, a):
    for i in _:
        y[i] = coalesce(a[i] > 2 or x[~(i - 1)] > 1, 3)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("last", [1.0, 5.0])
def test_what_is_missing_is_decided_by_the_other_operand(backend: str, last: float) -> None:
    """``False and missing`` is False; the compiled kernel had no value for it."""
    x, a = np.array([1.0, 4.0, 9.0]), np.array([last, 1.0, 5.0])
    for function, decided in (
        (conjunction, last < 2), (conjunction_after, last < 2),
        (disjunction, last > 2), (disjunction_after, last > 2),
    ):  # fmt: skip
        run, y = kernel(backend=backend)(function), np.zeros(3)
        run(y, x, a)
        alone = float(function in (disjunction, disjunction_after))
        assert y[0] == (alone if decided else 3)
        assert np.array_equal(y, run.reference(np.zeros(3), x, a)["y"])


def two_missing(y, x, a):
    for i in _:
        y[i] += coalesce(x[~(i - 1)] > 1 and a[~(i + 1)] > 2, 3)
        y[i] += 10 * coalesce(x[~(i - 2)] > 1 or a[~(i - 1)] > 2, 3)
        y[i] += 100 * coalesce((x[~(i - 1)] > 1 or a[i] > 2) and a[~(i + 2)] > 2, 3)


@pytest.mark.parametrize("backend", BACKENDS)
def test_both_operands_may_be_missing(backend: str) -> None:
    run = kernel(backend=backend)(two_missing)
    for n in (1, 2, 5):
        x, a = np.arange(n) * 3.0 % 4, np.arange(n) * 2.0 % 5
        sparse = Tensor(SparseList(Element(0.0)), a)
        for held in (a, sparse):
            y = np.zeros(n)
            run(y, x, held)
            assert np.array_equal(y, run.reference(np.zeros(n), x, a)["y"])


def summed_within(y, A, m):
    for i in range(0, 2):
        for j in range(-1, 3):
            for k in range(0, m[0]):
                y[i, k] += coalesce(A[i, ~j, j + k], 2)


def shifted_within(y, A, m):
    for i in range(0, 2):
        for j in range(-1, 3):
            for k in range(-1, m[0]):
                y[i, k + 1] += coalesce(A[i, ~j, k + 1], 2)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [summed_within, shifted_within])
def test_a_row_that_is_all_fill_has_the_extents_of_its_index(backend: str, function: Any) -> None:
    """The dimensions of a constant row are shifted and summed as those of any other."""
    format = SparseList(Dense(Dense(Element(0.0))))
    full = np.zeros((2, 2, 3))
    full[1, 1, 2] = 5
    run = kernel(backend=backend)(function)
    for data in (np.zeros((2, 2, 3)), full):
        for m in (0, 1, 2):
            y, A = np.zeros((2, 3)), Tensor(format, data)
            run(y, A, np.array([m]))
            expected = run.reference(np.zeros((2, 3)), A, np.array([m]))["y"]
            assert np.array_equal(y, expected)


def beyond_both_ends(s, x):
    for i in range(-3, 9):
        s[()] += coalesce(x[~i], 0) * (i + 10)
    return s


def beyond_one_end(s, x, b):
    for i in _:
        s[()] += coalesce(x[~i], 0) + b[i + 2]
    return s


@pytest.mark.parametrize("view", [None, (1, 4), slice(4, 1, -1), slice(1, 5, 2)], ids=str)
@pytest.mark.parametrize("format", [*VECTORS, SparseBlockList(Element(0.0))], ids=str)
def test_what_lies_beyond_the_ends_is_not_read(format: Format, view: Any) -> None:
    """Of a part of a tensor, too, which goes on beyond its ends."""
    x, b = np.array([3.0, 4, 0, 5, 2, 1]), np.array([1.0, 2, 4])
    for backend in BACKENDS:
        whole = Tensor(format, x)
        if view is None:
            part, wanted = whole, x
        elif isinstance(view, tuple):
            part, wanted = window(whole, view), x[slice(*view)]
        else:
            part, wanted = stride(whole, view), x[view]
        s, t = Scalar(0.0), Scalar(0.0)
        on(backend, beyond_both_ends)(s, part)
        assert s.value == sum(v * (i + 10) for i, v in enumerate(wanted))
        on(backend, beyond_one_end)(t, part, b)
        assert t.value == b.sum() + wanted[0]
