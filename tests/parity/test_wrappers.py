"""Wrappers: shifted, padded, windowed and protocolized accesses mean what they say, on every
format, in any order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wrapper_support import BACKENDS, MATRICES, QUICK, VECTORS, arrays, check, dense, on

from finch_core import DimensionMismatch, FormatError, Tensor, coalesce
from finch_core.errors import OutOfBounds
from finch_core.level import Format
from finch_levels import Dense, Element, Scalar, SparseList
from finch_wrappers import offset, permissive, protocolize, swizzle, toeplitz, window

both_vectors = pytest.mark.parametrize("format", VECTORS, ids=str)
all_matrices = pytest.mark.parametrize("format", MATRICES, ids=str)

# -- offset --------------------------------------------------------------------------------------


def inner_stencil(y, x, n):
    for i in range(1, n - 1):
        y[i] += x[i - 1] + 10 * x[i] + 100 * x[i + 1]
    return y


def shifted_sum(s, x, c):
    s[...] = 0
    for i in _:
        s[()] += x[i + c] * (i + c)
    return s


def differences(y, x, z):
    for i in _:
        y[i] += x[i + 1] - z[i + 1]
    return y


def sizes_by_shift(y, x):
    y[...] = 0
    for i in _:
        y[i + 2] += x[i]
    return y


@both_vectors
def test_a_shifted_access_reads_and_writes_next_to_its_index(format: Format) -> None:
    @QUICK
    @given(arrays(0), st.integers(-3, 3))
    def property_(x: np.ndarray[Any, Any], c: int) -> None:
        n, X = len(x), Tensor(format, x)
        expected = np.zeros(n)
        expected[1:-1] = x[:-2] + 10 * x[1:-1] + 100 * x[2:] if n > 2 else 0
        found = check(inner_stencil, lambda: np.zeros(n), X, n)
        np.testing.assert_array_equal(found, expected)
        assert check(shifted_sum, lambda: Scalar(0.0), X, c) == (x * np.arange(n)).sum()
        found = check(sizes_by_shift, dense(1), X)
        np.testing.assert_array_equal(found, np.concatenate([[0, 0], x]))

    property_()


def shifted_there_and_back(z, y, x):
    y[...] = 0
    for i in _:
        y[i + 2] += x[i]
    z[...] = 0
    for j in _:
        z[()] += y[j - 1] * j
    return z


def below_zero(y, x):
    y[...] = 0
    for i in _:
        y[i - 1] += x[i]
    return y


def test_a_declared_tensor_reaches_as_far_as_the_shifted_writes() -> None:
    x = np.array([1.0, 2.0, 3.0])
    found = check(shifted_there_and_back, lambda: Scalar(0.0), dense(1)(), x)
    assert found == (x * (np.arange(3) + 3)).sum()
    for backend in BACKENDS:
        with pytest.raises(DimensionMismatch, match="starts at -1"):
            on(backend, below_zero)(dense(1)(), x)


@both_vectors
def test_an_offset_is_an_argument(format: Format) -> None:
    def total(s, x):
        s[...] = 0
        for i in _:
            s[()] += x[i] * i
        return s

    x = np.array([0.0, 2.0, 0.0, 5.0])
    for c in (-2, 0, 3):
        for backend in BACKENDS:
            found = on(backend, total)(Scalar(0.0), offset(Tensor(format, x), c))
            assert found.value == (x * (np.arange(4) - c)).sum()


def test_a_range_must_lie_within_the_shifted_dimension() -> None:
    for backend in BACKENDS:
        y, x = np.zeros(4), np.ones(4)
        with pytest.raises((DimensionMismatch, OutOfBounds)):
            on(backend, inner_stencil)(y, x, 6)
        np.testing.assert_array_equal(y, 0)


# -- permissive ----------------------------------------------------------------------------------


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
        check(missing_both, dense(1), X)

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


def test_missing_must_be_given_a_value() -> None:
    def careless(y, x):
        y[...] = 0
        for i in _:
            y[i] = x[i] + x[~(i - 1)]
        return y

    with pytest.raises(FormatError, match="missing cannot be stored") as caught:
        on("interpreter", careless)(dense(1)(), np.ones(3))
    assert "coalesce(A[~i], 0)" in str(caught.value)


def test_a_permissive_argument() -> None:
    def padded(y, x):
        y[...] = 0
        for i in range(0, 4):
            y[i] = coalesce(x[i], 9)
        return y

    for backend in BACKENDS:
        found = on(backend, padded)(dense(1)(), permissive(np.array([1.0, 2.0])))
        np.testing.assert_array_equal(np.asarray(found), [1, 2, 9, 9])


# -- toeplitz ------------------------------------------------------------------------------------


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


def test_a_toeplitz_argument() -> None:
    def product(y, A, x):
        y[...] = 0
        for i in range(0, 3):
            for j in _:
                y[i] += A[i, j] * x[j]
        return y

    a, x = np.arange(5.0), np.array([1.0, 0.0, 2.0])
    for backend in BACKENDS:
        found = on(backend, product)(dense(1)(), toeplitz(a), Tensor(SparseList(Element(0.0)), x))
        np.testing.assert_array_equal(np.asarray(found), np.convolve(a, x[::-1], "valid"))


# -- protocols -----------------------------------------------------------------------------------


def walk_walk(s, a, b):
    s[...] = 0
    for i in _:
        s[()] += a[walk(i)] * b[walk(i)]
    return s


def gallop_gallop(s, a, b):
    s[...] = 0
    for i in _:
        s[()] += a[gallop(i)] * b[gallop(i)]
    return s


def gallop_walk(s, a, b):
    s[...] = 0
    for i in _:
        s[()] += a[gallop(i)] * b[walk(i)]
    return s


def walk_follow(s, a, b):
    s[...] = 0
    for i in _:
        s[()] += a[walk(i)] * b[follow(i)]
    return s


def follow_follow(s, a, b):
    s[...] = 0
    for i in _:
        s[()] += a[follow(i)] * b[follow(i)]
    return s


def gallop_three(s, a, b, c):
    s[...] = 0
    for i in _:
        s[()] += a[gallop(i)] * b[gallop(i)] * c[gallop(i)]
    return s


def mixed_three(s, a, b, c):
    s[...] = 0
    for i in _:
        s[()] += a[gallop(i)] * b[walk(i)] * c[follow(i)]
    return s


def shifted_gallop(s, a, b):
    s[...] = 0
    for i in range(1, 5):
        s[()] += coalesce(a[~gallop(i - 2)], 0) * b[gallop(i)] + coalesce(b[walk(~(i + 9))], 0)
    return s


SPARSE = SparseList(Element(0.0))
PAIRS = (walk_walk, gallop_gallop, gallop_walk, walk_follow, follow_follow)


@pytest.mark.parametrize("program", PAIRS, ids=lambda program: program.__name__)
def test_every_protocol_gives_the_dot_product(program: Callable[..., Any]) -> None:
    @QUICK
    @given(arrays(8), arrays(8))
    def property_(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> None:
        found = check(program, lambda: Scalar(0.0), Tensor(SPARSE, a), Tensor(SPARSE, b))
        assert found == a @ b

    property_()


@pytest.mark.parametrize("program", [gallop_three, mixed_three], ids=lambda p: p.__name__)
def test_every_protocol_gives_the_product_of_three(program: Callable[..., Any]) -> None:
    @QUICK
    @given(arrays(8), arrays(8), arrays(8))
    def property_(a: Any, b: Any, c: Any) -> None:
        tensors = (Tensor(SPARSE, x) for x in (a, b, c))
        assert check(program, lambda: Scalar(0.0), *tensors) == (a * b * c).sum()

    property_()


def test_protocols_combine_with_shifts_and_padding() -> None:
    @QUICK
    @given(arrays(6), arrays(6))
    def property_(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> None:
        check(shifted_gallop, lambda: Scalar(0.0), Tensor(SPARSE, a), Tensor(SPARSE, b))

    property_()


def test_a_protocolized_argument_reads_by_that_protocol() -> None:
    def dot(s, a, b):
        s[...] = 0
        for i in _:
            s[()] += a[i] * b[i]
        return s

    x = np.array([1.0, 0.0, 2.0, 0.0, 3.0])
    a = Tensor(SPARSE, x)
    plain = on("interpreter", dot)
    galloping = plain.lower(Scalar(0.0), protocolize(a, "gallop"), protocolize(a, "gallop"))
    written = on("interpreter", gallop_gallop).lower(Scalar(0.0), a, a)
    assert plain(Scalar(0.0), protocolize(a, "gallop"), protocolize(a, "follow")).value == x @ x
    texts = [lowered.as_text("assembly").partition("kernel")[2] for lowered in (galloping, written)]
    assert texts[0].partition("site")[0] == texts[1].partition("site")[0].replace(
        "gallop_gallop", "dot"
    )


def test_a_protocol_that_a_level_lacks_is_refused() -> None:
    def leading(s, a):
        s[...] = 0
        for i in _:
            s[()] += a[gallop(i)]
        return s

    with pytest.raises(FormatError, match="dimension 0 of a cannot be read by gallop") as caught:
        on("interpreter", leading)(Scalar(0.0), np.ones(3))
    assert "'SparseList'" in caught.value.hint


def test_a_write_has_no_protocol() -> None:
    def write(y, x):
        for i in _:
            y[walk(i)] += x[i]

    with pytest.raises(FormatError, match="protocols are ways of reading"):
        on("interpreter", write)(np.ones(3), np.ones(3))


# -- window, and wrappers of wrappers ------------------------------------------------------------


def weighted(s, A):
    s[...] = 0
    for i, j in _:
        s[()] += A[i, j] * (i + 10 * j + 1)
    return s


def weigh(A: np.ndarray[Any, Any]) -> Any:
    i, j = np.indices(A.shape)
    return (A * (i + 10 * j + 1)).sum()


@all_matrices
def test_windows_nest_with_all_others(format: Format) -> None:
    @QUICK
    @given(arrays(5, 6), st.integers(0, 5), st.integers(0, 5), st.integers(0, 6))
    def property_(A: np.ndarray[Any, Any], a: int, b: int, c: int) -> None:
        T, (low, high) = Tensor(format, A), sorted((a, b))
        seen = {
            "rows": (window(T, (low, high), None), A[low:high]),
            "columns": (window(T, None, slice(0, c)), A[:, :c]),
            "both": (window(T, (low, high), (c // 2, c)), A[low:high, c // 2 : c]),
            "twice": (window(window(T, (1, 5), None), (0, 2), (1, 3)), A[1:3, 1:3]),
            "swizzled": (window(swizzle(T, (1, 0)), (2, 5), (low, high)), A.T[2:5, low:high]),
            "turned": (swizzle(window(T, (low, high), None), (1, 0)), A[low:high].T),
            "protocol": (window(protocolize(T, "walk", "walk"), (1, 4), None), A[1:4]),
            "shifted": (window(offset(T, 1, 0), (0, 3), (1, 4)), A[1:4, 1:4]),
        }
        for name, (wrapped, expected) in seen.items():
            for backend in BACKENDS:
                found = on(backend, weighted)(Scalar(0.0), wrapped).value
                assert found == weigh(expected), (name, backend)

    property_()


def shift_rows(s, A, c):
    s[...] = 0
    for i, j in _:
        s[()] += A[i + c, j] * (i + 10 * j + 1)
    return s


@all_matrices
def test_wrappers_of_wrappers(format: Format) -> None:
    A = np.array([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0], [0.0, 0.0, 5.0], [1.0, 1.0, 1.0]])
    T = Tensor(format, A)
    nests = {
        "offset of swizzle": (offset(swizzle(T, (1, 0)), 1, -2), A.T, 1, -2),
        "swizzle of offset": (swizzle(offset(T, -2, 1), (1, 0)), A.T, 1, -2),
        "offset of offset": (offset(offset(T, 1, 0), 2, -1), A, 3, -1),
        "protocol of offset": (protocolize(offset(T, 1, 1), None, "walk"), A, 1, 1),
    }
    for name, (wrapped, array, c, d) in nests.items():
        rows, columns = np.indices(array.shape)
        for backend in BACKENDS:
            found = on(backend, weighted)(Scalar(0.0), wrapped).value
            assert found == (array * (rows - c + 10 * (columns - d) + 1)).sum(), name
            found = on(backend, shift_rows)(Scalar(0.0), wrapped, 2).value
            assert found == (array * (rows - c - 2 + 10 * (columns - d) + 1)).sum(), name


def test_a_window_is_updated_in_place() -> None:
    def add(y, x):
        for i in _:
            y[i] += x[i]
        return y

    def declare(y, x):
        y[...] = 0
        for i in _:
            y[i] += x[i]
        return y

    for backend in BACKENDS:
        y = Tensor(Dense(Element(0.0)), np.zeros(5))
        part = window(y, (1, 4))
        assert on(backend, add)(part, np.array([1.0, 2.0, 3.0])) is part
        np.testing.assert_array_equal(np.asarray(y), [0, 1, 2, 3, 0])
        np.testing.assert_array_equal(np.asarray(part), [1, 2, 3])
    with pytest.raises(FormatError, match="is a part of a tensor, and cannot be declared"):
        on("interpreter", declare)(part, np.ones(3))


def test_a_window_lies_within_its_tensor() -> None:
    y = Tensor(Dense(Element(0.0)), np.zeros(5))
    with pytest.raises(DimensionMismatch, match="from 3 up to 6 is not within dimension 0"):
        window(y, (3, 6))
    part = window(y, (3, 5))
    y.fill((4,))
    with pytest.raises(DimensionMismatch, match="from 3 up to 5"):
        part.words()
