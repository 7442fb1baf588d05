"""Compilers have nothing to warn of in the C of kernels."""

import numpy as np
import parallel_kernels
import pytest

from finch_core import Tensor, kernel
from finch_levels import Dense, Element, SparseList

FLAGS = "-O0 -Wall -Wextra -Wno-unused-parameter -Werror"
"""Kernels have one calling convention, of which some need not all parameters."""
CSR, VECTOR = Dense(SparseList(Element(0))), Dense(Element(0))


def matrix() -> Tensor:
    return Tensor(CSR, np.random.default_rng(0).integers(-4, 2, (40, 40)).clip(0))


@pytest.mark.parametrize(
    ("program", "out", "other"),
    [
        (parallel_kernels.spmv, VECTOR, Tensor(VECTOR, np.arange(40))),
        (parallel_kernels.spmv, VECTOR, Tensor(SparseList(Element(0)), np.arange(40) % 9 // 8)),
        (parallel_kernels.spgemm, CSR, matrix()),
    ],
    ids=["dense vector", "sparse vector", "product"],
)
def test_kernels_compile_without_warnings(program, out, other, monkeypatch, tmp_path):
    monkeypatch.setenv("FINCH_CFLAGS", FLAGS)
    monkeypatch.setenv("FINCH_CACHE_DIR", str(tmp_path))
    A, result = matrix(), Tensor(out)
    kernel(program)(result, A, other)
    np.testing.assert_array_equal(result.to_numpy(), A.to_numpy() @ other.to_numpy())
