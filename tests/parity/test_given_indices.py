"""Indices that are known before a loop begins: rows that are looked up once, and read in order."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wrapper_support import QUICK, check, dense, filled, on

from finch_core import Tensor, coalesce, kernel
from finch_core.errors import OutOfBounds
from finch_core.level import Format
from finch_core.runtime.kernel import Kernel
from finch_core.runtime.options import Options
from finch_levels import (
    Dense,
    Element,
    RunList,
    Scalar,
    SparseBand,
    SparseBlockList,
    SparseByteMap,
    SparseHash,
    SparseList,
)
from finch_wrappers import protocolize

OUTER = (Dense, SparseList, SparseHash, SparseByteMap, RunList, SparseBand, SparseBlockList)
MATRICES = tuple(outer(SparseList(Element(0.0))) for outer in OUTER)


def agrees(program: Callable[..., Any], *args: Any) -> None:
    """The interpreter and the dense meaning agree; so does C, where rows are dense."""
    if getattr(args[0], "format", None) == MATRICES[0]:
        check(program, dense(1), *args)
        return
    expected = on(None, program).reference(dense(1)(), *args)
    found = np.asarray(on("interpreter", program)(dense(1)(), *args))
    np.testing.assert_array_equal(found, expected)


def row(y, A, at):
    y[...] = 0
    for j in _:
        y[j] += A[at[0], j]
    return y


def rows(y, A, at):
    y[...] = 0
    for i in _:
        for j in _:
            y[j] += (i + 1) * A[at[i], j]
    return y


def rows_by_let(y, A, at):
    y[...] = 0
    for i in _:
        k = at[at[i] % 2]
        for j in _:
            y[j] += A[k, j]
    return y


def products_of_rows(y, A, at):
    y[...] = 0
    for i in _:
        for j in _:
            y[i] += A[at[i], j] * A[max(at[i] - 1, 0), j]
    return y


def some_rows(y, A, at):
    y[...] = 0
    for i in _:
        for j in _:
            if i < 2 and j != 1:
                y[i] += A[at[i], j]
    return y


def permissive_rows(y, A, at):
    y[...] = 0
    for i in _:
        for j in _:
            y[j] += coalesce(A[~(2 * at[i] - 1), j], 7)
    return y


def nested_gathers(y, A, at):
    y[...] = 0
    for i in _:
        for j in _:
            y[j] += A[at[at[i] % 2], j]
    return y


PROGRAMS = (
    row, rows, rows_by_let, products_of_rows, some_rows, permissive_rows, nested_gathers,
)  # fmt: skip


@pytest.mark.parametrize("format", MATRICES, ids=str)
def test_rows_that_are_looked_up(format: Format) -> None:
    @QUICK
    @given(filled((3, 4)), st.lists(st.integers(0, 2), min_size=2, max_size=3))
    def property_(A: np.ndarray[Any, Any], at: list[int]) -> None:
        for program in PROGRAMS:
            agrees(program, Tensor(format, A), np.array(at))

    property_()


def from_the_middle(y, A, n):
    y[...] = 0
    for i, j in _:
        y[i] += A[i, n, j]
    return y


def of_two_numbers(y, A, n):
    y[...] = 0
    for j in _:
        y[j] += A[n, n + 1, j]
    return y


def on_the_diagonal(y, A, n):
    y[...] = 0
    for i, j in _:
        y[i] += n * A[i, i, j]
    return y


def at_the_end(y, A, n):
    y[...] = 0
    for j in _:
        y[j] += A[n, j, n]
    return y


CUBES = (from_the_middle, of_two_numbers, on_the_diagonal, at_the_end)


@pytest.mark.parametrize("levels", list(product(OUTER[:3], OUTER[:3], OUTER[:2])), ids=str)
def test_fibers_of_three_dimensions(levels: tuple[Any, ...]) -> None:
    format: Format = Element(0.0)
    for level in reversed(levels):
        format = level(format)
    A = np.arange(27.0).reshape(3, 3, 3) % 4
    for program in CUBES:
        for n in (0, 1):
            agrees(program, Tensor(format, A), n)


@pytest.mark.parametrize("backend", ["interpreter", "c"])
@pytest.mark.parametrize("n", [-1, 3])
def test_a_row_that_is_not_there_is_refused_unless_nothing_is_read(backend: str, n: int) -> None:
    for format in MATRICES[:3]:
        with pytest.raises(OutOfBounds, match=f"index {n} is out of bounds for dimension 0 of A"):
            on(backend, row)(dense(1)(), Tensor(format, np.ones((3, 4))), np.array([n]))
        empty = on(backend, row)(dense(1)(), Tensor(format, np.ones((3, 0))), np.array([n]))
        assert empty.shape == (0,)


def guarded(s, A, n):
    s[...] = 0
    for j in _:
        if n < 3:
            s[()] += A[n, j]
    return s


@pytest.mark.parametrize("backend", ["interpreter", "c"])
def test_a_condition_guards_the_row(backend: str) -> None:
    A = Tensor(MATRICES[0], np.ones((3, 4)))
    assert on(backend, guarded)(Scalar(0.0), A, 3).value == 0
    assert on(backend, guarded)(Scalar(0.0), A, 2).value == 4


def text_of(program: Callable[..., Any], *args: Any) -> str:
    return str(kernel(backend="interpreter")(program).lower(*args).as_text("assembly"))


@pytest.mark.parametrize("protocol", ["walk", "gallop", "follow"])
def test_a_protocol_for_the_row_is_kept(protocol: str) -> None:
    for outer in (SparseList, SparseBlockList):
        A = Tensor(outer(SparseList(Element(0.0))), np.arange(12.0).reshape(3, 4) * [[1], [0], [1]])
        for at in range(3):
            agrees(row, protocolize(A, protocol, None), np.array([at]))


def test_a_row_is_walked_not_searched() -> None:
    args = (dense(1)(), Tensor(MATRICES[0]), np.zeros(2, int))
    assert "search" not in text_of(rows, *args)


def transposed(s, A):
    s[...] = 0
    for j, i in _:
        s[()] += A[i, j]
    return s


@pytest.mark.parametrize("level", [SparseHash, SparseByteMap])
def test_a_read_against_the_order_costs_the_random_access_of_its_level(level: Any) -> None:
    """A hash is asked; it is not searched."""
    assert "search" not in text_of(transposed, Scalar(0.0), Tensor(Dense(level(Element(0.0)))))
    check(transposed, lambda: Scalar(0.0), Tensor(Dense(level(Element(0.0))), np.eye(3, 4)))


def reversed_(y, x):
    y[...] = 0
    for i in range(0, 5):
        y[i] = x[4 - i]
    return y


def convolved(y, x, f):
    y[...] = 0
    for i in range(0, 5):
        for j in range(0, 3):
            y[i] += coalesce(x[~(i - j)], 0) * f[j]
    return y


def alternating(y, x):
    y[...] = 0
    for i in range(0, 2):
        y[i] = x[4 - 2 * i]
    return y


@pytest.mark.parametrize("level", OUTER)
def test_indices_that_run_backwards(level: Any) -> None:
    """They are read by random access, whatever the format."""

    @QUICK
    @given(filled((5,)), filled((3,)))
    def property_(x: np.ndarray[Any, Any], f: np.ndarray[Any, Any]) -> None:
        tensor = Tensor(level(Element(0.0)), x)
        agrees_on(reversed_, tensor)
        agrees_on(alternating, tensor)
        agrees_on(convolved, tensor, f)

    property_()


def agrees_on(program: Callable[..., Any], *args: Any) -> None:
    expected = on(None, program).reference(dense(1)(), *args)
    found = np.asarray(on("interpreter", program)(dense(1)(), *args))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("rule", ["given", "random_access"])
def test_each_rule_changes_times_not_answers(rule: str) -> None:
    A = np.arange(12.0).reshape(3, 4) % 5
    for level in OUTER[:4]:
        tensor = Tensor(Dense(level(Element(0.0))), A)
        cases = ((rows, dense(1)(), tensor, np.array([2, 0])), (transposed, Scalar(0.0), tensor))
        for program, *args in cases:
            without = Kernel(program, Options(backend="interpreter", disabled=frozenset({rule})))
            expected = np.asarray(on("interpreter", program)(*args)).copy()
            np.testing.assert_array_equal(np.asarray(without(*args)), expected)
    args = (dense(1)(), Tensor(MATRICES[0]), np.zeros(2, int))
    without = Kernel(rows, Options(backend="interpreter", disabled=frozenset({"given"})))
    assert "search" in str(without.lower(*args).as_text("assembly"))
