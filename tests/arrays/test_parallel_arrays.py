"""Array functions on large operands run parallel loops: values are NumPy's, of the same bits on any
number of threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import finch_array as fa
from finch_core import Tensor, set_threads
from finch_core.runtime.kernel import Kernel
from finch_levels import Dense, Element, SparseList


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    yield
    set_threads(None)


N = 2000
RNG = np.random.default_rng(4)
SPARSE = sp.random(N, N, density=0.01, random_state=5, format="csr")
OTHER = sp.random(N, N, density=0.01, random_state=6, format="csr")
CSR = Dense(SparseList(Element(0.0)))
WIDE = RNG.random((N, 8)) - 0.5
A, B, D = Tensor(CSR, SPARSE), Tensor(CSR, OTHER), fa.asarray(WIDE)
TALL = RNG.random((N, 600)) - 0.5

FUNCTIONS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "add": (lambda: A + B, lambda: (SPARSE + OTHER).toarray()),
    "multiply": (lambda: A * B, lambda: SPARSE.multiply(OTHER).toarray()),
    "sum": (lambda: fa.sum(A), SPARSE.sum),
    "rows": (lambda: fa.sum(A, axis=1), lambda: SPARSE.sum(1)),
    "columns": (lambda: fa.sum(A, axis=0), lambda: SPARSE.sum(0)),
    "largest": (lambda: fa.max(A, axis=1), lambda: SPARSE.toarray().max(1)),
    "product": (lambda: A @ B, lambda: (SPARSE @ OTHER).toarray()),
    "dense product": (lambda: A @ D, lambda: SPARSE @ WIDE),
    "dense": (lambda: fa.sum(fa.asarray(TALL) * 2, axis=0), lambda: (TALL * 2).sum(0)),
    "transposed": (lambda: A.T + B, lambda: (SPARSE.T + OTHER).toarray()),
}


def parts(value: Any) -> Any:
    return {name: part.tobytes() for name, part in value.buffers.items()}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_large_operands(name: str) -> None:
    ours, theirs = FUNCTIONS[name]
    found = []
    for threads in (1, 2, 3):
        set_threads(threads)
        found += [ours(), ours()]
    np.testing.assert_allclose(np.asarray(found[0].to_numpy()).ravel(), np.ravel(theirs()), 1e-9)
    assert all(parts(fa.asarray(one)) == parts(fa.asarray(found[0])) for one in found)


def test_large_operands_run_parallel_loops_and_small_ones_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts: list[str] = []
    call = Kernel.__call__

    def watched(self: Kernel, *args: Any, **named: Any) -> Any:
        texts.append(self.lower(*args).as_text("program"))
        return call(self, *args, **named)

    monkeypatch.setattr(Kernel, "__call__", watched)
    for n, several in ((1999, True), (13, False)):
        texts.clear()
        left = Tensor(CSR, SPARSE[:n, :n])
        right = Tensor(CSR, OTHER[:n, :n])
        texts.clear()
        fa.subtract(left, right)
        assert any("parallel(" in text for text in texts) == several
