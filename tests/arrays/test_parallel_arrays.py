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
    stored = getattr(value, "tensor", value)  # a result may be stored with its dimensions permuted
    return {name: part.tobytes() for name, part in stored.buffers.items()}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_large_operands(name: str) -> None:
    ours, theirs = FUNCTIONS[name]
    found = []
    for threads in (1, 2, 3):
        set_threads(threads)
        found += [ours(), ours()]
    np.testing.assert_allclose(np.asarray(found[0].to_numpy()).ravel(), np.ravel(theirs()), 1e-9)
    assert all(parts(fa.asarray(one)) == parts(fa.asarray(found[0])) for one in found)


PLANNED: dict[str, Callable[[Any, Any], Any]] = {
    "triangles": lambda a, b: fa.sum((a @ b) * a),
    "product": lambda a, b: a @ b,
    "columns": lambda a, b: fa.sum(a @ b, axis=0),
}


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
@pytest.mark.parametrize("name", PLANNED)
def test_planned_kernels_on_any_number_of_threads(
    name: str, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = ((x[:300, :300] * 100).astype(dtype) for x in (SPARSE, OTHER))
    format = Dense(SparseList(Element(dtype(0))))
    A, B = Tensor(format, a), Tensor(format, b)
    found = {}
    for least in (1 << 18, 10):  # the loops of few turns are plain ones
        monkeypatch.setattr("finch_array.plan.steps.SHARED", least)
        made = fa.fused(PLANNED[name])
        for threads in (1, 2, 3):
            set_threads(threads)
            one = fa.asarray(made(A, B))
            same = found.setdefault(least, one)
            assert parts(one) == parts(same)
        assert any(step.canonical.request.shared for step in plan_of(made)) == (least == 10)
    plain, shared = found.values()
    if dtype is np.int64:
        assert parts(plain) == parts(shared)
    np.testing.assert_allclose(plain.to_numpy(), shared.to_numpy(), 1e-12)


def plan_of(function: Any) -> Any:
    """The steps of a fused function that has been called."""
    ((plan, _, _),) = function._known.values()
    return plan.steps


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
