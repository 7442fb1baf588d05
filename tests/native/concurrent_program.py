"""What several threads and processes run at once: one new kernel.

``python concurrent_program.py`` waits for a line of input, so that processes start together;
with ``third`` it says whether the kernel was on disk.
"""

import sys
import threading

import numpy as np

from finch_core import Tensor, _, kernel
from finch_levels import Dense, Element, SparseList

MATRIX = np.arange(35.0).reshape(5, 7) * (np.arange(35).reshape(5, 7) % 3 == 0)
THREADS = 8


def new_kernel():
    """A kernel that nobody has compiled in this process."""

    @kernel
    def spmv(y, A, x):
        y[...] = 0
        for i, j in _:
            y[i] += A[i, j] * x[j] + 0.25
        return y

    return spmv


def wanted(x):
    return MATRIX @ x + 0.25 * MATRIX.shape[1]


def together(work, count=THREADS):
    """Run ``work(k)`` in threads that start at once; their results, or the first error."""
    barrier, results = threading.Barrier(count), [None] * count

    def run(k):
        barrier.wait()
        try:
            results[k] = work(k)
        except BaseException as error:
            results[k] = error

    threads = [threading.Thread(target=run, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


def run_all():
    """Eight threads call one new kernel for the first time; each gets its own right answer."""
    spmv = new_kernel()
    A = Tensor(Dense(SparseList(Element(0.0))), MATRIX)
    xs = [np.arange(7.0) + k for k in range(THREADS)]
    found = together(lambda k: spmv(Tensor(Dense(Element(0.0))), A, xs[k]).to_numpy())
    for x, y in zip(xs, found, strict=True):
        np.testing.assert_allclose(y, wanted(x))
    assert spmv.stats()["signatures"] == 1
    return spmv


if __name__ == "__main__":
    print("ready", flush=True)
    sys.stdin.readline()
    kept = run_all().stats()["from_disk"]
    print("agree, from disk" if kept and "third" in sys.argv else "agree")
