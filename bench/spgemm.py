"""SpGEMM with sorted rows: the example's programs against the peers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from bench import data as real
from bench import generators, peers
from bench.races import Race, Target, over_taco
from docs.examples import spgemm
from finch_core import Tensor
from finch_levels import Dense, Element, SparseList

INT32 = Dense(SparseList(Element(0.0), index=np.int32, pointer=np.int32))
DENSE = Dense(Dense(Element(0.0)))
ASKED = (*over_taco(2.0), Target("scipy sorted", 1.5), Target("mkl sorted", 1.5))
SMALL = 3_000
"""Rows up to which what takes time or memory quadratic in them takes part."""
LARGEST = 100_000_000
"""Products up to which a matrix is squared: an arrow's square is dense."""
MANY = 5_000_000
"""Products up to which outer ones take part."""
SIZES = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)


def made(quick: bool) -> Iterator[tuple[str, Any]]:
    """Names and square matrices."""
    for size in (1_000, 10_000, 100_000):
        yield f"ER {size} x 4", generators.erdos_renyi(size, 4)
    yield "rmat 12 x 8", generators.rmat(12, 8)
    if not quick:
        yield "rmat 14 x 8", generators.rmat(14, 8)
        yield "band 30", generators.banded(10_000, 30)


def found(data: Path | None) -> Iterator[tuple[str, Any]]:
    """The matrices of packages and of a folder."""
    yield from real.packaged_matrices()
    for name, matrix in real.matrices(data, below=("mtx",)):
        if matrix.shape[0] == matrix.shape[1] and products(matrix) <= LARGEST:
            yield name, matrix


def products(matrix: Any) -> int:
    """How many pairs of values are multiplied: a bound on what the square stores."""
    columns = np.bincount(matrix.indices, minlength=matrix.shape[1])
    return int(columns.astype(np.int64) @ np.diff(matrix.indptr))


def arrays(result: Any) -> Any:
    """What to compare: row lengths, columns and values, in order."""
    if isinstance(result, Tensor):
        result = result.to_numpy() if result.format == DENSE else result.to_scipy()
    matrix = scipy.sparse.csr_array(result)
    if not matrix.has_sorted_indices:
        matrix.sort_indices()
    matrix.eliminate_zeros()  # dense results do not tell what was reached
    return np.concatenate([matrix.indptr, matrix.indices, matrix.data])


def race(name: str, matrix: Any, systems: Any, group: str = "", size: float | None = None) -> Race:
    chosen = spgemm.ways(matrix, matrix, INT32)
    if matrix.shape[0] > SMALL:
        del chosen["inner"]  # a merge for each of all elements: quadratic in the rows
    elif size:
        chosen |= dense_results(matrix)
    if products(matrix) > MANY:
        del chosen["outer"]  # a hash table of all of the result
    if group and not size:
        chosen = {"gustavson": chosen["gustavson"]}
    ours = {
        f"finch {way}": lambda run=run, C=Tensor(DENSE if "dense" in way else INT32): run(C)  # noqa: B008
        for way, run in chosen.items()
    }
    theirs = peers.contenders(systems, "spgemm", matrix, matrix)
    share = 0.3 if group else 1.0
    asked = ASKED if name.startswith(("ER", "rmat")) and not group else ()
    return Race(name, ours, theirs, arrays, asked, group=group, share=share, size=size)


def dense_results(matrix: Any) -> dict[str, Any]:
    """Outer products into a dense result, which costs time quadratic in the rows."""
    A, B = spgemm.by_columns(matrix, INT32), Tensor(INT32, matrix)
    return {"outer dense": lambda C: spgemm.outer_dense(C, A, B)}


def races(systems: Any, data: Path | None, quick: bool) -> Iterator[Race]:
    for name, matrix in made(quick):
        yield race(name, matrix, systems)
    for size in SIZES[2:5] if quick else SIZES:
        matrix = generators.erdos_renyi(size, 4, seed=1)
        yield race(f"ER {size}", matrix, systems, "scaling", float(size))
    if not quick:
        for name, matrix in found(data):
            yield race(name, matrix, systems, real.collection(matrix))
