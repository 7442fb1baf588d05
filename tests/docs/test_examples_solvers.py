"""Solvers of sparse systems against NumPy and SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from examples_support import example, sparse

from finch_core import asarray

programs = example("solvers")


def random_system(size: int, seed: int, density: float = 0.2) -> Any:
    """A diagonally dominant, unsymmetric CSR array."""
    matrix = sparse(size, size, density=density, seed=seed) - 0.3 * sparse(
        size, size, seed=seed + 9
    )
    matrix += np.diag(np.abs(matrix).sum(1) + 1)
    return scipy.sparse.csr_array(matrix)


SYSTEMS = {
    "poisson": programs.poisson(7),
    "random": random_system(30, 0),
    "dense": random_system(12, 1, density=1),
    "diagonal": scipy.sparse.csr_array(np.diag([1.0, 2.0, 4.0])),
    "one": scipy.sparse.csr_array([[3.0]]),
}
pytestmark = pytest.mark.parametrize("name", SYSTEMS)


def symmetric(A: Any) -> Any:
    found = scipy.sparse.csr_array(A + A.T)
    found.sort_indices()
    return found


def test_triangular_solves(name: str) -> None:
    A = SYSTEMS[name]
    b, x = np.arange(1.0, A.shape[0] + 1), np.zeros(A.shape[0])
    for program, triangle in ((programs.forward, "tril"), (programs.backward, "triu")):
        T = scipy.sparse.csr_array(getattr(scipy.sparse, triangle)(A))
        program(x, T, b)
        np.testing.assert_allclose(T @ x, b, rtol=1e-10)


def test_sweeps(name: str) -> None:
    A = SYSTEMS[name]
    n = A.shape[0]
    b, x, expected = np.ones(n), np.zeros(n), np.zeros(n)
    for _sweep in range(3):
        programs.gauss_seidel(x, A, b)
        expected = np.linalg.solve(np.tril(A.toarray()), b - np.triu(A.toarray(), 1) @ expected)
        np.testing.assert_allclose(x, expected, rtol=1e-10)
    programs.sor(x, A, b, 1.1, 1e-12, 10_000)
    np.testing.assert_allclose(A @ x, b, rtol=1e-8)
    programs.sor(x, A, b, 1.1, 0.0, 0)
    np.testing.assert_allclose(A @ x, b, rtol=1e-8)


def test_incomplete_factors_multiply_to_what_is_stored(name: str) -> None:
    A = SYSTEMS[name]
    F = programs.factors(A).toarray()
    found = (np.tril(F, -1) + np.eye(len(F))) @ np.triu(F)
    kept = A.toarray() != 0
    np.testing.assert_allclose(found[kept], A.toarray()[kept], rtol=1e-10)
    np.testing.assert_array_equal(F[~kept], 0)


def test_cholesky_on_a_pattern_with_what_is_filled_in_and_without(name: str) -> None:
    A = symmetric(SYSTEMS[name])
    L = programs.filled(A)
    programs.cholesky(asarray(L))
    np.testing.assert_allclose(L.toarray(), np.linalg.cholesky(A.toarray()), atol=1e-12)
    L = scipy.sparse.csr_array(scipy.sparse.tril(A))
    programs.cholesky(asarray(L))
    kept = L.toarray() != 0
    np.testing.assert_allclose((L @ L.T).toarray()[kept], A.toarray()[kept], rtol=1e-10)


def test_conjugate_gradients(name: str) -> None:
    A = symmetric(SYSTEMS[name])
    b, x = np.ones(A.shape[0]), np.zeros(A.shape[0])
    programs.conjugate_gradients(x, A, programs.factors(A), b, 1e-10, 200)
    np.testing.assert_allclose(A @ x, b, atol=1e-9)


def test_it_runs(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    if name == "poisson":
        programs.main([])
        assert "2500 unknowns, 12300 stored; residual" in capsys.readouterr().out
