"""Parallel loops of every kind, on the threads that ``FINCH_THREADS`` gives, checked.

``python parallel_program.py`` prints ``right``; it is run under the thread sanitizer. With ``race``
it runs a kernel whose proof is switched off, which the sanitizer must find.
"""

import sys

import numpy as np
from parallel_kernels import spgemm, spmv

from finch_core import Tensor, _, maxby, parallel
from finch_core.lower import races
from finch_core.runtime.kernel import Kernel
from finch_core.runtime.options import Options
from finch_levels import Dense, Element, Scalar, SparseList

RNG = np.random.default_rng(3)
DATA = RNG.integers(1, 9, (120, 90)) * (RNG.random((120, 90)) < 0.2)
CSR = Dense(SparseList(Element(0)))


def reductions(s, m, h, A):
    for i in parallel(_):
        for j in _:
            s[()] += A[i, j]
            m[()] = maxby(m[()], (A[i, j], j))
            h[j] += A[i, j]


def gathered(y, x, p):
    for i in parallel(_):
        y[p[i]] = x[i]


def compiled(function):
    return Kernel(function, Options(least_work=50))


def right():
    A, B = Tensor(CSR, DATA), Tensor(CSR, DATA.T.copy())
    product, y = Tensor(CSR), np.zeros(120, int)
    multiply, times, reduce = compiled(spmv), compiled(spgemm), compiled(reductions)
    for _again in range(20):
        multiply(y, A, np.arange(90))
        assert np.array_equal(y, DATA @ np.arange(90))
        times(product, A, B)
        assert np.array_equal(product.to_numpy(), DATA @ DATA.T)
        s, m, h = Scalar(0), Scalar((-1, -1)), np.zeros(90, int)
        reduce(s, m, h, A)
        assert s.value == DATA.sum()
        assert tuple(m.value) == (DATA.max(), DATA.ravel().argmax() % 90)
        assert np.array_equal(h, DATA.sum(0))
    print("right")


def race():
    held = races.are_apart
    races.are_apart = lambda *given: True
    y, p = np.zeros(4), np.zeros(200_000, int)
    compiled(gathered)(y, np.ones(200_000), p)
    races.are_apart = held


if __name__ == "__main__":
    race() if "race" in sys.argv else right()
