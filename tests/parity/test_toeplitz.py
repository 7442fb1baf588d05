"""Sums of two indices: convolutions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from wrapper_support import BACKENDS, MATRICES, QUICK, VECTORS, arrays, check, dense, on

from finch_core import Tensor
from finch_core.errors import OutOfBounds
from finch_core.level import Format
from finch_levels import Scalar

both_vectors = pytest.mark.parametrize("format", VECTORS, ids=str)
all_matrices = pytest.mark.parametrize("format", MATRICES, ids=str)


def valid_convolution(C, A, F, n):
    C[...] = 0
    for i in range(0, n):
        for k in _:
            C[i] += A[i + k] * F[k]
    return C


def guarded(C, A, F, n):
    C[...] = 0
    for i in range(0, n):
        for k in _:
            if i + k < n:
                C[i] += A[i + k] * F[k]
    return C


def scattered(C, A, F):
    for i, k in _:
        C[i + k] += A[i] * F[k]
    return C


def by_start(s, A, start):
    s[...] = 0
    for i in _:
        for j in range(0, 2):
            s[()] += (j + 1) * A[start[i] + j]
    return s


def rows_and_columns(C, A, F):
    for i, j, k in _:
        C[i, j + k] += A[i, j] * F[k]
    return C


@pytest.mark.parametrize("filter_format", VECTORS, ids=str)
@both_vectors
def test_a_sum_of_indices_shifts_by_the_outer_one(format: Format, filter_format: Format) -> None:
    @QUICK
    @given(arrays(0, largest=7), arrays(3))
    def property_(A: np.ndarray[Any, Any], F: np.ndarray[Any, Any]) -> None:
        A_, F_, n = Tensor(format, A), Tensor(filter_format, F), max(len(A) - 2, 0)
        expected = np.convolve(A, F[::-1], "valid") if len(A) >= 3 else np.zeros(n)
        np.testing.assert_array_equal(check(valid_convolution, dense(1), A_, F_, n), expected)
        check(guarded, dense(1), A_, F_, len(A))
        if len(A):
            found = check(scattered, lambda: np.zeros(len(A) + 2), A_, F_)
            np.testing.assert_array_equal(found, np.convolve(A, F))
        if len(A) > 3:
            start = np.array([1, 0, len(A) - 2])
            expected_sum = (A[start] + 2 * A[start + 1]).sum()
            assert check(by_start, lambda: Scalar(0.0), A_, start) == expected_sum

    property_()


@all_matrices
def test_a_sum_of_indices_in_an_inner_dimension(format: Format) -> None:
    @QUICK
    @given(arrays(0, 0, largest=4), arrays(3))
    def property_(A: np.ndarray[Any, Any], F: np.ndarray[Any, Any]) -> None:
        m, n = A.shape
        check(rows_and_columns, lambda: np.zeros((m, n + 2)), Tensor(format, A), F)

    property_()


@both_vectors
def test_a_sum_of_indices_beyond_the_end_fails_where_it_is_read(format: Format) -> None:
    A = Tensor(format, np.ones(4))
    for backend in BACKENDS:
        with pytest.raises(OutOfBounds, match="dimension 0 of A of size 4"):
            on(backend, valid_convolution)(dense(1)(), A, np.ones(3), 3)
    with pytest.raises(OutOfBounds):
        on(BACKENDS[-1], valid_convolution).reference(dense(1)(), A, np.ones(3), 3)
