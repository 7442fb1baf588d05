"""Whole programs that are measured, beside those of the examples."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench import generators
from finch_core import Tensor, _, asarray, kernel, stored
from finch_levels import Dense, Element, SparseList


@kernel
def lower_inverse(x, L, inverse, b):
    for i in _:
        t = b[i]
        for j in range(i):
            t -= L[i, j] * x[j]
        x[i] = t * inverse[i]


@kernel
def upper_inverse(x, U, inverse, b):
    n = U.shape[1]
    for i in reversed(range(n)):
        t = b[i]
        for j in range(i + 1, n):
            t -= U[i, j] * x[j]
        x[i] = t * inverse[i]


@kernel
def plain_conjugate_gradients(x, A, b, r, p, q, steps):
    rr = 0.0
    for i in _:
        x[i] = 0.0
        r[i] = b[i]
        p[i] = b[i]
        rr += b[i] * b[i]
    for _step in range(steps):
        pq = 0.0
        for i in _:
            t = 0.0
            for j in _:
                t += A[i, j] * p[j]
            q[i] = t
            pq += t * p[i]
        before = rr
        rr = 0.0
        for i in _:
            x[i] += before / pq * p[i]
            t = r[i] - before / pq * q[i]
            r[i] = t
            rr += t * t
        for i in _:
            p[i] = r[i] + rr / before * p[i]


@kernel
def scale_rows(A, d):
    for i, j in _:
        A[i, j] *= d[i]


@kernel
def drop_small(B, A, least):
    B[...] = 0
    for i, j in _:
        if abs(A[i, j]) > least:
            B[i, j] = A[i, j]


@kernel
def sddmm_into(C, S, U, V):
    for i, j in _:
        if stored(C[i, j]):
            t = 0.0
            for k in _:
                t += U[i, k] * V[j, k]
            C[i, j] = S[i, j] * t


@kernel
def ttv_into(Y, A, x):
    for i, j in _:
        if stored(Y[i, j]):
            t = 0.0
            for k in _:
                t += A[i, j, k] * x[k]
            Y[i, j] = t


@kernel
def ldl(U, inverse, A, L):
    """L D L^T: the rows of U are the columns of L below the diagonal, of which L has the pattern by
    rows; ``inverse`` becomes the inverse of D."""
    n = len(inverse)
    x = Tensor(Dense(Element(0.0)), (n,))
    for k in range(n):
        for j in range(k):
            if stored(A[k, j]):
                x[j] = A[k, j]
        d = A[k, k]
        for j in range(k):
            if stored(L[k, j]):
                y = x[j]
                x[j] = 0.0
                for i in range(k):
                    if stored(U[j, i]):
                        x[i] -= U[j, i] * y
                factor = y * inverse[j]
                d -= factor * y
                if stored(U[j, k]):
                    U[j, k] = factor
        inverse[k] = 1 / d


@kernel
def search_in_order(parents, A, AT, source, many):
    """The search of the examples for one core: what a pull reaches goes straight to the queue."""
    n = len(parents)
    queue = Tensor(Dense(Element(np.int32(0))), (n,))
    level = Tensor(Dense(Element(False)), (n,))
    for i in _:
        parents[i] = -1
    parents[source] = source
    queue[0] = source
    first = 0
    last = 1
    while first < last:
        end = last
        if end - first > many:
            level[...] = False
            for q in range(first, end):
                level[queue[q]] = True
            for j in _:
                if parents[j] < 0:
                    for i in _:
                        if AT[j, i] and level[i]:
                            parents[j] = i
                            queue[last] = j
                            last += 1
                            break
        else:
            for q in range(first, end):
                i = queue[q]
                for j in _:
                    if A[i, j] and parents[j] < 0:
                        parents[j] = i
                        queue[last] = j
                        last += 1
        first = end


@kernel
def label_round(found, A, labels):
    count = Tensor(Dense(Element(np.int32(0))), (len(found),))
    for i in _:
        most = 0
        best = labels[i]
        for j in _:
            if A[i, j]:
                label = labels[j]
                c = count[label] + 1
                count[label] = c
                if c > most or (c == most and label < best):
                    most = c
                    best = label
        for j in _:
            if A[i, j]:
                count[labels[j]] = 0
        found[i] = best


@kernel
def pagerank_steps(rank, AT, degree, share, steps):
    n = len(rank)
    for i in _:
        rank[i] = 1 / n
    for _step in range(steps):
        lost = 0.0
        for i in _:
            if degree[i] > 0:
                share[i] = rank[i] / degree[i]
            else:
                share[i] = 0.0
                lost += rank[i]
        base = (0.15 + 0.85 * lost) / n
        for j in _:
            t = 0.0
            for i in _:
                t += AT[j, i] * share[i]
            rank[j] = base + 0.85 * t


def fibers_of_five(rows: int) -> tuple[Tensor, Tensor, Any]:
    """A pattern, a tensor of about ten fibers in each row with five elements each, and a vector:
    what ``ttv_into`` takes."""
    pattern, generator = generators.erdos_renyi(rows, 10), np.random.default_rng(0)
    fibers, length = pattern.nnz, 10_000
    chosen = generator.integers(0, length - 5, (fibers, 5))
    chosen.sort(axis=1)
    lists = {"index": np.int32, "pointer": np.int32}
    buffers = {
        "1_ptr": pattern.indptr, "1_idx": pattern.indices,
        "2_ptr": np.arange(0, 5 * fibers + 1, 5, dtype=np.int32),
        "2_idx": (chosen + np.arange(5)).ravel().astype(np.int32),
        "3_val": generator.random(5 * fibers),
    }  # fmt: skip
    format = Dense(SparseList(SparseList(Element(0.0), **lists), **lists))
    A = Tensor.from_buffers(format, (*pattern.shape, length), buffers)
    return asarray(pattern).like(), A, generator.random(length)
