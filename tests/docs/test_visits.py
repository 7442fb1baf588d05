"""The examples visit what is stored: their loops make as many turns where dimensions are larger and
the same entries are stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from examples_support import example, sparse

from finch_core import Tensor, kernel
from finch_core.ir.assembly import While
from finch_core.reference import statement_closures
from finch_core.reference.statement_closures import block_code
from finch_levels import Dense, Element, Scalar, SparseList
from finch_wrappers import swizzle

CSR, VECTOR = Dense(SparseList(Element(0.0))), Dense(Element(0.0))
DCSR = SparseList(SparseList(Element(0.0)))
LARGER = 9


class Turns:
    """Counts the turns of the loops that the interpreter runs."""

    def __init__(self) -> None:
        self.count = 0

    def range(self, start: int, stop: int) -> Any:
        for k in range(start, stop):
            self.count += 1
            yield k

    def while_(self, statement: While, frames: Any) -> Any:
        cond, body = frames.code(statement.cond), block_code(statement.body, frames)

        def loop(frame: Any) -> Any:
            while cond(frame):
                self.count += 1
                leaving = body(frame)
                if leaving is not None:
                    return None if leaving is statement_closures.BREAKING else leaving
            return None

        return loop


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> Iterator[Turns]:
    found, run = Turns(), statement_closures._run
    monkeypatch.setattr(statement_closures, "range", found.range, raising=False)
    before = run.dispatch(While)
    run.register(While, found.while_)
    yield found
    run.register(While, before)


def larger(array: Any, *axes: int) -> Any:
    """The same entries, in dimensions ``axes`` that are longer."""
    return np.pad(array, [(0, n * (LARGER - 1) if k in axes else 0)
                          for k, n in enumerate(array.shape)])  # fmt: skip


A3, A4 = sparse(5, 6, 7, density=0.2), sparse(3, 4, 5, 3, density=0.2)
P, Q, S = sparse(6, 7), sparse(7, 8, seed=1), sparse(6, 8, seed=2)
TENSORS, SPMV, SPGEMM = (example(name) for name in ("tensors", "spmv_formats", "spgemm"))


def csf(array: Any) -> Any:
    return Tensor(TENSORS.csf(array.ndim), array)


def factors(array: Any, first: int = 1) -> list[Any]:
    return [np.ones((n, 4)) for n in array.shape[first:]]


def by_columns(array: Any) -> Any:
    return swizzle(Tensor(CSR, array.T), (1, 0))


def empty(format: Any) -> Any:
    return Tensor(format)


FIBERS = SparseList(SparseList(Dense(Element(0.0))))


def times_factors(array: Any) -> Any:
    return empty(TENSORS.DENSE), csf(array), *factors(array)


def rows_times(array: Any) -> Any:
    return empty(VECTOR), Tensor(CSR, array), np.ones(array.shape[1])


def masked(B: Any) -> Any:
    mask = larger(S, 1)[:, : B.shape[1]]
    return empty(CSR), *(Tensor(CSR, array) for array in (mask, P, B))


def merged(A: Any) -> Any:
    return empty(CSR), Tensor(CSR, A), by_columns(larger(Q, 0)[: A.shape[1]])


CASES: dict[str, Any] = {
    "mttkrp": (TENSORS.mttkrp, times_factors, A3, (1, 2)),
    "mttkrp_fused": (TENSORS.mttkrp_fused, times_factors, A3, (0, 1, 2)),
    "mttkrp4": (TENSORS.mttkrp4, times_factors, A4, (0, 1, 2, 3)),
    "ttv": (
        TENSORS.ttv, lambda A: (empty(TENSORS.csf(2)), csf(A), np.ones(A.shape[2])),
        A3, (0, 1, 2),
    ),
    "ttm": (TENSORS.ttm, lambda A: (empty(FIBERS), csf(A), factors(A, 2)[0]), A3, (0, 1, 2)),
    "inner_product": (
        TENSORS.inner_product, lambda A: (Scalar(0.0), csf(A), csf(2 * A)), A3, (0, 1, 2),
    ),
    "sddmm": (
        TENSORS.sddmm,
        lambda S: (empty(CSR), Tensor(CSR, S), np.ones((6, 4)), np.ones((S.shape[1], 4))),
        S, (1,),
    ),
    "spmm": (
        TENSORS.spmm,
        lambda A: (empty(TENSORS.DENSE), Tensor(CSR, A), np.ones((A.shape[1], 4))), P, (1,),
    ),
    "masked_product": (TENSORS.masked_product, masked, Q, (1,)),
    "by_rows": (SPMV.by_rows, rows_times, P, (1,)),
    "by_columns": (
        SPMV.by_columns, lambda A: (empty(VECTOR), by_columns(A), np.ones(A.shape[1])), P, (0,),
    ),
    "gustavson": (
        SPGEMM.gustavson, lambda B: (empty(CSR), Tensor(CSR, P), Tensor(CSR, B)), Q, (1,),
    ),
    "outer": (SPGEMM.outer, lambda B: (empty(CSR), by_columns(P), Tensor(CSR, B)), Q, (1,)),
    "inner": (SPGEMM.inner, merged, P, (1,)),
}  # fmt: skip
"""A program, its arguments for an array, the array, and the axes along which it becomes larger."""

WORKSPACES = ("masked_product", "gustavson", "outer")
"""A byte map is scanned where it has few bytes for each entry, else its entries are sorted; a hash
table sorts in turns that depend on the keys."""
PARTED = ("mttkrp_fused",)
"""The beginnings of the parts of a parallel loop are searched for, in turns for each of which a
dimension twice as large takes one more."""


@pytest.mark.parametrize("name", CASES)
def test_turns_do_not_grow_with_dimensions(name: str, turns: Turns) -> None:
    program, arguments, array, axes = CASES[name]
    run, counts = kernel(program.__wrapped__, backend="interpreter"), []
    for data in (array, larger(array, *axes)):
        given = arguments(data)
        turns.count = 0
        run(*given)
        counts.append(turns.count)
    if name in WORKSPACES:
        assert 0 < counts[1] < 2.5 * counts[0]
    elif name in PARTED:
        assert 0 < counts[0] <= counts[1] <= counts[0] + 8 * LARGER.bit_length()
    else:
        assert 0 < counts[0] == counts[1]


def test_products_do_not_visit_empty_rows(turns: Turns) -> None:
    """Where a row stores nothing, its workspace is not read."""
    one = Tensor(DCSR, (10**5, 10**5))
    kernel(SPGEMM.gustavson.__wrapped__, backend="interpreter")(empty(DCSR), one, one)
    assert turns.count < 100


def test_turns_are_counted(turns: Turns) -> None:
    """A program that visits every index makes more of them."""

    def total(s, a):
        s[...] = 0
        for i in _:
            s[()] += a[i]
        return s

    run = kernel(total, backend="interpreter")
    for n in (10, 90):
        turns.count = 0
        run(Scalar(0.0), np.ones(n))
        assert turns.count == n
