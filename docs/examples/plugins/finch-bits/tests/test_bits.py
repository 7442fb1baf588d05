"""The level beside all others, and loops over words, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from finch_bits import Bits

from finch_core import FormatError, Tensor, _, gallop, kernel
from finch_core.testing import LevelSuite, backend_names, on
from finch_levels import Dense, Element, Pattern, Scalar, SparseList
from finch_wrappers import offset, reverse, stride, window

BACKENDS = pytest.mark.parametrize("backend", backend_names())
ROWS = Dense(Bits(Pattern()))


class TestBits(LevelSuite):
    format = Bits
    shares = (0.5, 0.2)


def count(s, a):
    s[...] = 0
    for i in _:
        s[()] += a[i]
    return s


def both(s, a, b):
    s[...] = 0
    for i in _:
        if a[i] and b[i]:
            s[()] += 1
    return s


def either(s, a, b):
    s[...] = 0
    for i in _:
        s[()] += a[i] | b[i]
    return s


def differ(s, a, b):
    s[...] = 0
    for i in _:
        s[()] += a[i] ^ b[i]
    return s


def added(s, a, b):
    s[...] = 0
    for i in _:
        s[()] += 2 * a[i] + b[i]
    return s


def absent(s, a, b):
    s[...] = 0
    for i in _:
        if not (a[i] or b[i]):
            s[()] += 1
    return s


def majority(s, a, b, c):
    s[...] = 0
    for i in _:
        if (a[i] and b[i]) or (a[i] and c[i]) or (b[i] and c[i]):
            s[()] += 1
    return s


def some(s, a, b):
    s[...] = 0
    for i in _:
        if a[i] and b[i]:
            s[()] = 1
            break
    return s


def first(s, a):
    s[...] = -1
    for i in _:
        if a[i]:
            s[()] = i
            break
    return s


def part(s, a, lo, hi):
    s[...] = 0
    for i in range(lo, hi):
        s[()] += a[i]
    return s


def up_to(s, a, n):
    s[...] = 0
    for i in range(n):
        s[()] += a[i]
    return s


def every_second(s, a, lo, hi):
    s[...] = 0
    for i in range(lo, hi, 2):
        s[()] += a[i]
    return s


def every_third(s, a, n):
    s[...] = 0
    for i in range(1, n, 3):
        s[()] += a[i]
    return s


def weighted(s, a, b, x):
    s[...] = 0
    for i in _:
        if a[i] and b[i]:
            s[()] += x[i]
    return s


def union_of_weights(s, a, b, x):
    s[...] = 0
    for i in _:
        if a[i] or b[i]:
            s[()] += x[i]
    return s


def alternating(s, a):
    s[...] = 1
    for i in _:
        if a[i]:
            s[()] = 3 - s[()] * 2
    return s


def oracle(name, A, B, x):
    return {
        "both": (A & B).sum(),
        "either": (A | B).sum(),
        "differ": (A ^ B).sum(),
        "added": (2 * A.astype(int) + B).sum(),
        "absent": (~(A | B)).sum(),
        "some": int((A & B).any()),
        "weighted": x[A & B].sum(),
        "union_of_weights": x[A | B].sum(),
    }[name]


def sets(n, seed):
    rng = np.random.default_rng(seed)
    return rng.random(n) < 0.4, rng.random(n) < 0.5, rng.integers(0, 9, n)


@BACKENDS
@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 300])
def test_loops_over_two_sets(backend, n):
    A, B, x = sets(n, n)
    a, b = Tensor(Bits(Pattern()), A), Tensor(Bits(Pattern()), B)
    assert on(backend, count)(Scalar(0), a).value == A.sum()
    for function in (both, either, differ, added, absent, some):
        expected = oracle(function.__name__, A, B, x)
        for pair in ((a, b), (a, B), (A, b), (a, Tensor(SparseList(Element(False)), B))):
            assert on(backend, function)(Scalar(0), *pair).value == expected
    for function in (weighted, union_of_weights):
        assert on(backend, function)(Scalar(0), a, b, x).value == oracle(function.__name__, A, B, x)
    firsts = np.flatnonzero(A)
    assert on(backend, first)(Scalar(-1), a).value == (firsts[0] if n and A.any() else -1)
    C = x > 4
    wanted = (A.astype(int) + B + C >= 2).sum()
    assert on(backend, majority)(Scalar(0), a, b, Tensor(Bits(Pattern()), C)).value == wanted
    s = 1
    for _k in range(A.sum()):
        s = 3 - s * 2
    if n < 60 or n == 63:
        assert on(backend, alternating)(Scalar(1), a).value == s


@BACKENDS
def test_parts_of_words(backend):
    A, B, _x = sets(300, 1)
    a, b = Tensor(Bits(Pattern()), A), Tensor(Bits(Pattern()), B)
    for lo, hi in ((0, 300), (3, 299), (64, 128), (63, 65), (70, 80), (5, 5), (9, 4), (300, 300)):
        assert on(backend, part)(Scalar(0), a, lo, hi).value == A[lo:hi].sum()
        if lo <= hi:
            views = window(a, (lo, hi)), window(b, (lo, hi))
            wanted = (A[lo:hi] & B[lo:hi]).sum()
            assert on(backend, both)(Scalar(0), *views).value == wanted
            assert on(backend, both)(Scalar(0), views[0], B[lo:hi].copy()).value == wanted
    assert on(backend, every_third)(Scalar(0), a, 300).value == A[1::3].sum()
    assert on(backend, both)(Scalar(0), offset(offset(a, -5), 5), b).value == (A & B).sum()
    assert on(backend, both)(Scalar(0), reverse(a), b).value == (A[::-1] & B).sum()
    assert on(backend, both)(Scalar(0), stride(a, 2), stride(b, 2)).value == (A & B)[::2].sum()
    other = window(a, (1, 200)), window(b, (7, 206))
    assert on(backend, both)(Scalar(0), *other).value == (A[1:200] & B[7:206]).sum()


@BACKENDS
def test_ranges_that_may_end_below_0(backend):
    A = sets(130, 2)[0]
    a = Tensor(Bits(Pattern()), A)
    for n in (-130, -64, -63, -1, 0, 1, 64, 130):
        assert on(backend, up_to)(Scalar(0), a, n).value == A[: max(n, 0)].sum()
    for lo, hi in ((-1, -1), (-64, -70), (3, -1), (2, 120)):
        assert on(backend, every_second)(Scalar(0), a, lo, hi).value == A[lo : max(hi, 0) : 2].sum()


def rows(y, A, B):
    y[...] = 0
    for i, j in _:
        y[i] += A[i, j] & B[i, j]
    return y


def rows_in_parallel(y, A, B):
    y[...] = 0
    for i in parallel(_):
        for j in _:
            y[i] += A[i, j] & B[i, j]
    return y


def triangles(s, A):
    s[...] = 0
    for i in _:
        for j in _:
            if A[i, j]:
                for k in _:
                    if A[i, k] and A[j, k]:
                        s[()] += 1
    return s


def below_the_diagonal(s, A):
    s[...] = 0
    for i, j in _:
        if j < i:
            s[()] += A[i, j]
    return s


def galloped(s, a, b):
    s[...] = 0
    for i in _:
        s[()] += a[i] * b[gallop(i)]
    return s


@BACKENDS
def test_matrices(backend):
    rng = np.random.default_rng(3)
    A, B = rng.random((7, 130)) < 0.4, rng.random((7, 130)) < 0.4
    a, b = Tensor(ROWS, A), Tensor(ROWS, B)
    for function in (rows, rows_in_parallel):
        assert (on(backend, function)(np.zeros(7, int), a, b) == (A & B).sum(1)).all()
    G = np.triu(rng.random((70, 70)) < 0.3, 1)
    G |= G.T
    wanted = np.trace(np.linalg.matrix_power(G.astype(int), 3))
    assert on(backend, triangles)(Scalar(0), Tensor(ROWS, G)).value == wanted
    assert on(backend, below_the_diagonal)(Scalar(0), Tensor(ROWS, G)).value == np.tril(G, -1).sum()
    values, listed = Tensor(Bits(Element(0.0)), B[0] * 2.5), Tensor(SparseList(Element(0.0)), A[0])
    found = on(backend, galloped)(Scalar(0.0), values, listed).value
    assert found == 2.5 * (A[0] & B[0]).sum()


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (both, "popcount(a0_words[k] & b0_words[k])"),
        (either, "popcount(b0_words[k] | a0_words[k])"),
    ],
)
def test_words_are_combined(function, told):
    A, B, _x = sets(300, 1)
    a, b = Tensor(Bits(Pattern()), A), Tensor(Bits(Pattern()), B)
    text = kernel(function).lower(Scalar(0), a, b).as_text("assembly")
    assert told in text
    assert "ctz" not in text


def test_one_word_is_walked_for_two_sets():
    A, B, x = sets(300, 1)
    a, b = Tensor(Bits(Pattern()), A), Tensor(Bits(Pattern()), B)
    text = kernel(weighted).lower(Scalar(0), a, b, x).as_text("assembly")
    assert "rest = a0_words[k] & b0_words[k]" in text


def test_bits_beyond_the_end_are_refused():
    words = np.array([1 << 63], np.uint64)
    with pytest.raises(FormatError, match="has bits beyond 63"):
        Tensor.from_buffers(Bits(Pattern()), (63,), {"0_words": words})
