"""Comparisons of signed integers with uint64 are exact, as NumPy's are."""

from __future__ import annotations

import numpy as np
import pytest

from finch_core import Tensor, _, kernel
from finch_levels import Dense, Element, SparseDiagonals, SparseList

BACKENDS = ["c", "interpreter"]
UNSIGNED = np.array([0, 1, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1], np.uint64)


def all_six(y, s, u):
    for i, k in _:
        y[0, i, k] = s[i] < u[k]
        y[1, i, k] = s[i] <= u[k]
        y[2, i, k] = s[i] > u[k]
        y[3, i, k] = s[i] >= u[k]
        y[4, i, k] = s[i] == u[k]
        y[5, i, k] = s[i] != u[k]


def with_scalar(y, c, u):
    for k in _:
        y[0, k] = c < u[k]
        y[1, k] = u[k] < c
        y[2, k] = c >= u[k]
        y[3, k] = u[k] == c
        y[4, k] = u[k] > -1
        y[5, k] = u[k] != -(2**63)
        y[6, k] = u[k] >= np.int8(-5)
        y[7, k] = u[k] < k - 2


def signed(dtype):
    limits = np.iinfo(dtype)
    return np.array([limits.min, -1, 0, 1, limits.max, min(limits.max, 2**53)], dtype)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_arrays(backend, dtype):
    run, s = kernel(backend=backend)(all_six), signed(dtype)
    y = np.zeros((6, len(s), len(UNSIGNED)), bool)
    run(y, s, UNSIGNED)
    a, b = [[int(x) for x in s], [int(x) for x in UNSIGNED]]
    for k, op in enumerate(["__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"]):
        assert y[k].tolist() == [[getattr(p, op)(q) for q in b] for p in a], op
    np.testing.assert_array_equal(run.reference(np.zeros_like(y), s, UNSIGNED)["y"], y)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("c", [-1, 0, 2**53, -(2**63), np.int8(-1), np.int64(2**62), np.uint8(1)])
@pytest.mark.parametrize("sparse", [False, True])
def test_scalars_literals_and_indices(backend, c, sparse):
    run = kernel(backend=backend)(with_scalar)
    y = np.zeros((8, len(UNSIGNED)), bool)
    u = Tensor(SparseList(Element(np.uint64(0))), UNSIGNED) if sparse else UNSIGNED
    run(y, c, u)
    ints, c = [int(x) for x in UNSIGNED], int(c)
    expected = [
        [c < q for q in ints], [q < c for q in ints], [c >= q for q in ints],
        [q == c for q in ints], [True] * 7, [True] * 7, [True] * 7,
        [q < k - 2 for k, q in enumerate(ints)],
    ]  # fmt: skip
    assert y.tolist() == expected
    np.testing.assert_array_equal(run.reference(np.zeros_like(y), c, u)["y"], y)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_comparison_that_stands_in_two_branches(backend):
    """Each statement has the variables of its own, also where they compare the same."""

    @kernel(backend=backend)
    def program(y, a, c, d):
        y[...] = 0
        for i in range(0, 6):
            for j in range(0, 3):
                y[()] += d[i + j, i] if a[j] == c else a[j]
        return y

    taken = np.arange(54).reshape(9, 6) % 3 == 0
    d = Tensor(Dense(SparseDiagonals(Element(True))), taken)
    y = Tensor(Element(0, np.int64))
    for number in (0, 1):
        given = np.array([1, -1, 3], np.int32), np.uint64(number)
        assert program(y, *given, d)[()] == program.reference(y, *given, taken)
