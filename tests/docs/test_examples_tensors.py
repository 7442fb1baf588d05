"""Products of tensors of higher order against ``np.einsum``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examples_support import example, sparse

from finch_core import Tensor, kernel, write
from finch_levels import Dense, Element, Scalar, SparseList

programs = example("tensors")
A3, A4 = sparse(6, 7, 8, density=0.2), sparse(4, 5, 6, 3, density=0.2)
FACTORS = [np.random.default_rng(n).random((n, 5)) for n in (6, 7, 8)]


@pytest.mark.parametrize("name", ["mttkrp", "mttkrp_fused"])
@pytest.mark.parametrize("outer", ["csf", "dense"])
def test_mttkrp(name: str, outer: str) -> None:
    A = Tensor(programs.csf(3) if outer == "csf" else Dense(programs.csf(2)), A3)
    D = getattr(programs, name)(Tensor(programs.DENSE), A, *FACTORS[1:])
    np.testing.assert_allclose(D.to_numpy(), np.einsum("ijk,jr,kr->ir", A3, *FACTORS[1:]))


def test_mttkrp_of_order_four() -> None:
    factors = [np.random.default_rng(n).random((n, 5)) for n in A4.shape[1:]]
    D = programs.mttkrp4(Tensor(programs.DENSE), Tensor(programs.csf(4), A4), *factors)
    np.testing.assert_allclose(D.to_numpy(), np.einsum("ijkl,jr,kr,lr->ir", A4, *factors))


@pytest.mark.parametrize("format", [programs.csf(2), programs.CSR, programs.DENSE])
def test_ttv(format: Any) -> None:
    x = np.arange(1.0, 9)
    B = programs.ttv(Tensor(format), Tensor(programs.csf(3), A3), x)
    np.testing.assert_allclose(B.to_numpy(), A3 @ x)


SEMISPARSE = [
    SparseList(SparseList(Dense(Element(0.0)))),
    Dense(SparseList(Dense(Element(0.0)))),
    Dense(programs.DENSE),
]


@pytest.mark.parametrize("format", SEMISPARSE)
def test_ttm(format: Any) -> None:
    B = programs.ttm(Tensor(format), Tensor(programs.csf(3), A3), FACTORS[2])
    np.testing.assert_allclose(B.to_numpy(), A3 @ FACTORS[2])


def test_inner_product() -> None:
    other = sparse(6, 7, 8, seed=5)
    A, B = Tensor(programs.csf(3), A3), Tensor(programs.csf(3), other)
    found = programs.inner_product(Scalar(0.0), A, B).value
    assert found == pytest.approx(np.sum(A3 * other))


def test_sampled_and_masked_products() -> None:
    S, P, Q = sparse(9, 8), sparse(9, 6, seed=1), sparse(6, 8, seed=2)
    X, Y = P + 1, Q.T + 1
    sampled = programs.sddmm(Tensor(programs.CSR), Tensor(programs.CSR, S), X, Y)
    np.testing.assert_allclose(sampled.to_numpy(), S * (X @ Y.T))
    assert sampled.nstored == np.count_nonzero(S)
    args = [Tensor(programs.CSR, m) for m in (S, P, Q)]
    masked = programs.masked_product(Tensor(programs.CSR), *args)
    np.testing.assert_allclose(masked.to_numpy(), S * (P @ Q))
    product = programs.spmm(Tensor(programs.DENSE), args[0], Y)
    np.testing.assert_allclose(product.to_numpy(), S @ Y)


def test_the_interpreter_agrees() -> None:
    interpreted = kernel(programs.mttkrp.__wrapped__, backend="interpreter")
    D = interpreted(Tensor(programs.DENSE), Tensor(programs.csf(3), A3), *FACTORS[1:])
    np.testing.assert_allclose(D.to_numpy(), np.einsum("ijk,jr,kr->ir", A3, *FACTORS[1:]))


def test_a_tensor_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for order, array in ((3, A3), (4, A4)):
        path = tmp_path / f"order{order}.tns"
        write(path, Tensor(programs.csf(order), array))
        programs.main([str(path)])
    assert capsys.readouterr().out.count("agrees with NumPy") == 3
