"""Tensors are chunks of ``dask.array``: its operations give what NumPy gives, and stay sparse."""

from __future__ import annotations

import pickle
import subprocess
import sys
import tracemalloc
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from dask.base import tokenize
from dask.sizeof import sizeof
from dask_operations import DENSE_BY_MEANING, OPERATIONS

import finch_array as fa
from finch_core import Tensor, _, kernel
from finch_levels import Dense, Element, RunList, SparseList

CSR = Dense(SparseList(Element(0.0)))
FORMATS: dict[str, Any] = {
    "rows": CSR,
    "filled": Dense(SparseList(Element(1.0))),
    "runs": Dense(RunList(Element(0.0))),
}


LARGE: dict[str, Any] = {
    "reshape": lambda m, a, b, c: a.reshape(2, a.shape[0] // 2, a.shape[1]),
    "diag": lambda m, a, b, c: m.diag(a[:, : a.shape[0]]),
    "broadcast": lambda m, a, b, c: a * np.arange(float(a.shape[1])) + a[:1],
    "boolean index": lambda m, a, b, c: a[np.arange(a.shape[0]) % 2 == 0],
    "product": lambda m, a, b, c: a @ c,
    "rechunk": lambda m, a, b, c: a.rechunk((10_000, 18_000)),
}
"""Those of ``OPERATIONS`` that name their sizes, for matrices that are large."""


@pytest.fixture(autouse=True)
def _here() -> Any:
    with dask.config.set(scheduler="synchronous"):
        yield


def matrices() -> list[Any]:
    rng = np.random.default_rng(0)
    shapes = (8, 12), (8, 12), (12, 6)
    return [np.where(rng.random(s) < 0.3, rng.integers(1, 9, s) * 1.0, 0.0) for s in shapes]


def chunked(array: Any, format: Any, chunks: Any = (4, 3)) -> Any:
    return da.from_array(Tensor(format, array), chunks=chunks, asarray=False)


@pytest.mark.sampled(0.29)
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_gives_what_numpy_gives(name: str, format: str) -> None:
    plain = matrices()
    wanted = OPERATIONS[name](np, *plain)
    lazy = OPERATIONS[name](da, *(chunked(x, FORMATS[format]) for x in plain))
    found = lazy.compute()
    assert np.shape(found) == np.shape(wanted)
    assert found.dtype == np.asarray(wanted).dtype == lazy.dtype
    assert np.allclose(np.asarray(found), wanted)


@pytest.mark.parametrize("name", sorted(set(OPERATIONS) - DENSE_BY_MEANING))
def test_an_operation_makes_no_chunk_dense(name: str) -> None:
    """40 entries among 10**9: a dense chunk would need 2 GB."""
    rng = np.random.default_rng(0)
    n, m = 24_000, 40_000
    sizes = {8: n, 12: m, 6: m // 2}

    def spread(rows: int, columns: int) -> Any:
        coords = [rng.integers(0, sizes[rows], 40), rng.integers(0, sizes[columns], 40)]
        values = rng.integers(1, 9, 40) * 1.0
        return da.from_array(
            fa.from_coo(coords, values, (sizes[rows], sizes[columns])),
            chunks=(sizes[rows] // 2, sizes[columns] // 2), asarray=False,
        )  # fmt: skip

    given = spread(8, 12), spread(8, 12), spread(12, 6)
    tracemalloc.start()
    try:
        lazy = LARGE.get(name, OPERATIONS[name])(da, *given)
        found = lazy.compute()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100e6
    assert found.nnz < 2e6


@kernel
def scaled_rows(C, A, factor):
    C[...] = 0
    for i, j in _:
        C[i, j] = A[i, j] * factor
    return C


@kernel
def rows_times(y, A, x):
    y[...] = 0
    for i, j in _:
        y[i] += A[i, j] * x[j]
    return y


def scaled_block(block: Any, factor: float) -> Any:
    return scaled_rows(Tensor(CSR), block, factor)


def product_block(block: Any, x: Any) -> Any:
    return rows_times(Tensor(Dense(Element(0.0))), block, x)


def test_map_blocks_and_blockwise_run_kernels() -> None:
    plain, _b, _c = matrices()
    lazy = chunked(plain, CSR)
    found = lazy.map_blocks(scaled_block, 2.5, dtype=float)
    assert found.compute().format == CSR
    assert np.array_equal(found.compute().to_numpy(), 2.5 * plain)
    rows = lazy.rechunk({0: 4, 1: -1})
    y = da.blockwise(
        product_block, "i", rows, "ij", np.arange(12.0), None, concatenate=True,
        dtype=float, meta=Tensor(Dense(Element(0.0))),
    )  # fmt: skip
    assert np.allclose(y.compute().to_numpy(), plain @ np.arange(12.0))


def test_metas_are_tensors_of_size_zero() -> None:
    a = chunked(matrices()[0], CSR)
    for lazy in (a, a + a, a.T, a.sum(axis=0), a.max(axis=1, keepdims=True), a @ a.T, a > 1):
        assert 0 in lazy._meta.shape
        assert hasattr(lazy._meta, "signature")
        assert lazy._meta.dtype == lazy.dtype


def test_persisted_and_rechunked_arrays_stay_sparse() -> None:
    plain = matrices()[0]
    kept = chunked(plain, CSR).persist().rechunk((5, 7))
    assert {type(block).__name__ for block in kept.to_delayed().ravel()} == {"Delayed"}
    assert kept.compute().format == CSR
    assert np.array_equal(kept.compute().to_numpy(), plain)


def test_sizes_are_those_of_the_buffers() -> None:
    a = fa.random((500, 500), 0.1, format=CSR, rng=0)
    stored = sum(part.nbytes for part in a.buffers.values())
    assert stored <= a.nbytes <= sizeof(a) < stored + 1000
    assert a.nbytes <= sizeof(a.T) < stored + 1000


def test_tokens_are_those_of_the_contents_in_every_process() -> None:
    a = fa.random((50, 50), 0.1, format=CSR, rng=0)
    other = a.copy()
    assert tokenize(a) == tokenize(other) != tokenize(a.T)
    assert tokenize(a) == tokenize(pickle.loads(pickle.dumps(a)))
    b = a * 1
    b.buffers["2_val"][3] += 1
    assert tokenize(a) != tokenize(b)
    assert tokenize(a) != tokenize(a.to(Dense(RunList(Element(0.0)))))
    program = (
        "import finch_array as fa; from finch_levels import *; from dask.base import tokenize; "
        "print(tokenize(fa.random((50, 50), 0.1, format=Dense(SparseList(Element(0.0))), rng=0)))"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert told.stdout.strip() == tokenize(a), told.stderr


def test_buffers_are_pickled_without_copies_or_spare_capacity() -> None:
    a = fa.random((500, 500), 0.1, format=CSR, rng=0)
    doubled = a + a  # its buffers have grown, and have room to spare
    for array in (a, doubled, a.T):
        beside: list[pickle.PickleBuffer] = []
        inline = pickle.dumps(array, 5, buffer_callback=beside.append)
        assert len(inline) < 2000
        buffers = getattr(array, "tensor", array).buffers
        sent = [np.frombuffer(raw.raw(), np.uint8) for raw in beside]
        stored = sum(part.nbytes for part in buffers.values())
        record = getattr(array, "tensor", array).record.nbytes
        assert sum(part.nbytes for part in sent) == stored + record
        for part in buffers.values():
            assert any(np.shares_memory(part, raw) for raw in sent)
        again = pickle.loads(inline, buffers=beside)
        assert np.array_equal(again.to_numpy(), array.to_numpy())
