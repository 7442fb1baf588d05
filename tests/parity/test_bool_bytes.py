"""Bools whose bytes are neither 0 nor 1, as in ``bytes.view(bool)``: any byte but 0 is true, on
every backend, in every format, and wherever a bool may stand."""

import numpy as np
import pytest

from finch_core import Tensor, _, kernel
from finch_core.ir.dtypes import tuple_dtype
from finch_core.plugins import hub
from finch_core.testing.formats import admit, nest
from finch_levels import Dense, Element, Scalar, SparseByteMap, SparseList

BYTES = np.array([0, 2, 1, 0, 255, 128, 0, 1, 64, 0, 0, 3] * 8, np.uint8)


def everywhere(h, y, z, s, t, c, a, b, x):
    """Bools as index, bound, mask, condition and operand, and in reductions."""
    s[...] = 0
    t[...] = True
    c[...] = 0
    z[...] = False
    for i in _:
        h[a[i] * 1] += 1
        h[a[i] + b[i] + 2 if a[i] == b[i] else 4] += 1
        y[i] = x[i] * a[i] if b[i] else a[i] - 2.0
        z[i] = (a[i] & b[i]) ^ (a[i] | ~b[i])
        s[()] += a[i]
        t[()] &= b[i]
    for i in _:
        if a[i]:
            c[()] += x[i]
        for _k in range(b[i]):
            c[()] += 1
    return h, y, z, s, t, c


def arguments(a, b):
    n = len(a)
    dense = Dense(Element(False))
    return (np.zeros(5, np.int64), np.zeros(n), Tensor(dense, (n,)), Scalar(0), Scalar(True),
            Scalar(0.0), a, b, np.arange(n) + 0.5)  # fmt: skip


def plain(results):
    return [np.asarray(r.to_numpy() if isinstance(r, Tensor) else r).tolist() for r in results]


@pytest.mark.parametrize("backend", ["interpreter", "c"])
def test_arrays(backend):
    a, b = BYTES.view(bool), np.roll(BYTES, 5).view(bool)
    clean = arguments(BYTES != 0, np.roll(BYTES, 5) != 0)
    wanted = plain(everywhere_plainly(*clean))
    asked = kernel(backend=backend)(everywhere)
    assert plain(asked(*arguments(a, b))) == wanted
    assert plain(asked.reference(*arguments(a, b))) == wanted
    assert (a.view(np.uint8) == BYTES).all()


def everywhere_plainly(h, y, z, s, t, c, a, b, x):
    """What ``everywhere`` means, of arrays whose bytes are 0 and 1."""
    every = (a | b) + 2
    np.add.at(h, a.astype(int), 1)
    np.add.at(h, np.where(a == b, every, 4), 1)
    return (h, np.where(b, x * a, a - 2.0), (a & b) ^ (a | ~b), a.sum(), b.all(),
            x[a].sum() + b.sum())  # fmt: skip


def seen(h, z, s, a):
    for i in _:
        h[a[i] * 1] += 1
        z[i] = ~a[i]
        if a[i]:
            s[()] += 1


def levels(backend):
    if backend == "c":
        return [Dense, SparseList, SparseByteMap]
    return [level for _, level in sorted(hub().levels.items()) if not level.is_leaf]


@pytest.mark.parametrize("backend", ["interpreter", "c"])
def test_every_format(backend):
    asked = kernel(backend=backend)(seen)
    for level in levels(backend):
        format = nest([level], Element(False))
        clean = admit(format, BYTES[:24] != 0)
        made = Tensor(format, clean)
        buffers = dict(made.buffers)
        (values,) = (name for name in buffers if name.endswith("val"))
        odd = buffers[values].copy()
        odd.view(np.uint8)[odd] = np.resize([2, 255, 1], odd.sum())
        tensor = Tensor.from_buffers(format, made.shape, buffers | {values: odd})
        h, z, s = np.zeros(2, np.int64), np.zeros(24, bool), Scalar(0)
        asked(h, z, s, tensor)
        assert h.tolist() == [(~clean).sum(), clean.sum()], format
        assert z.view(np.uint8).tolist() == (~clean).tolist(), format
        assert int(s) == clean.sum(), format


@pytest.mark.parametrize("backend", ["interpreter", "c"])
def test_tuples_and_scalars(backend):
    def found(n, s, p, flag):
        for i in _:
            keep, weight = p[i]
            n[keep * 1] += weight
            if flag[()]:
                s[()] += keep

    pair = tuple_dtype((np.dtype(bool), np.dtype(np.float64)))
    pairs = np.zeros(12, pair)
    pairs["f1"], pairs["f0"].view(np.uint8)[:] = np.arange(12), BYTES[:12]
    flag, n, s = np.array(4, np.uint8).view(bool), np.zeros(2), Scalar(0)
    kernel(backend=backend)(found)(n, s, pairs, flag)
    kept = BYTES[:12] != 0
    assert n.tolist() == [np.arange(12)[~kept].sum(), np.arange(12)[kept].sum()]
    assert int(s) == kept.sum()
