"""Comparisons of ``abs``, ``min`` and ``max`` of indices bound loops as bands and triangles do."""

import linecache

import numpy as np
import pytest

from finch_core import Tensor, kernel
from finch_levels import Dense, Element, SparseList

CONDITIONS = {
    "abs(i - j) <= w": True,
    "abs(j - i) < w": True,
    "w >= abs(i - j)": True,
    "abs(i - j) > w": True,
    "abs(i - j) >= w": True,
    "w < abs(j - i + 1)": True,
    "not (abs(i - j) <= w)": True,
    "max(i, j) < w": True,
    "max(i, j) >= w": True,
    "min(i, j) > w": True,
    "min(i, j) < w": True,
    "abs(i - j) == w": False,
    "max(i, j, 2) < w": True,
    "abs(i - j) <= 1.5": False,
    "abs(x[i] - j) < w": False,
}
"""Whether nothing is left of the function, by condition."""


def program(condition):
    text = f"""def total(y, A, x, w):
    for i in range(len(y)):
        for j in range(len(x)):
            if {condition}:
                y[i] += A[i, j] * x[j]
"""
    path, scope = f"<split {condition}>", {}
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    exec(compile(text, path, "exec"), scope)
    return scope["total"]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_the_same_sums(condition):
    total, draw = program(condition), np.random.default_rng(3)
    A, x = draw.integers(0, 3, (6, 7)).astype(float), np.arange(7.0)
    for w in (-(2**63), -1, 0, 2, 5, 2**63 - 1, np.int8(-128), np.int16(3)):
        wanted = np.zeros(6)
        total(wanted, A, x, w)
        for fmt in (Dense(Dense(Element(0.0))), Dense(SparseList(Element(0.0)))):
            for backend in ("interpreter", "c"):
                y = np.zeros(6)
                kernel(total, backend=backend)(y, Tensor(fmt, A), x, w)
                np.testing.assert_array_equal(y, wanted, err_msg=f"{fmt}, {backend}, w = {w}")


@pytest.mark.parametrize("condition", CONDITIONS)
def test_loops_are_bounded(condition):
    fmt = Dense(SparseList(Element(0.0)))
    text = (
        kernel(program(condition))
        .lower(np.zeros(6), Tensor(fmt, np.eye(6)), np.ones(6), 2)
        .as_text("assembly")
    )
    assert ("abs(" not in text and "max(i, j" not in text) == CONDITIONS[condition]
