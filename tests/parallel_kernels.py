"""Functions with parallel loops that several rooms make kernels of."""

from finch_core import Tensor, _, parallel
from finch_levels import Element, SparseByteMap


def spmv(y, A, x):
    y[...] = 0
    for i in parallel(_):
        for j in _:
            y[i] += A[i, j] * x[j]


def spgemm(C, A, B):
    w = Tensor(SparseByteMap(Element(0)))
    C[...] = 0
    for i in parallel(_):
        w[...] = 0
        for k, j in _:
            w[j] += A[i, k] * B[k, j]
        for j in _:
            C[i, j] = w[j]
