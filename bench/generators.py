"""The paper's synthetic data, from seeds: matrices, graphs, tensors and images."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.ndimage
import scipy.sparse


def int32(matrix: Any) -> Any:
    """As CSR, sorted, without duplicates, with int32 indices and pointers."""
    matrix = scipy.sparse.csr_array(matrix)
    matrix.sum_duplicates()
    matrix.sort_indices()
    matrix.indices = matrix.indices.astype(np.int32)
    matrix.indptr = matrix.indptr.astype(np.int32)
    return matrix


def banded(size: int, bandwidth: int) -> Any:
    """``bandwidth`` diagonals on each side of the main one."""
    generator = np.random.default_rng(bandwidth)
    offsets = np.arange(-bandwidth, bandwidth + 1)
    diagonals = generator.random((len(offsets), size)) + 0.5
    return int32(scipy.sparse.dia_array((diagonals, offsets), shape=(size, size)))


def triangle(size: int) -> Any:
    """A full upper triangle."""
    return int32(scipy.sparse.csr_array(np.triu(np.random.default_rng(0).random((size, size)) + 1)))


def reverse_permutation(size: int) -> Any:
    """Ones on the antidiagonal."""
    parts = (np.ones(size), np.arange(size)[::-1].astype(np.int32), np.arange(size + 1))
    return int32(scipy.sparse.csr_array(parts, shape=(size, size)))


def erdos_renyi(size: int, per_row: float, seed: int = 0) -> Any:
    """A square matrix with ``per_row`` uniformly random entries in each row on average."""
    generator = np.random.default_rng(seed)
    count = int(size * per_row)
    where = generator.integers(0, size, (2, count))
    return int32(scipy.sparse.coo_array((generator.random(count) + 0.5, where), (size, size)))


def blocks(size: int, block: int, per_row: int) -> Any:
    """Dense blocks at random places."""
    generator = np.random.default_rng(block)
    coarse = erdos_renyi(size // block, per_row, seed=block)
    return int32(scipy.sparse.kron(coarse, generator.random((block, block)) + 0.5))


def rmat(scale: int, per_row: int, seed: int = 0) -> Any:
    """A scale-free symmetric graph without loops: ``2 ** scale`` vertices (.57, .19, .19)."""
    generator = np.random.default_rng(seed)
    count = per_row << scale
    where = np.zeros((2, count), dtype=np.int64)
    for _bit in range(scale):
        quadrant = np.searchsorted([0.57, 0.76, 0.95], generator.random(count))
        where = 2 * where + np.stack([quadrant // 2, quadrant % 2])
    where = where[:, where[0] != where[1]]
    both = np.concatenate([where, where[::-1]], axis=1)
    graph = scipy.sparse.coo_array((np.ones(both.shape[1]), both), (1 << scale, 1 << scale))
    graph = int32(graph)
    graph.data[:] = 1
    return graph


def grid(side: int) -> Any:
    """A square mesh as a graph: each vertex and its four neighbours."""
    path = scipy.sparse.diags_array([1.0, 1.0], offsets=[-1, 1], shape=(side, side))
    one = scipy.sparse.eye_array(side)
    return int32(scipy.sparse.kron(path, one) + scipy.sparse.kron(one, path))


def diagonals(size: int, offsets: Iterable[int], seed: int = 0) -> Any:
    """A matrix with these diagonals, each full."""
    generator = np.random.default_rng(seed)
    found = {k: generator.random(size - abs(k)) + 0.5 for k in offsets}
    return int32(scipy.sparse.diags_array(list(found.values()), offsets=list(found)))


def stencil(side: int, reach: int) -> Any:
    """The points of a cube and their neighbours, up to ``reach`` steps along the axes: 7 for 1, all
    27 of the cube around a point for 3; diagonally dominant values."""
    path = scipy.sparse.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(side, side))
    whole = scipy.sparse.kron(scipy.sparse.kron(path, path), path).tocoo()
    at = np.stack(np.unravel_index(whole.coords[0], (side,) * 3))
    to = np.stack(np.unravel_index(whole.coords[1], (side,) * 3))
    apart = np.abs(at - to)
    near = (apart.max(axis=0) <= 1) & (apart.sum(axis=0) <= reach)
    values = np.where(whole.coords[0] == whole.coords[1], 27.0, -1.0)[near]
    coords = tuple(c[near] for c in whole.coords)
    return int32(scipy.sparse.coo_array((values, coords), shape=whole.shape))


def symmetric(size: int, per_row: float, seed: int = 0) -> Any:
    """Random entries, and those of the transpose."""
    half = erdos_renyi(size, per_row, seed)
    return int32(half + half.T)


def path(size: int) -> Any:
    """A path as a graph: a search from its end has as many levels as vertices."""
    return int32(scipy.sparse.diags_array([1.0, 1.0], offsets=[-1, 1], shape=(size, size)))


def weighted(graph: Any, seed: int = 0) -> Any:
    """The same edges with lengths between 1 and 2, equal in both directions."""
    rows, columns = graph.tocoo().coords
    low, high = np.minimum(rows, columns), np.maximum(rows, columns)
    lengths = 1 + np.modf(np.sin(low * 12.9898 + high * 78.233 + seed) * 43758.5453)[0] ** 2
    found = graph.copy()
    found.data = lengths
    return found


def coordinates(shape: tuple[int, ...], count: int, seed: int = 0) -> Any:
    """Sorted, unique random coordinates (one row for each index) and values of a sparse tensor."""
    generator = np.random.default_rng(seed)
    flat = np.unique(generator.integers(0, np.prod(shape), count))
    return np.stack(np.unravel_index(flat, shape)), generator.random(len(flat)) + 0.5


def blobs(height: int, width: int, sigma: float, seed: int = 0) -> Any:
    """A black-and-white image of smooth shapes: 1 where filtered noise is high."""
    noise = np.random.default_rng(seed).random((height, width))
    smooth = scipy.ndimage.gaussian_filter(noise, sigma)
    return (smooth > np.median(smooth)).astype(np.uint8)


def acyclic(size: int, per_row: float, seed: int = 0) -> Any:
    """A directed graph whose edges all go one way, with its vertices shuffled."""
    upper = scipy.sparse.triu(erdos_renyi(size, per_row, seed), 1).tocsr()
    shuffle = np.random.default_rng(seed).permutation(size)
    found = int32(upper[shuffle][:, shuffle])
    found.data[:] = 1
    return found


def runs(height: int, width: int, length: int, seed: int = 0) -> Any:
    """A grey image whose rows are runs of equal pixels, ``length`` long on average."""
    generator = np.random.default_rng(seed)
    starts = generator.random((height, width)) < 1 / length
    starts[:, 0] = True
    values = generator.integers(0, 256, height * width).astype(np.uint8)
    return values[np.cumsum(starts.ravel()) - 1].reshape(height, width)
