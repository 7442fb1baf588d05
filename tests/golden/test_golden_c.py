"""The C of the paper's worked example and of the textbook loops, as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from finch_backend_c.entry import WORK
from finch_core import Tensor, kernel
from finch_levels import Dense, Element, Scalar, SparseBand, SparseDiagonals, SparseList

Golden = Callable[[str], None]
CSR = Dense(SparseList(Element(0.0), index=np.int32, pointer=np.int32))
VECTOR = Dense(Element(0.0))
LIST = SparseList(Element(0.0))


def code(function: Callable[..., Any], *args: Any, strict: bool = False) -> str:
    """The C of the kernel itself, without the routines before it."""
    made = kernel(backend="c", strict=strict)(function)
    source: str = made.lower(*args).as_text("source")
    return source[source.index(WORK) :]


def upper_triangle(s, A):
    s[...] = 0
    for i, j in _:
        if j <= i:
            s[()] += A[i, j]
    return s


def rows(y, A, x):
    y[...] = 0
    for i, j in _:
        y[i] += A[i, j] * x[j]
    return y


def product(c, a, b):
    c[...] = 0
    for i in _:
        c[i] = a[i] * b[i]
    return c


def total(c, a, b):
    c[...] = 0
    for i in _:
        c[i] = a[i] + b[i]
    return c


def test_c_of_the_upper_triangle(golden: Golden) -> None:
    golden(code(upper_triangle, Scalar(0.0), Tensor(CSR)))


def test_c_of_strict_spmv_is_the_textbook_loop(golden: Golden) -> None:
    golden(code(rows, Tensor(VECTOR), Tensor(CSR), Tensor(VECTOR), strict=True))


def test_c_of_spmv_sums_long_rows_in_lanes(golden: Golden) -> None:
    golden(code(rows, Tensor(VECTOR), Tensor(CSR), Tensor(VECTOR)))


def test_c_of_spmv_sums_a_band_in_lanes(golden: Golden) -> None:
    golden(code(rows, Tensor(VECTOR), Tensor(Dense(SparseBand(Element(0.0)))), Tensor(VECTOR)))


def test_c_of_spmv_on_diagonals_sums_rows_side_by_side(golden: Golden) -> None:
    format = Dense(SparseDiagonals(Element(0.0)))
    golden(code(rows, Tensor(VECTOR), Tensor(format), Tensor(VECTOR)))


def test_c_of_an_intersection(golden: Golden) -> None:
    golden(code(product, Tensor(LIST), Tensor(LIST), Tensor(LIST)))


def test_c_of_a_union(golden: Golden) -> None:
    golden(code(total, Tensor(LIST), Tensor(LIST), Tensor(LIST)))
