"""``x[...] = v`` of arrays and workspaces, and loops over numbers that are written: C, the
interpreter, the reference and Python, which runs the undecorated function, agree."""

from __future__ import annotations

import numpy as np
import pytest

from finch_core import kernel
from finch_core.testing import backend_names


def constants(y, A):
    y[...] = -np.inf
    A[:] = 2
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            y[i] = max(y[i], A[i, j] + i)


def computed(y, A):
    y[...] = y[0] * 2 + A[1, 1]
    A[...] = y[1]
    return A[0, 0]


def workspaces(y, A):
    w = np.zeros((3, 2))
    for k in range(2):
        w[:] = np.inf
        w[k, k] = min(w[k, k], A[k, k])
        for i in range(3):
            y[i] += w[i, k] if w[i, k] < np.inf else 10
        w[...] = k
    return w[2, 1]


def neighbours(y, A):
    n, m = A.shape
    for i in (2, 0):
        for di in (-1, 0, 1):
            for dj in [1, -1]:
                if 0 <= i + di < n and 0 <= 1 + dj < m:
                    y[i] += A[i + di, 1 + dj] + dj
        for k in (5,):
            y[i] *= k


def from_itself(y, A):
    w = np.full(3, 7.0)
    for k in range(3):
        w[:] = w[0] + w[1] + 1
        w[1] += 1
        y[k] = w[0] + w[2] + 10 * w[1]


@pytest.mark.parametrize("backend", backend_names())
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize("program", [constants, computed, workspaces, neighbours, from_itself])
def test_values_of_whole_arrays(backend, dtype, program):
    if dtype == np.complex128 and program in (workspaces, constants):
        pytest.skip("complex numbers have no order in Python")
    y, A = np.arange(1, 4).astype(dtype), np.arange(6).reshape(3, 2).astype(dtype)
    mine, theirs = [y.copy(), A.copy()], [y.copy(), A.copy()]
    compiled = kernel(backend=backend)(program)
    found, wanted = compiled(*mine), program(*theirs)
    for a, b in zip((*mine, found or 0), (*theirs, wanted or 0), strict=True):
        np.testing.assert_array_equal(a, b)
    referred = compiled.reference(y, A)
    if wanted is None:
        for name, b in zip("yA", theirs, strict=True):
            np.testing.assert_array_equal(referred.get(name, b), b)
    else:
        assert referred == wanted
