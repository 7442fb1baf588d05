"""Programs that several rooms make kernels of."""

from finch_core import _


def spmv(y, A, x):
    y[...] = 0
    for i, j in _:
        y[i] += A[i, j] * x[j]
    return y
