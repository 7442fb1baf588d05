"""Solvers of sparse linear systems as whole programs: loops that read what they write.

    python docs/examples/solvers.py [matrix.mtx or matrix.mtx.gz]

Matrices are SciPy's CSR arrays of doubles; factors are computed in place.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse

from finch_core import Tensor, _, asarray, kernel, stored
from finch_levels import Dense, Element

VECTOR = Dense(Element(0.0))


@kernel
def forward(x, L, b):
    """x of L x = b, for a lower triangular L."""
    for i in _:
        t = b[i]
        for j in range(i):
            t -= L[i, j] * x[j]
        x[i] = t / L[i, i]


@kernel
def backward(x, U, b):
    """x of U x = b, for an upper triangular U."""
    n = U.shape[1]
    for i in reversed(range(n)):
        t = b[i]
        for j in range(i + 1, n):
            t -= U[i, j] * x[j]
        x[i] = t / U[i, i]


@kernel
def gauss_seidel(x, A, b):
    """A sweep: each equation in turn is solved for its own unknown."""
    n = A.shape[1]
    for i in _:
        t = b[i]
        for j in range(i):
            t -= A[i, j] * x[j]
        for j in range(i + 1, n):
            t -= A[i, j] * x[j]
        x[i] = t / A[i, i]


@kernel
def sor(x, A, b, omega, tolerance, most):
    """Successive over-relaxation, until no unknown changes by more than ``tolerance`` or ``most``
    sweeps are done."""
    n = A.shape[1]
    change = math.inf
    sweeps = 0
    while change > tolerance and sweeps < most:
        change = 0.0
        for i in _:
            t = b[i]
            for j in range(i):
                t -= A[i, j] * x[j]
            for j in range(i + 1, n):
                t -= A[i, j] * x[j]
            step = omega * (t / A[i, i] - x[i])
            x[i] += step
            change = max(change, abs(step))
        sweeps += 1


@kernel
def ilu0(A):
    """The factors of A without fill, in place: L below the diagonal, whose own is 1, and U."""
    n = A.shape[1]
    for i in range(n):
        for k in range(i):
            if stored(A[i, k]):
                A[i, k] /= A[k, k]
                for j in range(k + 1, n):
                    if stored(A[i, j]):
                        A[i, j] -= A[i, k] * A[k, j]


@kernel
def cholesky(L):
    """The Cholesky factor of a symmetric matrix, of which L has the lower triangle, in place. It is
    incomplete where L does not store what the factor would."""
    n = len(L)
    for i in range(n):
        for j in range(i):
            if stored(L[i, j]):
                t = L[i, j]
                for k in range(j):
                    t -= L[i, k] * L[j, k]
                L[i, j] = t / L[j, j]
        if stored(L[i, i]):
            t = L[i, i]
            for k in range(i):
                t -= L[i, k] * L[i, k]
            L[i, i] = math.sqrt(t)


@kernel
def product(y, A, x):
    for i in _:
        t = 0.0
        for j in _:
            t += A[i, j] * x[j]
        y[i] = t


@kernel
def solve_factors(x, F, b):
    """x of L U x = b, F having both factors as ``ilu0`` leaves them."""
    n = F.shape[1]
    for i in _:
        t = b[i]
        for j in range(i):
            t -= F[i, j] * x[j]
        x[i] = t
    for i in reversed(range(n)):
        t = x[i]
        for j in range(i + 1, n):
            t -= F[i, j] * x[j]
        x[i] = t / F[i, i]


@kernel
def conjugate_gradients(x, A, F, b, tolerance, most):
    """x of A x = b for a symmetric positive definite A, from the x that is given, preconditioned by
    the factors F of ``ilu0``. Ends when the norm of the residual is ``tolerance`` or less."""
    n = len(x)
    r = Tensor(VECTOR, (n,))
    z = Tensor(VECTOR, (n,))
    p = Tensor(VECTOR, (n,))
    q = Tensor(VECTOR, (n,))
    product(q, A, x)
    for i in _:
        r[i] = b[i] - q[i]
    rz = 0.0
    steps = 0
    while steps < most:
        rr = 0.0
        for i in _:
            rr += r[i] * r[i]
        if rr <= tolerance * tolerance:
            break
        solve_factors(z, F, r)
        before = rz
        rz = 0.0
        for i in _:
            rz += r[i] * z[i]
        beta = rz / before if steps > 0 else 0.0
        for i in _:
            p[i] = z[i] + beta * p[i]
        product(q, A, p)
        pq = 0.0
        for i in _:
            pq += p[i] * q[i]
        alpha = rz / pq
        for i in _:
            x[i] += alpha * p[i]
            r[i] -= alpha * q[i]
        steps += 1


def factors(A: Any) -> Any:
    """A copy of a CSR array, as its incomplete factors."""
    found = A.copy()
    ilu0(asarray(found))
    return found


def filled(A: Any) -> Any:
    """The lower triangle of a symmetric matrix, storing also what its Cholesky factor fills in."""
    n = A.shape[0]
    rows: list[set[int]] = [set() for _row in range(n)]
    lower = scipy.sparse.tril(A, -1).tocsc()
    columns = [
        set(lower.indices[s:e].tolist())
        for s, e in zip(lower.indptr, lower.indptr[1:], strict=False)
    ]
    for j, column in enumerate(columns):
        if column:
            parent = min(column)  # in the elimination tree: it has the rest of the column too
            columns[parent] |= column - {parent}
        for i in column:
            rows[i].add(j)
    indices = [j for i, row in enumerate(rows) for j in (*sorted(row), i)]
    pointers = np.cumsum([0, *(len(row) + 1 for row in rows)])
    at = np.repeat(np.arange(n), np.diff(pointers)), np.array(indices)
    values = np.asarray(A[at]).ravel()
    return scipy.sparse.csr_array((values, at[1], pointers), shape=A.shape)


def poisson(side: int) -> Any:
    """The five-point Laplacian on a square."""
    line = scipy.sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(side, side))
    one = scipy.sparse.eye_array(side)
    found = scipy.sparse.csr_array(scipy.sparse.kron(line, one) + scipy.sparse.kron(one, line))
    found.eliminate_zeros()
    found.sort_indices()
    return found


def main(arguments: list[str]) -> None:
    A = scipy.sparse.csr_array(scipy.io.mmread(arguments[0])) if arguments else poisson(50)
    A.sort_indices()
    n = A.shape[0]
    b, x = np.ones(n), np.zeros(n)
    F = factors(A)
    conjugate_gradients(x, A, F, b, 1e-8, 1000)
    print(f"{n} unknowns, {A.nnz} stored; residual {np.linalg.norm(A @ x - b):.2g}")
    L = filled(A)
    cholesky(asarray(L))
    y, z = np.empty(n), np.empty(n)
    forward(y, L, b)
    backward(z, scipy.sparse.csr_array(L.T), y)
    print(f"Cholesky factor of {L.nnz} stored; residual {np.linalg.norm(A @ z - b):.2g}")


if __name__ == "__main__":
    main(sys.argv[1:])
