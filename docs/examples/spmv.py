"""Multiply a sparse matrix by a vector, compare the result with SciPy's, and show the compiled C.

    python docs/examples/spmv.py [matrix.mtx or matrix.mtx.gz]

Without an argument it uses the airfoil mesh that is part of PyAMG.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse

from finch_core import Tensor, _, asarray, kernel, parallel
from finch_core.runtime.backends import backend, explain
from finch_levels import Dense, Element


@kernel
def spmv(y, A, x):
    y[...] = 0
    for i in parallel(_):  # rows on all cores
        for j in _:
            y[i] += A[i, j] * x[j]
    return y


def matrix(arguments: list[str]) -> tuple[str, Any]:
    """The name of the matrix, and the matrix as a SciPy CSR array."""
    if arguments:
        return arguments[0], scipy.sparse.csr_array(scipy.io.mmread(arguments[0]))
    from pyamg.gallery import load_example

    return "airfoil", scipy.sparse.csr_array(load_example("airfoil")["A"])


def seconds(function: Callable[[], Any], repeats: int) -> float:
    """The least time of one call."""
    times = []
    for _repeat in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def main(arguments: list[str]) -> None:
    name, theirs = matrix(arguments)
    vector = np.random.default_rng(0).random(theirs.shape[1])
    A, x = asarray(theirs), asarray(vector)  # in place: no copy
    y = Tensor(Dense(Element(0.0)))
    print(f"{name}: {theirs.shape[0]} x {theirs.shape[1]}, {theirs.nnz} stored values")
    print(f"{A!r}\n")
    start = time.perf_counter()
    lowered = spmv.lower(y, A, x)
    lowered.compile()
    compiling = time.perf_counter() - start
    print(lowered.as_text("source"))
    spmv(y, A, x)
    np.testing.assert_allclose(y.to_numpy(), theirs @ vector, rtol=1e-12, atol=1e-300)
    interpreted = backend().name == "interpreter"
    ours = seconds(lambda: spmv(y, A, x), 1 if interpreted else 200)
    scipys = seconds(lambda: theirs @ vector, 200)
    print("the result agrees with SciPy's")
    origin = "found on disk" if lowered.cached else "compiled"
    print(f"{origin} in {compiling * 1e3:.1f} ms")
    print(f"one warm call: {ours * 1e6:.1f} us; SciPy's: {scipys * 1e6:.1f} us")
    print(explain())
    if interpreted:
        print("this ran on the reference interpreter, which is slow: see above for the reason")


if __name__ == "__main__":
    main(sys.argv[1:])
