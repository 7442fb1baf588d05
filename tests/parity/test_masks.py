"""Masks: comparisons of indices end and begin loops, and mean what they say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wrapper_support import BACKENDS, MATRICES, QUICK, arrays, check, dense, on

from finch_core import Tensor
from finch_core.level import Format
from finch_levels import Dense, Element, Scalar, SparseList
from finch_wrappers import BandMask, DiagMask, LoTriMask, UpTriMask

# -- comparisons of two indices -----------------------------------------------------------------


def upper(s, A):
    s[...] = 0
    for i, j in _:
        if i <= j:
            s[()] += A[i, j]
    return s


def strictly_upper(s, A):
    s[...] = 0
    for i, j in _:
        if i < j:
            s[()] += A[i, j]
    return s


def lower(s, A):
    s[...] = 0
    for i, j in _:
        if i >= j:
            s[()] += A[i, j]
    return s


def strictly_lower(s, A):
    s[...] = 0
    for i, j in _:
        if i > j:
            s[()] += A[i, j]
    return s


def diagonal(s, A):
    s[...] = 0
    for i, j in _:
        if i == j:
            s[()] += A[i, j]
    return s


def off_diagonal(s, A):
    s[...] = 0
    for i, j in _:
        if i != j:
            s[()] += A[i, j]
    return s


def upper_by_columns(s, A):
    s[...] = 0
    for j, i in _:
        if i <= j:
            s[()] += A[j, i]
    return s


def band(s, A):
    s[...] = 0
    for i, j in _:
        if i <= j < i + 3:
            s[()] += A[i, j]
    return s


def shifted(s, A):
    s[...] = 0
    for i, j in _:
        if i + 1 < j - 1:
            s[()] += A[i, j]
    return s


def antidiagonal(s, A):
    s[...] = 0
    for i, j in _:
        if i + j == 3:
            s[()] += A[i, j]
    return s


def below_antidiagonal(s, A):
    s[...] = 0
    for i, j in _:
        if 4 - i < j:
            s[()] += A[i, j]
    return s


def reversed_sign(s, A):
    s[...] = 0
    for i, j in _:
        if i - j >= 1 and 2 > i - j:  # noqa: SIM300 - either way round
            s[()] += A[i, j]
    return s


def even_and_upper(s, A):
    s[...] = 0
    for i, j in _:
        if i % 2 == 0 and i <= j:
            s[()] += A[i, j]
    return s


def either_side(s, A):
    s[...] = 0
    for i, j in _:
        if j < i or not j <= i + 1:
            s[()] += A[i, j]
    return s


def beyond_half(s, A):
    s[...] = 0
    for i, j in _:
        if i // 2 <= j:
            s[()] += A[i, j]
    return s


def as_factor(s, A):
    s[...] = 0
    for i, j in _:
        s[()] += (i <= j) * A[i, j]
    return s


WHERE: dict[Callable[..., Any], Callable[[Any, Any], Any]] = {
    upper: lambda i, j: i <= j,
    strictly_upper: lambda i, j: i < j,
    lower: lambda i, j: i >= j,
    strictly_lower: lambda i, j: i > j,
    diagonal: lambda i, j: i == j,
    off_diagonal: lambda i, j: i != j,
    upper_by_columns: lambda i, j: i >= j,
    band: lambda i, j: (i <= j) & (j < i + 3),
    shifted: lambda i, j: i + 1 < j - 1,
    antidiagonal: lambda i, j: i + j == 3,
    below_antidiagonal: lambda i, j: 4 - i < j,
    reversed_sign: lambda i, j: i - j == 1,
    even_and_upper: lambda i, j: (i % 2 == 0) & (i <= j),
    either_side: lambda i, j: (j < i) | (j > i + 1),
    beyond_half: lambda i, j: i // 2 <= j,
    as_factor: lambda i, j: i <= j,
}


@pytest.mark.parametrize("format", MATRICES, ids=str)
@pytest.mark.parametrize("program", WHERE, ids=lambda program: program.__name__)
def test_a_comparison_selects_what_it_says(program: Callable[..., Any], format: Format) -> None:
    @QUICK
    @given(arrays(0, 0))
    def property_(A: np.ndarray[Any, Any]) -> None:
        found = check(program, lambda: Scalar(0.0), Tensor(format, A))
        assert found == (A * WHERE[program](*np.indices(A.shape))).sum()

    property_()


# -- else, and several outputs -------------------------------------------------------------------


def split(above, below, A):
    above[...] = 0
    below[...] = 0
    for i, j in _:
        if i < j:
            above[i] += A[i, j]
        else:
            below[i] += A[i, j]
    return above, below


def three_ways(y, A):
    y[...] = 0
    for i, j in _:
        if i < j:
            y[i] += A[i, j]
        elif i == j:
            y[i] += 10 * A[i, j]
        else:
            y[i] += 100 * A[i, j]
    return y


@pytest.mark.parametrize("format", MATRICES, ids=str)
def test_else_takes_the_rest_of_the_loop(format: Format) -> None:
    @QUICK
    @given(arrays(0, 0))
    def property_(A: np.ndarray[Any, Any]) -> None:
        for backend in BACKENDS:
            above, below = on(backend, split)(dense(1)(), dense(1)(), Tensor(format, A))
            np.testing.assert_array_equal(np.asarray(above), np.triu(A, 1).sum(1))
            np.testing.assert_array_equal(np.asarray(below), np.tril(A).sum(1))
        found = check(three_ways, dense(1), Tensor(format, A))
        diagonal = np.triu(np.tril(A))
        total = np.triu(A, 1) + 10 * diagonal + 100 * np.tril(A, -1)
        np.testing.assert_array_equal(found, total.sum(1))

    property_()


# -- bounds that are no indices ------------------------------------------------------------------


def head(s, x, n):
    s[...] = 0
    for i in _:
        if i < n:
            s[()] += x[i]
    return s


def up_to(s, x, n):
    s[...] = 0
    for i in _:
        if i <= n:
            s[()] += x[i]
    return s


def one(s, x, n):
    s[...] = 0
    for i in _:
        if n == i:
            s[()] += x[i]
    return s


def rows_from(y, A, n):
    y[...] = 0
    for i, j in _:
        if i >= n:
            y[j] += A[i, j]
    return y


def by_length(y, A, length):
    y[...] = 0
    for i, j in _:
        if j < length[i]:
            y[i] += A[i, j]
    return y


def by_range(y, A, first, length):
    y[...] = 0
    for i, j in _:
        if first[i] <= j and j < length[i]:
            y[i] += A[i, j]
    return y


def by_let(y, A, length):
    y[...] = 0
    for i in _:
        n = length[i] + 1
        for j in _:
            if j < n:
                y[i] += A[i, j]
    return y


def by_gathered_length(y, A, length, order):
    y[...] = 0
    for i, j in _:
        if j < length[order[i]]:
            y[i] += A[i, j]
    return y


def by_temporary(y, A):
    y[...] = 0
    for i in _:
        t = Scalar(0)
        t[...] = 0
        for k in _:
            if A[i, k] != 0:
                t[()] += 1
        for j in _:
            if j < t[()]:
                y[i] += A[i, j]
    return y


def three_deep(s, A, n):
    s[...] = 0
    for i, j, k in _:
        if k < i + n and j <= i and i != k + j:
            s[()] += A[i, j, k]
    return s


@pytest.mark.parametrize("format", [Dense(Element(0.0)), SparseList(Element(0.0))], ids=str)
def test_a_bound_may_be_a_number(format: Format) -> None:
    @QUICK
    @given(arrays(0), st.integers(-2, 8) | st.sampled_from([2**63 - 1, -(2**63)]))
    def property_(x: np.ndarray[Any, Any], n: int) -> None:
        at = np.arange(len(x))
        for value in (n, np.int64(n)):
            x_ = Tensor(format, x)
            assert check(head, lambda: Scalar(0.0), x_, value) == x[at < n].sum()
            assert check(up_to, lambda: Scalar(0.0), x_, value) == x[at <= n].sum()
            assert check(one, lambda: Scalar(0.0), x_, value) == x[at == n].sum()

    property_()


def test_a_bound_of_another_kind_is_compared_at_each_index() -> None:
    x = np.arange(5.0)
    assert check(head, lambda: Scalar(0.0), x, 2.5) == 3
    assert check(head, lambda: Scalar(0.0), x, np.uint64(2**64 - 1)) == 10
    assert check(up_to, lambda: Scalar(0.0), x, np.int8(2)) == 3


@pytest.mark.parametrize("format", MATRICES, ids=str)
def test_a_bound_may_be_anything_known_before_the_loop(format: Format) -> None:
    @QUICK
    @given(arrays(0, 0), st.lists(st.integers(-1, 7), min_size=7, max_size=7))
    def property_(A: np.ndarray[Any, Any], lengths: list[int]) -> None:
        A_, rows = Tensor(format, A), A.shape[0]
        length = np.array(lengths)
        at = np.arange(A.shape[1])
        first = length[:rows, None]
        cases = {
            by_length: ((length[:rows],), at < first),
            by_let: ((length[:rows],), at < first + 1),
            by_range: ((length[:rows] - 2, length[:rows]), (first - 2 <= at) & (at < first)),
            by_temporary: ((), at < (A != 0).sum(1)[:, None]),
        }  # fmt: skip
        for program, (args, kept) in cases.items():
            found = check(program, dense(1), A_, *args)
            np.testing.assert_array_equal(found, (A * kept).sum(1))
        order = np.arange(rows)[::-1].copy()
        found = check(by_gathered_length, dense(1), A_, length[:rows], order)
        np.testing.assert_array_equal(found, (A * (at < first[order])).sum(1))
        found = check(rows_from, dense(1), A_, lengths[0])
        np.testing.assert_array_equal(found, A[max(lengths[0], 0) :].sum(0))

    property_()


@pytest.mark.parametrize("inner", MATRICES, ids=str)
@pytest.mark.parametrize("level", [Dense, SparseList])
def test_masks_at_several_depths(level: Callable[..., Format], inner: Format) -> None:
    @QUICK
    @given(arrays(0, 0, 0, largest=4), st.integers(-2, 3))
    def property_(A: np.ndarray[Any, Any], n: int) -> None:
        i, j, k = np.indices(A.shape)
        found = check(three_deep, lambda: Scalar(0.0), Tensor(level(inner), A), n)
        assert found == (A * ((k < i + n) & (j <= i) & (i != k + j))).sum()

    property_()


# -- masks as arguments --------------------------------------------------------------------------


def masked(s, A, M):
    s[...] = 0
    for i, j in _:
        if M[i, j]:
            s[()] += A[i, j]
    return s


def masked_by_columns(s, A, M):
    s[...] = 0
    for i, j in _:
        if M[j, i]:
            s[()] += A[i, j]
    return s


def masked_elsewhere(s, A, M):
    s[...] = 0
    for i, j in _:
        if M[i + 1, j] and not M[i // 2, 2 * j]:
            s[()] += A[i, j]
    return s


@pytest.mark.parametrize("format", MATRICES, ids=str)
@pytest.mark.parametrize("mask", [UpTriMask(), LoTriMask(), DiagMask(), BandMask(-1, 2)], ids=str)
def test_a_mask_is_an_argument_as_a_matrix_is(mask: Any, format: Format) -> None:
    @QUICK
    @given(arrays(0, 0))
    def property_(A: np.ndarray[Any, Any]) -> None:
        i, j = np.indices(A.shape)
        holds = mask.holds
        kept = {
            masked: holds(i, j),
            masked_by_columns: holds(j, i),
            masked_elsewhere: holds(i + 1, j) & ~holds(i // 2, 2 * j),
        }
        for program, where in kept.items():
            for backend in BACKENDS:
                found = on(backend, program)(Scalar(0.0), Tensor(format, A), mask)
                assert found.value == (A * where).sum()

    property_()


def test_another_band_runs_the_same_code() -> None:
    A = np.arange(25.0).reshape(5, 5)
    program = on(BACKENDS[-1], masked)
    for lo, hi in ((0, 0), (-1, 1), (2, 4), (1, -1), (-9, 9)):
        i, j = np.indices(A.shape)
        expected = (A * ((lo <= j - i) & (j - i <= hi))).sum()
        assert program(Scalar(0.0), A, BandMask(lo, hi)).value == expected
    assert len({BandMask(n, n).signature for n in range(3)}) == 1


@pytest.mark.parametrize("lo", [-(2**63), -(2**63) + 1, 0, 2**63 - 1])
@pytest.mark.parametrize("hi", [-(2**63), -1, 2**63 - 2, 2**63 - 1])
def test_a_band_may_be_without_end(lo: int, hi: int) -> None:
    A = np.arange(1.0, 26.0).reshape(5, 5)
    distance = np.subtract.outer(np.arange(5), np.arange(5)).T
    expected = (A * ((lo <= distance) & (distance <= hi))).sum()
    for backend in BACKENDS:
        for data in (A, Tensor(Dense(SparseList(Element(0.0))), A)):
            assert on(backend, masked)(Scalar(0.0), data, BandMask(lo, hi)).value == expected
