"""Plain loops compiled by Numba, with the unsigned indices that it is best with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from bench.peers import Contenders


@njit(fastmath={"reassoc", "contract"})
def _spmv(pos, crd, val, x, y):
    for i in range(len(y)):
        total = 0.0
        for q in range(pos[i], pos[i + 1]):
            total += val[q] * x[crd[q]]
        y[i] = total
    return y


@njit(fastmath={"reassoc", "contract"})
def _spmm(pos, crd, val, B, C):
    for i in range(C.shape[0]):
        C[i] = 0.0
        for q in range(pos[i], pos[i + 1]):
            for k in range(C.shape[1]):
                C[i, k] += val[q] * B[crd[q], k]
    return C


@njit(fastmath={"reassoc", "contract"})
def _sddmm(pos, crd, val, A, B, C):
    for i in range(len(pos) - 1):
        for q in range(pos[i], pos[i + 1]):
            total = 0.0
            for k in range(A.shape[1]):
                total += A[i, k] * B[crd[q], k]
            C[q] = val[q] * total
    return C


@njit
def _bfs(pos, crd, source):
    size = len(pos) - 1
    parents, queue = np.full(size, -1, np.int32), np.empty(size, np.uint32)
    parents[source], queue[0], first, last = source, source, 0, 1
    while first < last:
        i = queue[first]
        first += 1
        for q in range(pos[i], pos[i + 1]):
            j = crd[q]
            if parents[j] < 0:
                parents[j] = i
                queue[last] = j
                last += 1
    return parents


@njit
def _erode(image, tmp, out):
    height, width = image.shape
    for y in range(height):
        above, below = max(y - 1, 0), min(y + 1, height - 1)
        for x in range(width):
            tmp[x] = image[above, x] & image[y, x] & image[below, x]
        for x in range(1, width - 1):
            out[y, x] = tmp[x - 1] & tmp[x] & tmp[x + 1]
        out[y, 0] = tmp[0] & tmp[min(1, width - 1)]
        out[y, width - 1] = tmp[width - 1] & tmp[max(width - 2, 0)]


@njit
def _histogram(image, mask):
    bins = np.zeros(16, np.int64)
    for k in range(image.size):
        if mask[k]:
            bins[image[k] >> 4] += 1
    return bins


def _unsigned(matrix: Any) -> Any:
    return matrix.indptr.astype(np.uint32), matrix.indices.astype(np.uint32)


def spmv(matrix: Any, x: Any) -> Contenders:
    (pos, crd), y = _unsigned(matrix), np.empty(matrix.shape[0])
    return {"numba": lambda: _spmv(pos, crd, matrix.data, x, y)}


def spmm(A: Any, B: Any) -> Contenders:
    (pos, crd), C = _unsigned(A), np.empty((A.shape[0], B.shape[1]))
    return {"numba": lambda: _spmm(pos, crd, A.data, B, C)}


def sddmm(S: Any, A: Any, B: Any) -> Contenders:
    (pos, crd), C = _unsigned(S), np.empty(S.nnz)
    return {"numba": lambda: _sddmm(pos, crd, S.data, A, B, C)}


def bfs(graph: Any, source: int) -> Contenders:
    """By pushing alone, with a queue."""
    pos, crd = _unsigned(graph)
    return {"numba push": lambda: _bfs(pos, crd, source)}


def erosion(image: Any, iterations: int) -> Contenders:
    tmp, images = np.empty(image.shape[1], np.uint8), [np.empty_like(image) for _ in range(2)]

    def run() -> Any:
        source = image
        for k in range(iterations):
            _erode(source, tmp, images[k % 2])
            source = images[k % 2]
        return source

    return {"numba": run}


def histogram(image: Any, mask: Any) -> Contenders:
    return {"numba": lambda: _histogram(image.ravel(), mask.ravel())}
