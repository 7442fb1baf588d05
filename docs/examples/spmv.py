"""Multiply a real sparse matrix with a vector, check it against SciPy, and show what was compiled.

    python docs/examples/spmv.py [matrix.mtx or matrix.mtx.gz]

Without an argument it takes the airfoil mesh that PyAMG ships.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse

from finch_core import Tensor, _, asarray, kernel
from finch_core.backends import backend, explain
from finch_levels import Dense, Element


@kernel
def spmv(y, A, x):
    y[...] = 0
    for i, j in _:
        y[i] += A[i, j] * x[j]
    return y


def matrix(arguments: list[str]) -> tuple[str, Any]:
    """The name and the matrix, as SciPy's CSR."""
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
    print(explain())
    lowered = spmv.lower(y, A, x)
    print(f"\n{lowered.as_text('source')}\n")
    start = time.perf_counter()
    spmv(y, A, x)
    first = time.perf_counter() - start
    np.testing.assert_allclose(y.to_numpy(), theirs @ vector, rtol=1e-12, atol=1e-300)
    interpreted = backend().name == "interpreter"
    ours = seconds(lambda: spmv(y, A, x), 1 if interpreted else 200)
    scipys = seconds(lambda: theirs @ vector, 200)
    print("the result agrees with SciPy's")
    print(f"first call, compiling included: {first * 1e3:.1f} ms")
    print(f"one warm call: {ours * 1e6:.1f} us; SciPy's: {scipys * 1e6:.1f} us")
    if interpreted:
        print("no C compiler was found, so this ran on the reference interpreter, which is slow")


if __name__ == "__main__":
    main(sys.argv[1:])
