"""SpMV in every format, and the format that is chosen for a matrix."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from examples_support import example, sparse

from finch_core import Tensor, kernel
from finch_levels import (
    Dense,
    Element,
    Pattern,
    SparseBand,
    SparseBlockList,
    SparseByteMap,
    SparseHash,
    SparseList,
)
from finch_wrappers import swizzle

programs = example("spmv_formats")
VECTOR = Dense(Element(0.0))
N = 12

MATRICES = {
    "permutation": np.eye(N)[::-1],
    "scaled permutation": np.eye(N)[::-1] * np.arange(1, N + 1),
    "runs": np.tril(np.ones((N, N)), -2) * np.arange(1.0, N + 1)[:, None],
    "triangle": np.triu(np.arange(1.0, N * N + 1).reshape(N, N)),
    "blocks": np.kron(
        np.array([[1, 0, 1], [0, 1, 0], [1, 0, 1.0]]), np.arange(1.0, 17).reshape(4, 4)
    ),
    "random": sparse(N, N, density=0.15),
    "random pattern": (sparse(N, N, density=0.15, seed=3) > 0) * 1.0,
    "full": np.arange(1.0, N * N + 1).reshape(N, N),
    "symmetric": (
        np.diag(np.arange(1.0, N + 1)) + np.diag(np.ones(N - 2), 2) + np.diag(np.ones(N - 2), -2)
    ),
    "empty": np.zeros((N, N)),
    "wide": sparse(3, N),
}


@pytest.mark.parametrize("name", MATRICES)
def test_all_ways_agree_with_numpy(name: str) -> None:
    dense = MATRICES[name]
    x = np.random.default_rng(0).random(dense.shape[1])
    ways = programs.ways(scipy.sparse.csr_array(dense))
    assert ("symmetric" in ways) == (dense.shape == dense.T.shape and (dense == dense.T).all())
    for way in ways.values():
        np.testing.assert_allclose(way(Tensor(VECTOR), x).to_numpy(), dense @ x)


@pytest.mark.parametrize("name", MATRICES)
def test_complex_matrices_have_their_ways(name: str) -> None:
    dense = MATRICES[name] * (2 - 1j)
    x = np.random.default_rng(0).random(dense.shape[1]) + 1j
    for way in programs.ways(scipy.sparse.csr_array(dense)).values():
        y = Tensor(Dense(Element(0j)))
        np.testing.assert_allclose(way(y, x).to_numpy(), dense @ x)


LISTS = [SparseList, SparseBand, SparseBlockList, SparseByteMap, SparseHash]


@pytest.mark.parametrize("level", LISTS)
@pytest.mark.parametrize("leaf", [Element(0.0), Pattern()], ids=["element", "pattern"])
def test_rows_and_columns_in_every_format(level: type, leaf: object) -> None:
    dense = sparse(N, N)
    dense = np.where(dense, 1.0, 0.0) if leaf == Pattern() else dense
    if level is SparseBand:  # a Pattern has no fill to put into a band's gaps
        dense = np.tril(np.where(dense, dense, 1.0), 0)
    x, fmt = np.random.default_rng(0).random(N), Dense(level(leaf))
    A = programs.stored(scipy.sparse.csr_array(dense), fmt)
    np.testing.assert_allclose(programs.by_rows(Tensor(VECTOR), A, x).to_numpy(), dense @ x)
    by_columns = programs.by_columns(Tensor(VECTOR), swizzle(A, (1, 0)), x)  # of the transpose
    np.testing.assert_allclose(by_columns.to_numpy(), dense.T @ x)


@pytest.mark.parametrize("level", LISTS)
def test_the_symmetric_program_in_every_format(level: type) -> None:
    upper, diagonal = np.triu(sparse(N, N), 1), np.arange(1.0, N + 1)
    x, U = np.random.default_rng(0).random(N), Tensor(Dense(level(Element(0.0))), upper)
    y = programs.symmetric(Tensor(VECTOR), U, diagonal, x)
    np.testing.assert_allclose(y.to_numpy(), (upper + upper.T + np.diag(diagonal)) @ x)


def test_the_interpreter_agrees() -> None:
    dense = MATRICES["blocks"]
    x = np.arange(float(N))
    for program in ("by_rows", "symmetric"):
        interpreted = kernel(getattr(programs, program).__wrapped__, backend="interpreter")
        args = (Tensor(programs.baseline(dense), np.triu(dense, 1)),)
        args += (np.diag(dense), x) if program == "symmetric" else (x,)
        expected = getattr(programs, program)(Tensor(VECTOR), *args).to_numpy()
        np.testing.assert_allclose(interpreted(Tensor(VECTOR), *args).to_numpy(), expected)


def test_it_prints_what_it_chose(capsys: pytest.CaptureFixture[str]) -> None:
    programs.main([])
    printed = capsys.readouterr().out
    assert "SparseBand" in printed
    assert printed.count("agrees with SciPy") == 4
