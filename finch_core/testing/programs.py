"""The kernels that the suites run."""

from __future__ import annotations

from typing import Any

from finch_core.frontend.functions import _


def union(out: Any, a: Any, b: Any) -> Any:
    """Element-wise ``a + b``."""
    out[...] = 0
    for i in _:
        out[i] = a[i] + b[i]
    return out


def intersection(out: Any, a: Any, b: Any) -> Any:
    """Element-wise ``a * b``."""
    out[...] = 0
    for i in _:
        out[i] = a[i] * b[i]
    return out


def matrix_union(out: Any, a: Any, b: Any) -> Any:
    """Element-wise ``a + b`` of matrices."""
    out[...] = 0
    for i, j in _:
        out[i, j] = a[i, j] + b[i, j]
    return out


def matrix_intersection(out: Any, a: Any, b: Any) -> Any:
    """Element-wise ``a * b`` of matrices."""
    out[...] = 0
    for i, j in _:
        out[i, j] = a[i, j] * b[i, j]
    return out


def total(s: Any, a: Any) -> Any:
    """The sum of a vector."""
    s[...] = 0
    for i in _:
        s[()] += a[i]
    return s


def largest(s: Any, a: Any) -> Any:
    """The largest element of a vector, but at least 0."""
    s[...] = 0
    for i in _:
        s[()] = max(s[()], a[i])
    return s


def row_sums(out: Any, a: Any) -> Any:
    """The sum of each row: the output is written in order."""
    out[...] = 0
    for i, j in _:
        out[i] += a[i, j]
    return out


def column_sums(out: Any, a: Any) -> Any:
    """The sum of each column: the output is written in any order."""
    out[...] = 0
    for i, j in _:
        out[j] += a[i, j]
    return out


def scatter(out: Any, where: Any, a: Any) -> Any:
    """``out[where[i]] += a[i]``: any index, any number of times."""
    out[...] = 0
    for i in _:
        out[where[i]] += a[i]
    return out


def in_turn(out: Any, a: Any, b: Any) -> Any:
    """Two blocks of a matrix beside each other, row by row, and an element at the end."""
    out[...] = 0
    for i in range(0, 4):
        for j in range(0, 2):
            out[i, j] = a[i, j]
        for j in range(2, 4):
            out[i, j] = b[i, j]
    out[3, 3] = 1
    return out


def gather(out: Any, where: Any, a: Any) -> Any:
    """``out[i] = a[where[i]]``."""
    out[...] = 0
    for i in _:
        out[i] = a[where[i]]
    return out


def dot(s: Any, a: Any, b: Any) -> Any:
    """The inner product of two vectors."""
    s[...] = 0
    for i in _:
        s[()] += a[i] * b[i]
    return s


def product(y: Any, a: Any, x: Any) -> Any:
    """A matrix times a vector."""
    y[...] = 0
    for i, j in _:
        y[i] += a[i, j] * x[j]
    return y


def outer(out: Any, a: Any, b: Any) -> Any:
    """The outer product of two vectors."""
    out[...] = 0
    for i, j in _:
        out[i, j] = a[i] * b[j]
    return out


def triangle(s: Any, a: Any) -> Any:
    """The sum of the upper triangle of a matrix."""
    s[...] = 0
    for i, j in _:
        if i <= j:
            s[()] += a[i, j]
    return s


def append(out: Any, a: Any, b: Any) -> Any:
    """``out += a * b`` where ``a`` is more than 1."""
    for i in _:
        if a[i] > 1:
            out[i] += a[i] * b[i]
    return out


def squares(out: Any, n: Any) -> Any:
    """The first square numbers."""
    out[...] = 0
    for i in range(0, n):
        out[i] = i * i
    return out


__all__ = [
    "append", "column_sums", "dot", "gather", "in_turn", "intersection", "largest",
    "matrix_intersection", "matrix_union", "outer", "product", "row_sums", "scatter", "squares",
    "total", "triangle", "union",
]  # fmt: skip
