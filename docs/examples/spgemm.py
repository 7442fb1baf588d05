"""Sparse matrix times sparse matrix in three ways, over any semiring.

    python docs/examples/spgemm.py

Inner products sum over a row of ``A`` and a column of ``B`` for each element of the result.
Gustavson's algorithm adds up the rows of ``B`` that a row of ``A`` names, in a workspace of one
row. Outer products add up columns of ``A`` times rows of ``B`` in a workspace of the whole result.
(Paper, Figure "Inner Products, Gustavson's, and Outer Products matrix multiply in Finch".)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import scipy.sparse

from finch_core import Tensor, _, kernel, parallel
from finch_levels import Dense, Element, SparseByteMap, SparseHash, SparseList
from finch_wrappers import swizzle

CSR = Dense(SparseList(Element(0.0)))


@kernel
def inner(C, A, B):
    """``C[i, j]`` by a merge of row ``i`` of ``A`` and column ``j`` of ``B`` (by columns)."""
    C[...] = 0
    for i, j, k in _:
        C[i, j] += A[i, k] * B[k, j]
    return C


@kernel
def gustavson(C, A, B):
    """Row ``i`` of ``C`` in a byte map, which is then read in order."""
    C[...] = 0
    for i in parallel(_):
        w = Tensor(SparseByteMap(Element(0.0)))
        for k, j in _:
            w[j] += A[i, k] * B[k, j]
        for j in _:
            C[i, j] = w[j]
    return C


@kernel
def outer(C, A, B):
    """All of ``C`` in a hash table, which is then read in order. ``A`` is stored by columns."""
    w = Tensor(SparseHash(SparseHash(Element(0.0))))
    C[...] = 0
    for k, i, j in _:
        w[i, j] += A[i, k] * B[k, j]
    for i, j in _:
        C[i, j] = w[i, j]
    return C


@kernel
def outer_dense(C, A, B):
    """Outer products straight into a result that takes any order, such as a dense one."""
    C[...] = 0
    for k, i, j in _:
        C[i, j] += A[i, k] * B[k, j]
    return C


# -- any semiring -----------------------------------------------------------------------------


@attrs.frozen
class Semiring:
    """What takes the place of plus, of times, and of what is not stored (a function without
    arguments: inlined, it is a constant of the program, and so may be declared to)."""

    plus: Callable[[Any, Any], Any]
    times: Callable[[Any, Any], Any]
    zero: Callable[[], Any]


def _plus(a, b):
    return a + b


def _times(a, b):
    return a * b


def _either(a, b):
    return a | b


def _both(a, b):
    return a & b


def _nothing():
    return 0.0


def _infinity():
    return math.inf


def _false():
    return False


PLUS_TIMES = Semiring(_plus, _times, _nothing)
MIN_PLUS = Semiring(min, _plus, _infinity)
MAX_TIMES = Semiring(max, _times, _nothing)
MAX_MIN = Semiring(max, min, _nothing)
OR_AND = Semiring(_either, _both, _false)


def over(semiring: Semiring) -> Any:
    """Gustavson's algorithm over a semiring: a kernel like ``gustavson``."""
    plus, times = semiring.plus, semiring.times
    workspace, zero = SparseByteMap(Element(semiring.zero())), semiring.zero

    @kernel
    def product(C, A, B):
        C[...] = zero()
        for i in _:
            w = Tensor(workspace)
            for k, j in _:
                w[j] = plus(w[j], times(A[i, k], B[k, j]))
            for j in _:
                C[i, j] = w[j]
        return C

    return product


# -- all the ways, by name --------------------------------------------------------------------


def by_columns(matrix: Any, format: Any = CSR) -> Any:
    """A SciPy matrix stored by columns, with the indices in their order."""
    return swizzle(Tensor(format, scipy.sparse.csr_array(matrix.T)), (1, 0))


def ways(left: Any, right: Any, format: Any = CSR) -> dict[str, Callable[[Any], Any]]:
    """The programs on two SciPy CSR matrices, by name: functions that fill a result tensor.

    Whatever they need of the matrices is converted before, once.
    """
    A, B = Tensor(format, left), Tensor(format, right)
    A_columns, B_columns = by_columns(left, format), by_columns(right, format)
    return {
        "inner": lambda C: inner(C, A, B_columns),
        "gustavson": lambda C: gustavson(C, A, B),
        "outer": lambda C: outer(C, A_columns, B),
    }


def main() -> None:
    left, right = (
        scipy.sparse.random_array((200, 200), density=0.02, format="csr", rng=seed)
        for seed in (0, 1)
    )
    expected = (left @ right).toarray()
    for name, way in ways(left, right).items():
        result = way(Tensor(CSR))
        np.testing.assert_allclose(result.to_numpy(), expected, rtol=1e-12)
        print(f"{name}: agrees with SciPy, {result.nstored} stored values")


if __name__ == "__main__":
    main()
