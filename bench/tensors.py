"""SDDMM, SpMM and MTTKRP against the loops that TACO emits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench import generators, peers
from bench.races import Race, Target
from docs.examples import tensors
from finch_core import Tensor, read
from finch_core.tensor import from_coordinates
from finch_levels import Dense, Element, SparseList

CSR32 = Dense(SparseList(Element(0.0), index=np.int32, pointer=np.int32))
ASKED = (Target("taco-like", 1 / 1.05),)


def values(result: Any) -> Any:
    """The stored values of a tensor, or all of an array."""
    if not isinstance(result, Tensor):
        return result
    return result.buffers[f"{result.ndim}_val"][: result.nstored].reshape(
        result.shape if result.nstored == np.prod(result.shape) else -1
    )


def sampled(systems: Any, rank: int) -> Race:
    S, generator = generators.erdos_renyi(20_000, 10), np.random.default_rng(0)
    A, B = generator.random((20_000, rank)), generator.random((20_000, rank))
    C, stored = Tensor(CSR32), Tensor(CSR32, S)
    ours = {"finch": lambda: tensors.sddmm(C, stored, A, B)}
    theirs = peers.contenders(systems, "sddmm", S, A, B)
    return Race(f"SDDMM 20k x 10, rank {rank}", ours, theirs, values, ASKED)


def times_dense(systems: Any, rank: int) -> Race:
    A = generators.erdos_renyi(20_000, 10)
    B = np.random.default_rng(0).random((20_000, rank))
    C, stored = Tensor(tensors.DENSE), Tensor(CSR32, A)
    ours = {"finch": lambda: tensors.spmm(C, stored, B)}
    theirs = peers.contenders(systems, "spmm", A, B)
    return Race(f"SpMM 20k x 10, rank {rank}", ours, theirs, values, ASKED)


def factorised(name: str, A: Tensor, systems: Any, rank: int) -> Race:
    generator = np.random.default_rng(0)
    B, C = generator.random((A.shape[1], rank)), generator.random((A.shape[2], rank))
    D, E = Tensor(tensors.DENSE), Tensor(tensors.DENSE)
    ours = {
        "finch": lambda: tensors.mttkrp(D, A, B, C),
        "finch fused": lambda: tensors.mttkrp_fused(E, A, B, C),
    }
    theirs = peers.contenders(systems, "mttkrp", A.buffers, A.shape, B, C)
    return Race(f"MTTKRP {name}, rank {rank}", ours, theirs, values, ASKED)


def random_tensor() -> Tensor:
    shape = (1_000, 1_000, 1_000)
    where, numbers = generators.coordinates(shape, 500_000)
    return from_coordinates(tensors.csf(3, np.int32, np.int32), shape, list(where), numbers)


def races(systems: Any, data: Path | None, quick: bool) -> Iterator[Race]:
    for rank in (16,) if quick else (8, 16, 64):
        yield sampled(systems, rank)
        yield times_dense(systems, rank)
        yield factorised("random", random_tensor(), systems, rank)
    if data is not None and not quick:
        for path in sorted(data.glob("*.tns*")):
            A = read(path)
            if A.ndim == 3:
                A = A.to(tensors.csf(3, np.int32, np.int32))
                yield factorised(path.name.partition(".tns")[0], A, systems, 16)
