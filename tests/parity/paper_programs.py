"""Programs of the paper and on its themes, with what they mean on NumPy arrays."""

from __future__ import annotations

import numpy as np

from finch_core import Tensor, _, coalesce, follow, gallop, minby, walk
from finch_levels import Element, Scalar, SparseByteMap

# -- images and signals -------------------------------------------------------------------------


def convolution(C, A, F, n, pad):
    C[...] = 0
    for i in range(0, n):
        for k in _:
            C[i] += coalesce(A[~(i + k - pad)], 0) * F[k]
    return C


def convolved(A, F, n, pad):
    wide = np.concatenate([np.zeros(pad), A, np.zeros(len(F))])
    return np.array([(wide[i : i + len(F)] * F).sum() for i in range(n)], float)


def masked_convolution(C, A, F):
    """Only where the input is stored, as submanifold networks have it."""
    C[...] = 0
    for i, j, k, h in _:
        if A[i, j] != 0:
            C[i, j] += coalesce(A[~(i + k - 1), ~(j + h - 1)], 0) * F[k, h]
    return C


def mask_convolved(A, F):
    m, n = A.shape
    wide = np.pad(A, ((1, F.shape[0]), (1, F.shape[1])))
    found = np.zeros_like(A)
    for k, h in np.ndindex(F.shape):
        found += wide[k : k + m, h : h + n] * F[k, h]
    return np.where(A != 0, found, 0)


def concatenation(C, A, B, n, total):
    C[...] = 0
    for i in range(0, total):
        C[i] = coalesce(A[~i], B[~(i - n)], 0)
    return C


def stencil(y, x):
    y[...] = 0
    for i in _:
        y[i] = coalesce(x[~(i - 1)], 1) + 10 * x[i] + 100 * coalesce(x[~(i + 1)], x[i])
    return y


def stencilled(x):
    wide = np.concatenate([[1], x, x[-1:]])
    return wide[: len(x)] + 10 * x + 100 * wide[2 : len(x) + 2]


def masked_histogram(H, A, M):
    H[...] = 0
    for i, j in _:
        if M[i, j]:
            H[A[i, j]] += 1
    return H


def blending(C, A, B, alpha):
    C[...] = 0
    for i, j in _:
        C[i, j] = np.uint8(round(A[i, j] * (alpha / 8) + B[i, j] * (1 - alpha / 8)))
    return C


# -- graphs -------------------------------------------------------------------------------------


def triangles_by_walking(s, A):
    s[...] = 0
    for i, j, k in _:
        if i < j and j < k:
            s[()] += A[i, j] * A[j, walk(k)] * A[i, walk(k)]
    return s


def triangles_by_galloping(s, A):
    s[...] = 0
    for i, j, k in _:
        if i < j and j < k:
            s[()] += A[i, j] * A[j, gallop(k)] * A[i, gallop(k)]
    return s


def triangles_by_following(s, A):
    s[...] = 0
    for i, j, k in _:
        if i < j and j < k:
            s[()] += A[i, j] * A[j, walk(k)] * A[i, follow(k)]
    return s


def triangles(A):
    return np.trace(A @ A @ A) / 6


def simple_graph(A):
    """Undirected, without loops, of zeros and ones."""
    upper = np.triu(A != 0, 1)
    return (upper | upper.T).astype(A.dtype)


def relaxation(D, A, k):
    """One step of Floyd and Warshall's: paths that go through ``k``, too."""
    D[...] = np.inf
    for i, j in _:
        D[i, j] = min(A[i, j], A[i, k] + A[k, j])
    return D


# -- linear algebra -----------------------------------------------------------------------------


def symmetric_spmv(y, A, d, x):
    """``A`` has the part above the diagonal, ``d`` the diagonal."""
    y[...] = 0
    for i in _:
        t = x[i]
        y[i] += d[i] * t
        for j in _:
            if i < j:
                y[i] += A[i, j] * x[j]
                y[j] += A[i, j] * t
    return y


def kronecker(K, A, B, p, q):
    for i, j, k, h in _:
        K[i * p + k, j * q + h] += A[i, j] * B[k, h]
    return K


def blocked_kronecker(K, A, B):
    K[...] = 0
    for i, k, j, h in _:
        K[i, k, j, h] = A[i, j] * B[k, h]
    return K


def outer_product(C, x, y):
    C[...] = 0
    for i, j in _:
        C[i, j] = x[i] * y[j]
    return C


def mttkrp(C, X, A, B):
    C[...] = 0
    for i, k, h, j in _:
        C[i, j] += X[i, k, h] * A[k, j] * B[h, j]
    return C


def ttm(C, X, A):
    C[...] = 0
    for i, j, h, k in _:
        C[i, j, k] += X[i, j, h] * A[k, h]
    return C


def sddmm(C, S, A, B):
    C[...] = 0
    for i, j, k in _:
        C[i, j] += S[i, j] * A[i, k] * B[j, k]
    return C


def masked_product(C, M, A, B):
    t = Scalar(0.0)
    C[...] = 0
    for i, j in _:
        if M[i, j]:
            t[...] = 0
            for k in _:
                t[()] += A[i, k] * B[j, k]
            C[i, j] = t[()]
    return C


def product_by_rows(C, A, B):
    """Gustavson's, with a workspace."""
    w = Tensor(SparseByteMap(Element(0.0)))
    C[...] = 0
    for i in _:
        w[...] = 0
        for k, j in _:
            w[j] += A[i, k] * B[k, j]
        for j in _:
            C[i, j] = w[j]
    return C


# -- reductions ---------------------------------------------------------------------------------


def statistics(total, squares, least, most, count, x):
    total[...] = 0
    squares[...] = 0
    least[...] = np.inf
    most[...] = -np.inf
    count[...] = 0
    for i in _:
        t = x[i]
        total[()] += t
        squares[()] += t * t
        least[()] = min(least[()], t)
        most[()] = max(most[()], t)
        if t != 0:
            count[()] += 1
    return total, squares, least, most, count


def described(x):
    extremes = x.min(initial=np.inf), x.max(initial=-np.inf)
    return x.sum(), (x * x).sum(), *extremes, np.count_nonzero(x)


def argmin(m, x):
    m[...] = (np.inf, -1)
    for i in _:
        m[()] = minby(m[()], (x[i], i))
    return m


def least_of_rows(m, A):
    m[...] = (np.inf, -1)
    for i, j in _:
        m[i] = minby(m[i], (A[i, j], j))
    return m


BY = (np.inf, -1)
PAIR = np.dtype([("f0", float), ("f1", np.int64)])


def leasts(A):
    found = np.zeros(A.shape[:-1], PAIR)
    for index in np.ndindex(found.shape):
        row = A[index]
        found[index] = (row.min(), row.argmin()) if row.size and row.min() < np.inf else BY
    return found


def accumulation(y, s, a, b, n):
    """The first phase is read, and the second goes on where it ended."""
    y[...] = 0
    s[...] = 0
    for i in range(0, n):
        y[i] += a[i]
    for i in _:
        s[()] += y[i]
    for i in _:
        y[i] += b[i]
    return y, s


def appending(y, s, a, b, n, total):
    y[...] = 0
    s[...] = 0
    for i in range(0, n):
        y[~i] += a[i]
    for i in _:
        s[()] += y[i]
    for i in range(n, total):
        y[~i] += b[i]
    return y, s
