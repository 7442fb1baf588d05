"""Products of higher order, and sampled ones, against the loops that TACO emits and others.

Dense operands begin at lines of the cache for all, as TACO's own arrays do."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench import data as real
from bench import generators, peers
from bench.races import Race, over_taco
from docs.examples import tensors
from finch_core import Tensor, read
from finch_core.runtime.convert import from_coordinates
from finch_levels import Dense, Element, SparseList

CSR32 = Dense(SparseList(Element(0.0), index=np.int32, pointer=np.int32))
TINY = 1_000
"""With fewer stored values it is calls that are measured."""
ASKED = over_taco(1 / 1.05)


def csf(ndim: int) -> Any:
    return tensors.csf(ndim, np.int32, np.int32)


def values(result: Any) -> Any:
    """The stored values of a tensor, or all of an array."""
    if not isinstance(result, Tensor):
        return result
    return result.buffers[f"{result.ndim}_val"][: result.nstored].reshape(
        result.shape if result.nstored == np.prod(result.shape) else -1
    )


def sampled(systems: Any, rank: int) -> Race:
    S, generator = generators.erdos_renyi(20_000, 10), np.random.default_rng(0)
    A, B = (peers.aligned(generator.random((20_000, rank))) for _ in range(2))
    C, stored = Tensor(CSR32), Tensor(CSR32, S)
    ours = {"finch": lambda: tensors.sddmm(C, stored, A, B)}
    theirs = peers.contenders(systems, "sddmm", S, A, B)
    return Race(f"20k x 10, rank {rank}", ours, theirs, values, ASKED, work="SDDMM")


def times_dense(systems: Any, rank: int) -> Race:
    A = generators.erdos_renyi(20_000, 10)
    B = peers.aligned(np.random.default_rng(0).random((20_000, rank)))
    C, stored = Tensor(tensors.DENSE), Tensor(CSR32, A)
    ours = {"finch": lambda: tensors.spmm(C, stored, B)}
    theirs = peers.contenders(systems, "spmm", A, B)
    return Race(f"20k x 10, rank {rank}", ours, theirs, values, ASKED, work="SpMM")


def factorised(name: str, A: Tensor, systems: Any, rank: int, group: str = "") -> Race:
    generator = np.random.default_rng(0)
    factors = [peers.aligned(generator.random((size, rank))) for size in A.shape[1:]]
    D, E = Tensor(tensors.DENSE), Tensor(tensors.DENSE)
    theirs, asked = {}, ()
    if A.ndim == 3:
        ours = {
            "finch": lambda: tensors.mttkrp(D, A, *factors),
            "finch fused": lambda: tensors.mttkrp_fused(E, A, *factors),
        }
        theirs = peers.contenders(systems, "mttkrp", A.buffers, A.shape, *factors)
        asked = () if group == "tiny tensors" else ASKED  # of those it is the calls that count
    else:
        ours = {"finch": lambda: tensors.mttkrp4(D, A, *factors)}
        theirs = {"numpy": lambda: scattered(A, factors)}
    return Race(f"{name}, rank {rank}", ours, theirs, values, asked, work="MTTKRP", group=group)


def scattered(A: Tensor, factors: list[Any]) -> Any:
    """The same with NumPy: a row for each stored value, scattered."""
    (i, *others), stored = tensors.stored_entries(A)
    rows = np.multiply.outer(stored, np.ones(factors[0].shape[1]))
    for factor, index in zip(factors, others, strict=True):
        rows *= factor[index]
    out = np.zeros((A.shape[0], rows.shape[1]))
    np.add.at(out, i, rows)
    return out


def contracted(name: str, A: Tensor, systems: Any, group: str = "") -> Iterator[Race]:
    """The last index, summed against a vector and against the rows of a matrix."""
    entries, stored = tensors.stored_entries(A)
    where = np.stack(entries)
    for work, program, operand in (
        ("TTV", tensors.ttv, np.random.default_rng(0).random(A.shape[2])),
        ("TTM", tensors.ttm, np.random.default_rng(0).random((A.shape[2], 16))),
    ):
        ending = Element(0.0) if work == "TTV" else Dense(Element(0.0))
        format = SparseList(SparseList(ending, index=np.int32, pointer=np.int32),
                            index=np.int32, pointer=np.int32)  # fmt: skip
        out = Tensor(format)
        ours = {"finch": lambda p=program, B=out, X=operand: p(B, A, X)}
        theirs = peers.contenders(systems, work.lower(), where, stored, A.shape, operand)
        # in full, results may be too large to compare: their stored values are the same
        yield Race(name, ours, theirs, fibers, work=work, group=group, share=0.5)


def fibers(result: Any) -> Any:
    """The nonzero elements, in order of their coordinates."""
    if isinstance(result, Tensor):
        found = result.buffers[f"{result.ndim}_val"][: result.nstored]
    else:
        found = np.asarray(result.data if hasattr(result, "coords") else result).ravel()
    return found[found != 0]


def random_tensor() -> Tensor:
    shape = (1_000, 1_000, 1_000)
    where, numbers = generators.coordinates(shape, 500_000)
    return from_coordinates(csf(3), shape, list(where), numbers)


def tensors_of(data: Path | None) -> Iterator[tuple[str, Tensor]]:
    """The tensors in a folder, by name; a file that cannot be read is reported."""
    for name, path in real.tensor_files(data):
        try:
            A = read(path)
        except ValueError as error:
            print(f"{path.name} does not take part: {error}", file=sys.stderr)
            continue
        yield name, A.to(csf(A.ndim))


def races(systems: Any, data: Path | None, quick: bool) -> Iterator[Race]:
    A = random_tensor()
    for rank in (16,) if quick else (8, 16, 64):
        yield sampled(systems, rank)
        yield times_dense(systems, rank)
        yield factorised("random", A, systems, rank)
    yield from contracted("random", A, systems)
    if not quick:
        for name, B in tensors_of(data):
            group = "real tensors" if B.nstored >= TINY else "tiny tensors"
            yield factorised(name, B, systems, 16, group)
            if B.ndim == 3:
                yield from contracted(name, B, systems, group)
