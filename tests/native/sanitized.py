"""Run as a program under the sanitizers: the test programs over the formats of the spine.

``python sanitized.py formats`` has every level format instead, as a vector and below a list:
written, read, merged and converted. ``python sanitized.py broken`` runs a kernel on a tensor whose
indices lie, which must be caught.
"""

import itertools
import os
import sys
import zlib

import numpy as np

from finch_core import Tensor, _, kernel
from finch_core.errors import OutOfBounds
from finch_core.plugins import hub
from finch_core.testing.formats import admit, level_names
from finch_levels import Dense, Element, Scalar, SparseList

LEAF = Element(0.0)
VECTORS = {"dense": Dense(LEAF), "list": SparseList(LEAF)}
NARROW = SparseList(LEAF, index=np.int32, pointer=np.int32)
MATRICES = (Dense(Dense(LEAF)), Dense(NARROW), SparseList(SparseList(LEAF)))


@kernel
def dot(s, x, y):
    s[...] = 0
    for i in _:
        s[()] += x[i] * y[i]
    return s


@kernel
def add(z, x, y):
    z[...] = 0
    for i in _:
        z[i] = x[i] + y[i]
    return z


@kernel
def mul(z, x, y):
    z[...] = 0
    for i in _:
        z[i] = x[i] * y[i]
    return z


@kernel
def spmv(y, A, x):
    y[...] = 0
    for i, j in _:
        y[i] += A[i, j] * x[j]
    return y


@kernel
def tri(s, A):
    s[...] = 0
    for i, j in _:
        if i <= j:
            s[()] += A[i, j]
    return s


@kernel
def gather(y, x, at):
    for i in _:
        y[i] = x[at[i]]
    return y


def some(rng, *shape):
    return rng.integers(1, 9, shape) * (rng.random(shape) < 0.4).astype(float)


def same(found, wanted):
    np.testing.assert_allclose(np.asarray(found), wanted)


def vectors(rng, n):
    u, v = some(rng, n), some(rng, n)
    for f, g in itertools.product(VECTORS.values(), repeat=2):
        x, y = Tensor(f, u), Tensor(g, v)
        same(dot(Scalar(0.0), x, y).value, u @ v)
        for h in VECTORS.values():
            same(add(Tensor(h), x, y), u + v)
            same(mul(Tensor(h), x, y), u * v)


def matrices(rng, m, n):
    A, u = some(rng, m, n), some(rng, n)
    for f in MATRICES:
        T = Tensor(f, A)
        same(tri(Scalar(0.0), T).value, np.triu(A).sum())
        for g in VECTORS.values():
            same(spmv(Tensor(VECTORS["dense"]), T, Tensor(g, u)), A @ u)
        for h in MATRICES:
            same(T.to(h), A)
    same(spmv(Tensor(VECTORS["list"]), Tensor(MATRICES[1], A), u), A @ u)


def gathers(rng):
    x, at = some(rng, 5), np.array([0, 4, 2])
    same(gather(np.zeros(3), x, at), x[at])
    for bad in (-1, 5, 2**40):
        try:
            gather(np.zeros(3), x, np.array([0, bad, 2]))
        except OutOfBounds:
            continue
        raise AssertionError("a gather out of bounds went through")


def drawn(name, *trees):
    """One of the trees, the same one each time; all of them with ``FINCH_TESTS_SHARE=1``."""
    every = os.environ.get("FINCH_TESTS_SHARE") == "1"
    return trees if every else trees[zlib.crc32(name.encode()) % len(trees) :][:1]


def formats(rng):
    """Each format alone and below another; merged with a list; through a workspace; and back."""
    for name in level_names():
        level = hub().level(name)
        for n in (0, 1, 9):
            one = level(LEAF)
            u, v = admit(one, some(rng, n)), some(rng, n)
            x, y = Tensor(one, u), Tensor(VECTORS["list"], v)
            same(x, u)
            same(dot(Scalar(0.0), x, y).value, u @ v)
            for out in VECTORS.values():
                same(add(Tensor(out), x, y), u + v)
                same(mul(Tensor(out), x, y), u * v)
            same(add(Tensor(one), x, x), u + u)
            for tree in drawn(name, SparseList(one), Dense(one), level(VECTORS["list"])):
                A = admit(tree, some(rng, 4, n))
                T = Tensor(tree, A)
                same(T, A)
                same(T.to(tree), A)
                same(T.to(MATRICES[1]), A)
                same(spmv(Tensor(VECTORS["dense"]), T, v), A @ v)


def broken():
    T = Tensor(VECTORS["list"], [0.0, 1.0, 2.0])
    T.buffers["0_idx"][1] = 1000
    dot(Scalar(0.0), T, np.ones(3))


if __name__ == "__main__":
    if "broken" in sys.argv:
        broken()
    elif "formats" in sys.argv:
        formats(np.random.default_rng(6))
    else:
        rng = np.random.default_rng(5)
        for n in (0, 1, 13):
            vectors(rng, n)
        for shape in ((0, 3), (1, 1), (4, 0), (5, 7)):
            matrices(rng, *shape)
        gathers(rng)
    print("clean")
