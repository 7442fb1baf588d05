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


@njit
def _histogram(image, mask):
    bins = np.zeros(16, np.int64)
    for k in range(image.size):
        if mask[k]:
            bins[image[k] >> 4] += 1
    return bins


def spmv(matrix: Any, x: Any) -> Contenders:
    pos, crd = matrix.indptr.astype(np.uint32), matrix.indices.astype(np.uint32)
    y = np.empty(matrix.shape[0])
    return {"numba": lambda: _spmv(pos, crd, matrix.data, x, y)}


def histogram(image: Any, mask: Any) -> Contenders:
    return {"numba": lambda: _histogram(image.ravel(), mask.ravel())}
