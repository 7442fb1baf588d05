"""Workspaces that take after tensors, and those filled with values that are computed: C, the
interpreter, the reference and Python, which runs the undecorated function over arrays, agree."""

from __future__ import annotations

import numpy as np
import pytest

from finch_core import Tensor, kernel, parallel, set_threads
from finch_core.errors import FormatError, KernelSyntaxError
from finch_core.testing import backend_names
from finch_levels import Dense, Element, Scalar, SparseList
from finch_wrappers import swizzle

BACKENDS = backend_names()
outside = np.arange(3, dtype=np.float32)
step = 2.5


def likes(y, x, B):
    w = np.zeros_like(x)
    u = np.ones_like(B)
    v = np.empty_like(prototype=x, dtype=np.int32)
    f = np.full_like(x, 7)
    g = np.full_like(w, x[1])
    for i in range(len(x)):
        v[i] = i
        w[i] += x[i] + v[i] + f[i] + g[i] + u[i, 0]
        y[i] = w[i]


def shapes(y, x, B):
    w = np.zeros(x.shape)
    u = np.ones(B.shape, dtype=x.dtype)
    t = np.full(B.shape, x[2] * 2)
    q = np.zeros(u.shape, dtype=t.dtype)
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            q[i, j] = u[i, j] + t[i, j] + B[i, j]
            w[i] += q[i, j]
    for i in range(len(y)):
        y[i] = w[i]


def copies(y, x, B):
    w = x.copy()
    C = B.copy()
    D = np.copy(C)
    for i in range(len(x)):
        w[i] += 1
        C[i, 0] += w[i]
        y[i] = w[i] + x[i] + C[i, 0] + D[i, 0]


def fulls(y, x, B):
    n, s = len(x), 0.0
    for i in range(n):
        s += x[i]
    w = np.full(n, s)
    a = np.full((n, 2), s / 2, dtype=np.int32)
    b, c = np.full(n, n), np.full(n, np.inf)
    d = np.full(n, -1)
    e = np.full(n, s > 1)
    f = np.full(n, step * x[1], dtype=outside.dtype)
    for i in range(n):
        y[i] = w[i] + a[i, 1] + b[i] / 2 + (c[i] > 5) + d[i] + e[i] + f[i]


def without_values(y, x, B):
    w = np.full_like(x, np.nan, dtype=np.float64)
    c, d = np.copy(w), np.full(x.shape, np.nan)
    for i in range(len(x)):
        y[i] = (c[i] != c[i]) + (d[i] != w[i])


def in_loops(y, x, B):
    for i in range(len(x)):
        w = np.full_like(x, i)
        u = x.copy()
        u[i] += w[0]
        if x[i] > 0:
            v = np.full((2, 2), x[i])
            y[i] += v[0, 1]
        y[i] += u[i] + u[0]


def returned(y, x, B):
    w = np.zeros_like(B)
    w[1, 1] = x[1]
    return w


def returned_copy(y, x, B):
    return x.copy()


def from_outside(y, x, B):
    w = np.zeros_like(outside)
    c = outside.copy()
    w[0] += c[2]
    y[0] = w[0]
    return c


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("level", [None, Dense, SparseList])
@pytest.mark.parametrize(
    "program",
    [likes, shapes, copies, fulls, without_values, in_loops, returned, returned_copy, from_outside],
    ids=lambda program: program.__name__,
)
def test_made_like(backend, dtype, level, program):
    x, B = np.array([0, 1.5, 3, 0.5]).astype(dtype), np.arange(12).reshape(4, 3).astype(dtype)
    y, wanted = np.zeros(4), np.zeros(4)
    result = program(wanted, x, B)
    given = x, B
    if level is not None:
        leaf = Element(dtype(0))
        given = Tensor(level(leaf), x), Tensor(Dense(level(leaf)), B)
    compiled = kernel(backend=backend)(program)
    found, referred = compiled(y, *given), compiled.reference(np.zeros(4), *given)
    np.testing.assert_array_equal(y, wanted)
    if result is None:
        np.testing.assert_array_equal(referred["y"], wanted)
        return
    assert found.dtype == result.dtype
    np.testing.assert_array_equal(found.to_numpy(), result)
    np.testing.assert_array_equal(referred, result)


@kernel
def summed(y, x):
    w = np.zeros_like(x)
    c = x.copy()
    t = np.full(len(x), x[0])
    for i in range(len(x)):
        w[i] += c[i] + t[i]
        y[i] += w[i]


@kernel
def twice(y, x):
    summed(y, x)
    c = y.copy()
    summed(y, c)


def test_kernels_in_kernels_make_their_own():
    y, wanted, x = np.ones(3), np.ones(3), np.arange(3, dtype=np.float32)
    twice(y, x)
    summed.__wrapped__(wanted, x)
    summed.__wrapped__(wanted, wanted.copy())
    assert y.tolist() == wanted.tolist()


@pytest.mark.parametrize("backend", BACKENDS)
def test_each_turn_of_a_parallel_loop_makes_its_own(backend):
    @kernel(backend=backend)
    def rows(y, A, x):
        for i in parallel(range(len(y))):
            w, c, v = np.full(A.shape[1], x[i]), x.copy(), np.zeros_like(x)
            for j in range(A.shape[1]):
                w[j] += A[i, j] + c[j]
                v[j] = w[j]
            for j in range(A.shape[1]):
                y[i] += v[j]

    A, x, y = np.arange(100.0).reshape(10, 10), np.arange(10.0), np.zeros(10)
    before = set_threads(3)
    try:
        rows(y, A, x)
    finally:
        set_threads(before)
    assert y.tolist() == (A + x + x[:, None]).sum(1).tolist()


@pytest.mark.parametrize("backend", BACKENDS)
def test_dates_truths_and_single_numbers(backend):
    @kernel(backend=backend)
    def later(y, x):
        w, c = np.zeros_like(x), x.copy()
        for i in range(len(x)):
            if c[i] > w[i]:
                y[i] = c[i]

    x = np.array(["2020-01-01", "1960-01-01"], "M8[s]")
    y = np.zeros_like(x)
    later(y, x)
    assert y.tolist() == [x[0].item(), np.datetime64(0, "s").item()]

    @kernel(backend=backend)
    def truths(y, x):
        w, v, q = np.ones_like(x), np.full_like(x, y[0]), np.full(x.shape, x[1])
        y[0] = 0.0 + w[0] + v[0] + q[0]

    y, wanted, x = np.array([3.0]), np.array([3.0]), np.array([False, True])
    truths(y, x)
    truths.__wrapped__(wanted, x)
    assert y.tolist() == wanted.tolist() == [3.0]

    @kernel(backend=backend)
    def single(y, x):
        w, u, c = np.zeros_like(y), np.zeros(y.shape), y.copy()
        w[()] = x[0]
        u[()] += w[()] + 1
        y[()] = u[()] + c[()]

    y, s = np.array(5.0), Scalar(5.0)
    single(y, np.ones(2))
    single(s, np.ones(2))
    assert y == s.value == 7


@pytest.mark.filterwarnings("error")
def test_copies_follow_the_order_of_storage():
    @kernel
    def copied(C, A):
        D, E = A.copy(), np.full_like(A, A[0, 1])
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                C[i, j] = D[i, j] + E[i, j]

    A = np.arange(12.0).reshape(4, 3) % 5
    for turned in (swizzle(Tensor(Dense(SparseList(Element(0.0))), A), (1, 0)), A.T):
        C = np.zeros((3, 4))
        copied(C, turned)
        assert C.tolist() == (A.T + A.T[0, 1]).tolist()


def test_a_program_shows_what_it_makes():
    @kernel
    def shown(y, x, n):
        c, w = x.copy(), np.zeros_like(y, dtype=x.dtype)
        v = np.full((n, 2), y[0])
        u = np.ones_like(y)
        y[0] = c[0] + w[0] + v[0, 0] + u[0]

    text = shown.program.as_text()
    assert "c = x.copy()" in text
    assert "w = np.full_like(y, 0, dtype=x.dtype)" in text
    assert "v = np.full((n, 2), v_fill)" in text
    assert "u = np.full_like(y, 1)" in text
    lowered = shown.lower(np.zeros(1), np.ones(1), 2)
    assert "u = Tensor(Dense(" in lowered.as_text("program")


def test_numbers_have_no_shape():
    @kernel
    def like(y, n):
        w = np.zeros_like(n)
        y[0] = w[0]

    @kernel
    def typed(y, n):
        w = np.zeros(3, dtype=n.dtype)
        y[0] = w[0]

    with pytest.raises(KernelSyntaxError, match="n is a number, and has no shape to take"):
        like(np.zeros(1), 3)
    with pytest.raises(KernelSyntaxError, match="n is a number, and has no dtype to take"):
        typed(np.zeros(1), 3)
    assert like(np.zeros(1), np.zeros(2)) is None


def test_a_dtype_that_does_not_hold_the_value():
    @kernel
    def wide(y, x):
        w = np.full_like(x, 300)
        y[0] = w[0]

    wide(np.zeros(1), np.zeros(2, np.int16))
    with pytest.raises(FormatError, match="300 out of bounds for int8") as error:
        wide(np.zeros(1), np.zeros(2, np.int8))
    assert error.value.span is not None
