"""Einsums of random networks of sparse tensors, beside opt_einsum with NumPy.

The networks are made by the generators of the einsum benchmark (``pip install einsum-benchmark
opt_einsum``): random ones of edges and of hyperedges, trees and lattices. Each row has the part of
the largest intermediate of opt_einsum's path that differs from 0, and the ratio of the times of
warm calls (below 1: ours is faster). The aim is at most 1.5, and below 1 where less than 1 % is
full.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from bench.harness import compare

DENSITIES = (0.1, 0.01)
LARGEST = 1 << 23
"""The most elements of a dense intermediate."""

Network = tuple[str, str, list[tuple[int, ...]]]
"""A name, the subscripts, and the shapes of the operands."""


def networks(quick: bool) -> Iterator[Network]:
    """Networks of the generators of the benchmark."""
    from einsum_benchmark.generators import random, structured

    sizes = {"min_axis_size": 20, "max_axis_size": 60}
    for seed in range(1 if quick else 4):
        yield "network", *random.connected_network(5, 2.0, seed=seed, **sizes)
        with contextlib.suppress(ValueError):  # the generator found no place for an edge
            yield (
                "hypernetwork",
                *random.connected_hypernetwork(
                    5, 2.0, max_tensor_order=4, max_edge_order=3, seed=seed, **sizes
                ),
            )
        yield "tree", *structured.tree(6, d_min=60, d_max=200, seed=seed)
        yield "lattice", *structured.lattice((2, 3), d_min=20, d_max=40, seed=seed)


def operands(shapes: list[tuple[int, ...]], density: float, seed: int) -> list[Any]:
    """NumPy arrays with entries at random places."""
    rng = np.random.default_rng(seed)
    return [np.where(rng.random(shape) < density, rng.random(shape), 0.0) for shape in shapes]


def tensor(array: Any) -> Any:
    """A tensor of lists below the first dimension; of one dimension, a list."""
    import finch_array as fa
    from finch_levels import Dense, Element, SparseList

    if not array.ndim:
        return float(array)
    format: Any = SparseList(Element(0.0))
    for below in range(array.ndim - 1):
        format = Dense(format) if below == array.ndim - 2 else SparseList(format)
    return fa.asarray(array, format=format)


def fullness(subscripts: str, arrays: list[Any], path: Any) -> float:
    """The part of the largest intermediate that differs from 0."""
    left = [(part, a) for part, a in zip(subscripts.split("->")[0].split(","), arrays, strict=True)]
    out, worst, share = subscripts.split("->")[1], 0, 1.0
    for places in path:
        taken = [left.pop(k) for k in sorted(places, reverse=True)]
        rest = set(out).union(*(part for part, _ in left))
        names = "".join(sorted(rest.intersection(*[set("".join(p for p, _ in taken))])))
        made = np.einsum(f"{','.join(p for p, _ in taken)}->{names}", *(a for _, a in taken))
        left.append((names, made))
        if made.size > worst and left[:-1]:
            worst, share = made.size, np.count_nonzero(made) / max(made.size, 1)
    return share


def row(network: Network, path: Any, density: float, seed: int, seconds: float) -> dict[str, Any]:
    """One row: the results are compared, then both are timed alternating."""
    import opt_einsum

    import finch_array as fa

    name, subscripts, shapes = network
    arrays = operands(shapes, density, seed)
    tensors = [tensor(a) for a in arrays]
    theirs = opt_einsum.contract_expression(subscripts, *shapes, optimize=path)
    ours = fa.fused(lambda *x: fa.einsum(subscripts, *x))
    np.testing.assert_allclose(np.asarray(ours(*tensors)), theirs(*arrays), 1e-6)
    timings = compare(
        {"finch": lambda: ours(*tensors), "numpy": lambda: theirs(*arrays)}, seconds, 3
    )
    return {
        "network": name, "operands": len(shapes), "density": density,
        "full": fullness(subscripts, arrays, path), "finch ms": timings["finch"].seconds * 1e3,
        "finch / numpy": timings["finch"].seconds / timings["numpy"].seconds,
    }  # fmt: skip


def run(seconds: float, quick: bool = False) -> list[list[dict[str, Any]]]:
    """The table, and the ratios in the geometric mean and at worst."""
    import opt_einsum

    rows: list[dict[str, Any]] = []
    for seed, network in enumerate(networks(quick)):
        _, subscripts, shapes = network
        path, info = opt_einsum.contract_path(subscripts, *shapes, shapes=True)
        if float(info.largest_intermediate) <= LARGEST:
            rows += [row(network, path, density, seed, seconds) for density in DENSITIES]
    ratios = [found["finch / numpy"] for found in rows]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return [rows, [{"einsums": len(rows), "geometric mean": mean, "worst": max(ratios)}]]
