"""Wrappers and masks are arguments of ``kernel.reference`` as they are of kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from wrapper_support import on

from finch_core import Tensor, coalesce
from finch_levels import Dense, Element, Scalar, SparseList
from finch_wrappers import (
    BandMask,
    DiagMask,
    LoTriMask,
    UpTriMask,
    offset,
    permissive,
    protocolize,
    swizzle,
    toeplitz,
    window,
)

MATRIX = np.array([[0.0, 1, 0, 2], [3, 0, 0, 0], [0, 5, 4, 0]])
VECTOR = np.array([1.0, 0, 2, 3, 0])


def masked(s, A, M):
    s[...] = 0
    for i, j in _:
        if M[i, j]:
            s[()] += A[i, j]
    return s


def selected(s, A, M):
    s[...] = 0
    for i, j in _:
        s[()] += M[i, j] * A[i, j]
    return s


def summed(s, x):
    s[...] = 0
    for i in range(0, 3):
        s[()] += (i + 1) * coalesce(x[i], 7)
    return s


def convolved(y, x, f):
    for i in range(0, 3):
        for j in _:
            y[i] += x[i, j] * f[j]
    return y


def weighted(s, A):
    s[...] = 0
    for i in range(0, 2):
        for j in range(0, 2):
            s[()] += coalesce(A[i, j], 9) * (i + 10 * j + 1)
    return s


def copied(C, A):
    C[...] = 0
    for i, j in _:
        C[i, j] = A[i, j]
    return C


def added(y, x):
    for i in range(0, 3):
        y[i] += x[i]
    return y


def vector() -> Tensor:
    return Tensor(SparseList(Element(0.0)), VECTOR)


def matrix() -> Tensor:
    return Tensor(Dense(SparseList(Element(0.0))), MATRIX)


def dense(data: Any) -> Tensor:
    format: Any = Element(0.0)
    for _ in range(np.ndim(data)):
        format = Dense(format)
    return Tensor(format, data)


Arguments = Callable[[], tuple[Any, ...]]
CASES: list[tuple[Callable[..., Any], Arguments]] = [
    (masked, lambda: (Scalar(0.0), matrix(), UpTriMask())),
    (masked, lambda: (Scalar(0.0), matrix(), LoTriMask())),
    (masked, lambda: (Scalar(0.0), matrix(), DiagMask())),
    (selected, lambda: (Scalar(0.0), matrix(), BandMask(-1, 1))),
    (summed, lambda: (Scalar(0.0), offset(vector(), 2))),
    (summed, lambda: (Scalar(0.0), window(vector(), (1, 4)))),
    (summed, lambda: (Scalar(0.0), permissive(window(vector(), (3, 5)), True))),
    (summed, lambda: (Scalar(0.0), permissive(offset(vector(), -2), True))),
    (summed, lambda: (Scalar(0.0), offset(permissive(vector(), True), 4))),
    (summed, lambda: (Scalar(0.0), offset(protocolize(vector(), "gallop"), 1))),
    (convolved, lambda: (dense(np.ones(3)), toeplitz(vector(), 0), np.array([1.0, 2.0, 4.0]))),
    (weighted, lambda: (Scalar(0.0), swizzle(matrix(), (1, 0)))),
    (weighted, lambda: (Scalar(0.0), swizzle(offset(matrix(), 1, 0), (1, 0)))),
    (weighted, lambda: (Scalar(0.0), offset(swizzle(matrix(), (1, 0)), 2, 1))),
    (weighted, lambda: (Scalar(0.0), permissive(swizzle(offset(matrix(), 2, 3), (1, 0))))),
    (copied, lambda: (swizzle(dense(np.zeros((4, 3))), (1, 0)), matrix())),
    (added, lambda: (window(dense(VECTOR.copy()), (1, 4)), np.array([1.0, 2.0, 3.0]))),
]


@pytest.mark.parametrize("backend", ["interpreter", "c"])
@pytest.mark.parametrize(("program", "arguments"), CASES)
def test_the_reference_takes_what_a_kernel_takes(
    program: Callable[..., Any], arguments: Arguments, backend: str
) -> None:
    run = on(backend, program)
    expected = run.reference(*arguments())
    found = run(*arguments())
    np.testing.assert_array_equal(np.asarray(found), expected)


def test_what_is_written_through_an_offset_is_the_tensor_inside() -> None:
    data, x = np.zeros(5), np.array([1.0, 2.0, 3.0])
    expected = on("c", added).reference(offset(dense(data), 2), x)
    np.testing.assert_array_equal(expected, [0, 0, 1, 2, 3])
    output = dense(data)
    on("c", added)(offset(output, 2), x)
    np.testing.assert_array_equal(np.asarray(output), expected)


def test_the_arguments_stay_as_they_are() -> None:
    output = dense(np.zeros(5))
    on("c", added).reference(offset(output, 2), np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(np.asarray(output), np.zeros(5))


def _looked_up(y: Any, A: Any, at: Any, x: Any) -> Any:
    y[...] = 0
    for i in _:
        t = A[at[i]]
        y[i] = np.float32(A[at[i]]) + np.float64(x[i] + 0 * t)
    return y


def test_gathers_and_casts_within_wrapped_arguments() -> None:
    """Expressions are rebuilt around what is not bound yet, and has no dtype."""
    at, x = np.array([0, 2, 3]), np.array([1, 2, 3])
    for backend in ("interpreter", "c"):
        run = on(backend, _looked_up)
        arguments = offset(dense(np.arange(5)), 1), at, offset(dense(x), 0)
        expected = np.array([2.0, 5, 7])
        np.testing.assert_array_equal(run.reference(np.zeros(3), *arguments), expected)
        np.testing.assert_array_equal(run(np.zeros(3), *arguments), expected)
