"""Whole programs as plain loops compiled by Numba, on the arrays of CSR."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from bench.peers import Contenders, aligned
from bench.peers.numba_loops import _unsigned


@njit
def _lower_solve(pos, crd, val, b, x):
    for i in range(len(b)):
        t = b[i]
        last = pos[i + 1] - np.uint32(1)
        for q in range(pos[i], last):
            t -= val[q] * x[crd[q]]
        x[i] = t / val[last]
    return x


@njit
def _sweep(pos, crd, val, b, x):
    for i in range(len(b)):
        t, d = b[i], 0.0
        for q in range(pos[i], pos[i + 1]):
            if crd[q] == i:
                d = val[q]
            else:
                t -= val[q] * x[crd[q]]
        x[i] = t / d
    return x


@njit
def _conjugate_gradients(pos, crd, val, b, steps, x, r, p, q):
    x[:], r[:], p[:] = 0.0, b, b
    rr = 0.0
    for i in range(len(b)):
        rr += b[i] * b[i]
    for _step in range(steps):
        pq = 0.0
        for i in range(len(b)):
            t = 0.0
            for k in range(pos[i], pos[i + 1]):
                t += val[k] * p[crd[k]]
            q[i] = t
            pq += t * p[i]
        alpha, before, rr = rr / pq, rr, 0.0
        for i in range(len(b)):
            x[i] += alpha * p[i]
            r[i] -= alpha * q[i]
            rr += r[i] * r[i]
        beta = rr / before
        for i in range(len(b)):
            p[i] = r[i] + beta * p[i]
    return x


@njit
def _components(pos, crd, up):
    for i in range(len(up)):
        up[i] = i
    for i in range(len(up)):
        for q in range(pos[i], pos[i + 1]):
            if crd[q] >= i:
                break
            a, b = i, np.int64(crd[q])
            while up[a] != a:
                up[a] = up[up[a]]
                a = up[a]
            while up[b] != b:
                up[b] = up[up[b]]
                b = up[b]
            if a < b:
                up[b] = a
            else:
                up[a] = b
    for i in range(len(up)):
        up[i] = up[up[i]]
    return up


@njit
def _matching(pos, crd, mate):
    mate[:] = -1
    for i in range(len(mate)):
        if mate[i] < 0:
            for q in range(pos[i], pos[i + 1]):
                j = crd[q]
                if mate[j] < 0 and j != i:
                    mate[i] = j
                    mate[j] = i
                    break
    return mate


@njit
def _all_pairs(D):
    n = len(D)
    for k in range(n):
        for i in range(n):
            t = D[i, k]
            for j in range(n):
                D[i, j] = min(D[i, j], t + D[k, j])
    return D


@njit
def _edit_table(a, b, D):
    for i in range(len(a) + 1):
        D[i, 0] = i
    for j in range(len(b) + 1):
        D[0, j] = j
    for i in range(len(a)):
        for j in range(len(b)):
            D[i + 1, j + 1] = min(D[i, j] + (a[i] != b[j]), min(D[i, j + 1], D[i + 1, j]) + 1)
    return D[-1:, -1]


@njit
def _prefix_sums(x, y):
    t = 0.0
    for i in range(len(x)):
        t += x[i]
        y[i] = t
    return y


@njit
def _second_order(x, b, a, y):
    x1 = x2 = y1 = y2 = 0.0
    for i in range(len(x)):
        t = b[0] * x[i] + b[1] * x1 + b[2] * x2 - a[1] * y1 - a[2] * y2
        x2, x1, y2, y1 = x1, x[i], y1, t
        y[i] = t
    return y


@njit(fastmath={"reassoc", "contract"})
def _sddmm(pos, crd, val, U, V, out):
    for i in range(len(pos) - 1):
        for q in range(pos[i], pos[i + 1]):
            t = 0.0
            for k in range(U.shape[1]):
                t += U[i, k] * V[crd[q], k]
            out[q] = val[q] * t
    return out


def lower_solve(L: Any, b: Any) -> Contenders:
    (pos, crd), x = _unsigned(L), np.empty_like(b)
    return {"numba": lambda: _lower_solve(pos, crd, L.data, b, x)}


def sweep(A: Any, b: Any, start: Any) -> Contenders:
    (pos, crd), x = _unsigned(A), start.copy()
    return {"numba": lambda: (np.copyto(x, start), _sweep(pos, crd, A.data, b, x))[1]}


def conjugate_gradients(A: Any, b: Any, steps: int) -> Contenders:
    (pos, crd), vectors = _unsigned(A), [np.empty_like(b) for _vector in range(4)]
    return {"numba": lambda: _conjugate_gradients(pos, crd, A.data, b, steps, *vectors)}


def components(graph: Any) -> Contenders:
    (pos, crd), up = _unsigned(graph), np.empty(graph.shape[0], np.int32)
    return {"numba": lambda: _components(pos, crd, up)}


def matching(graph: Any) -> Contenders:
    (pos, crd), mate = _unsigned(graph), np.empty(graph.shape[0], np.int32)
    return {"numba": lambda: _matching(pos, crd, mate)}


def all_pairs_dense(D: Any) -> Contenders:
    found = aligned(D)
    return {"numba": lambda: (np.copyto(found, D), _all_pairs(found))[1]}


def edit_distance(a: Any, b: Any) -> Contenders:
    table = np.zeros((len(a) + 1, len(b) + 1), np.int32)
    return {"numba": lambda: _edit_table(a, b, table)}


def prefix_sums(x: Any) -> Contenders:
    y = np.empty_like(x)
    return {"numba": lambda: _prefix_sums(x, y)}


def second_order(x: Any, b: Any, a: Any) -> Contenders:
    y = np.empty_like(x)
    return {"numba": lambda: _second_order(x, b, a, y)}


def sddmm_into(S: Any, U: Any, V: Any) -> Contenders:
    (pos, crd), out = _unsigned(S), np.empty(S.nnz)
    return {"numba": lambda: _sddmm(pos, crd, S.data, U, V, out)}
