"""Locals that nothing updates, or nothing reads: sizes and indices are checked all the same."""

from __future__ import annotations

import numpy as np
import pytest

from finch_core import DimensionMismatch, kernel
from finch_core.errors import OutOfBounds


def read_at_constants(y, k):
    t = np.zeros((3, 2))
    y[0] = t[2, 5]


def read_of_none(y, k):
    t = np.zeros((0, 5))
    y[0] = t[0, 0]


def read_at_number(y, k):
    t = np.full(3, 2.5)
    y[0] = t[k]


def read_at_product(y, k):
    t = np.ones(3)
    for i in range(2):
        y[i] = t[i + k * k]


def read_in_triangle(y, k):
    t = np.ones(3)
    for i in range(k):
        for j in range(i):
            y[0] += t[j]


def written_at_number(y, k):
    t = np.zeros(3)
    t[k] = 1
    y[0] = 2


def added_at_number(y, k):
    t = np.zeros((2, 3))
    t[1, k] += 1
    y[0] = 2


@pytest.mark.parametrize("backend", ["c", "interpreter"])
@pytest.mark.parametrize(
    "function",
    [
        read_at_constants, read_of_none, read_at_number, read_at_product, read_in_triangle,
        written_at_number, added_at_number,
    ],
)  # fmt: skip
def test_indices_are_checked(function, backend):
    y = np.zeros(2)
    with pytest.raises(OutOfBounds):
        kernel(function).reference(y, 7)
    with pytest.raises((OutOfBounds, DimensionMismatch)):
        kernel(function, backend=backend)(y, 7)
    assert not y.any() or function is read_in_triangle  # in whose fourth turn it is


@pytest.mark.parametrize("function", [read_at_number, read_in_triangle, written_at_number])
def test_indices_within_are_not_refused(function):
    y = np.zeros(2)
    kernel(function)(y, 2)
    assert (
        y[0]
        == {"read_at_number": 2.5, "read_in_triangle": 1, "written_at_number": 2}[function.__name__]
    )


def vector(y):
    t = np.zeros(-3)  # noqa: F841
    y[0] = 1


def matrix(y):
    t = np.zeros((3, -1))
    t[1, 0] = 7
    y[0] = t[1, 0]


def filled(y):
    t = np.full((-2, 2), 1.5)
    t[0, 0] += 1
    y[0] = t[0, 0]


@pytest.mark.parametrize("backend", ["c", "interpreter"])
@pytest.mark.parametrize(
    ("function", "what"),
    [
        (vector, "dimension 0 of t cannot be -3"), (matrix, "dimension 1 of t cannot be -1"),
        (filled, "dimension 0 of t cannot be -2"),
    ],
)  # fmt: skip
def test_constant_sizes_below_0_are_refused(function, what, backend):
    y = np.zeros(2)
    with pytest.raises(DimensionMismatch, match=f"{what}: it is negative"):
        kernel(function, backend=backend)(y)
    assert not y.any()
