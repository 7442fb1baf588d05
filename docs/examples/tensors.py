"""Products of tensors of higher order, which only visit what is stored.

    python docs/examples/tensors.py [tensor.tns or tensor.tns.gz]

Tensors are compressed sparse fibers (``CSF``): a list of the first indices that occur, for each the
second ones that occur with it, and so on.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from finch_core import Tensor, _, kernel, parallel, read, stored
from finch_levels import Dense, Element, SparseByteMap, SparseList

CSR = Dense(SparseList(Element(0.0)))
DENSE_VECTOR, DENSE = Dense(Element(0.0)), Dense(Dense(Element(0.0)))


def csf(ndim: int, index: Any = np.intp, pointer: Any = np.intp) -> Any:
    """The format of a tensor with a list at every level."""
    format: Any = Element(0.0)
    for _level in range(ndim):
        format = SparseList(format, index=index, pointer=pointer)
    return format


@kernel
def mttkrp(D, A, B, C):
    """``D[i, r] = sum(A[i, j, k] * B[j, r] * C[k, r])``: the fiber of each ``i`` and ``j`` is
    summed before it is multiplied by a row of ``B``. A fiber that stores nothing is not visited:
    its sum would be zeros of a dense workspace, which are numbers like others."""
    D[...] = 0
    for i in parallel(_):
        for j in _:
            found = False
            for k in _:
                if stored(A[i, j, k]):
                    found = True
            if found:
                w = Tensor(Dense(Element(0.0)))
                for k, r in _:
                    w[r] += A[i, j, k] * C[k, r]
                for r in _:
                    D[i, r] += B[j, r] * w[r]
    return D


@kernel
def mttkrp_fused(D, A, B, C):
    """The same in one statement: less memory, more products."""
    D[...] = 0
    for i in parallel(_):
        for j, k, r in _:
            D[i, r] += A[i, j, k] * B[j, r] * C[k, r]
    return D


@kernel
def mttkrp4(E, A, B, C, D):
    """``mttkrp`` of a tensor of order four."""
    E[...] = 0
    for i, j, k, m, r in _:
        E[i, r] += A[i, j, k, m] * B[j, r] * C[k, r] * D[m, r]
    return E


@kernel
def ttv(B, A, x):
    """``B[i, j] = sum(A[i, j, k] * x[k])``, stored where ``A`` has a fiber."""
    B[...] = 0
    for i, j, k in _:
        B[i, j] += A[i, j, k] * x[k]
    return B


@kernel
def ttm(B, A, X):
    """``B[i, j, r] = sum(A[i, j, k] * X[k, r])``; the last index of ``B`` is dense."""
    B[...] = 0
    for i, j, k, r in _:
        B[i, j, r] += A[i, j, k] * X[k, r]
    return B


@kernel
def inner_product(s, A, B):
    """The sum of the products of what both tensors store."""
    s[...] = 0
    for i, j, k in _:
        s[()] += A[i, j, k] * B[i, j, k]
    return s


@kernel
def sddmm(C, S, A, B):
    """``C = S * (A @ B.T)``: a dense product, sampled where ``S`` is stored. The sum in ``t`` is
    only made there, because nothing else reads it."""
    C[...] = 0
    for i in parallel(_):
        for j in _:
            t = 0.0
            for k in _:
                t += A[i, k] * B[j, k]
            C[i, j] = S[i, j] * t
    return C


@kernel
def spmm(C, A, B):
    """``C = A @ B`` with a dense ``B`` of few columns."""
    C[...] = 0
    for i in parallel(_):
        for j, k in _:
            C[i, k] += A[i, j] * B[j, k]
    return C


@kernel
def masked_product(C, M, A, B):
    """``C = A @ B`` only where ``M`` is stored (and with its values as weights)."""
    C[...] = 0
    for i in parallel(_):
        w = Tensor(SparseByteMap(Element(0.0)))
        for k, j in _:
            w[j] += A[i, k] * B[k, j]
        for j in _:
            C[i, j] = M[i, j] * w[j]
    return C


def stored_entries(A: Tensor) -> tuple[Any, Any]:
    """A CSF tensor's coordinates (one array for each index) and values, read off its buffers."""
    buffers, coordinates = A.buffers, []
    depth = A.ndim
    for level in reversed(range(depth)):
        found = buffers[f"{level}_idx"]
        for below in range(level + 1, depth):
            found = np.repeat(found, np.diff(buffers[f"{below}_ptr"]))
        coordinates.append(found)
    return coordinates[::-1], buffers[f"{depth}_val"]


def main(arguments: list[str]) -> None:
    generator = np.random.default_rng(0)
    if arguments:
        A = read(arguments[0])
    else:
        dense = generator.random((30, 40, 50)) * (generator.random((30, 40, 50)) < 0.02)
        A = Tensor(csf(3), dense)
    print(f"{A.shape}, {A.nstored} stored values")
    factors = [generator.random((n, 16)) for n in A.shape]
    (i, *others), values = stored_entries(A)
    products = values[:, None] * np.ones(16)
    for factor, index in zip(factors[1:], others, strict=True):
        products *= factor[index]
    expected = np.zeros((A.shape[0], 16))
    np.add.at(expected, i, products)
    for program in (mttkrp, mttkrp_fused) if A.ndim == 3 else (mttkrp4,):
        D = program(Tensor(DENSE), A, *factors[1:])
        np.testing.assert_allclose(D.to_numpy(), expected, rtol=1e-10)
        print(f"{program.__name__}: agrees with NumPy")


if __name__ == "__main__":
    main(sys.argv[1:])
