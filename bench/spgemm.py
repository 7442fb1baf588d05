"""SpGEMM with sorted rows: the example's programs against the peers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from bench import generators, peers
from bench.races import Race, Target
from docs.examples import spgemm
from finch_core import Tensor
from finch_levels import Dense, Element, SparseList

INT32 = Dense(SparseList(Element(0.0), index=np.int32, pointer=np.int32))
ASKED = (Target("taco-like", 2.0), Target("scipy sorted", 1.5), Target("mkl sorted", 1.5))
SMALL = 3_000


def matrices(data: Path | None, quick: bool) -> Iterator[tuple[str, Any]]:
    for size in (1_000, 10_000, 100_000):
        yield f"ER {size} x 4", generators.erdos_renyi(size, 4)
    yield "rmat 12 x 8", generators.rmat(12, 8)
    if not quick:
        yield "rmat 14 x 8", generators.rmat(14, 8)
        yield "band 30", generators.banded(10_000, 30)
    if data is not None and not quick:
        for name, matrix in generators.from_folder(data, 400_000):
            if matrix.shape[0] == matrix.shape[1]:
                yield name, matrix


def arrays(result: Any) -> Any:
    """What to compare: row lengths, columns and values, in order."""
    matrix = scipy.sparse.csr_array(result.to_scipy() if isinstance(result, Tensor) else result)
    if not matrix.has_sorted_indices:
        matrix.sort_indices()
    return np.concatenate([matrix.indptr, matrix.indices, matrix.data])


def race(name: str, matrix: Any, systems: Any) -> Race:
    chosen = spgemm.ways(matrix, matrix, INT32)
    if matrix.shape[0] > SMALL:
        del chosen["inner"]  # a merge for each of all elements: quadratic in the rows
    ours = {
        f"finch {way}": lambda run=run, C=Tensor(INT32): run(C)  # noqa: B008
        for way, run in chosen.items()
    }
    theirs = peers.contenders(systems, "spgemm", matrix, matrix)
    return Race(name, ours, theirs, arrays, ASKED)


def races(systems: Any, data: Path | None, quick: bool) -> Iterator[Race]:
    for name, matrix in matrices(data, quick):
        yield race(name, matrix, systems)
