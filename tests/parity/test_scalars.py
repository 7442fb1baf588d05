"""SparseScalar and ShortCircuitScalar: readers are specialised, loops end early; the interpreter, C
and the reference agree."""

import math

import numpy as np
import pytest

from finch_core import Tensor, _, choose, follow, gallop, kernel
from finch_core.testing import backend_names
from finch_levels import (
    Dense,
    Element,
    Pattern,
    RunList,
    Scalar,
    ShortCircuitScalar,
    SparseBand,
    SparseByteMap,
    SparseHash,
    SparseList,
    SparseScalar,
)

BACKENDS = backend_names()
COMPILED = BACKENDS[-1]
VECTORS = {
    "dense": Dense(Element(0)),
    "list": SparseList(Element(0)),
    "map": SparseByteMap(Element(0)),
    "hash": SparseHash(Element(0)),
}


def both(function):
    return {name: kernel(backend=name)(function) for name in BACKENDS}


def _product(p, A):
    p[...] = 1
    for i in _:
        p[()] *= A[i]
    return p


def _any(p, A, B):
    p[...] = False
    for i in _:
        p[()] = p[()] or (A[i] > B[i])
    return p


def _least(p, A):
    p[...] = 9
    for i in _:
        p[()] = min(p[()], A[i])
    return p


def _first(p, A, B):
    p[...] = 0
    for i in _:
        p[()] = choose(0)(p[()], A[i] * B[i])
    return p


def _first_and_sums(p, s, A, B, y):
    p[...] = 0
    s[...] = 0
    y[...] = 0
    for i in _:
        p[()] = choose(0)(p[()], A[i] * B[i])
        s[()] += B[i]
        y[i] = A[i] + B[i]
    return p, s, y


def _two(p, q, s, A, B):
    p[...] = 0
    q[...] = 0
    s[...] = 0
    for i in _:
        p[()] = choose(0)(p[()], A[i])
        q[()] = choose(0)(q[()], B[i])
        s[()] += A[i] + B[i]
    return p, q, s


def _upper(p, s, A):
    p[...] = 0
    s[...] = 0
    for i, j in _:
        if i <= j:
            p[()] = choose(0)(p[()], A[i, j])
        s[()] += A[i, j]
    return p, s


def _rows(y, z, A):
    p = ShortCircuitScalar(0)
    y[...] = 0
    z[...] = 0
    for i in _:
        p[...] = 0
        for j in _:
            p[()] = choose(0)(p[()], A[i, j])
            z[i] += A[i, j]
        y[i] = p[()]
    return y, z


def _many(p, s, A, B, C, D, E, F):
    p[...] = 0
    s[...] = 0
    for i in _:
        p[()] = choose(0)(p[()], A[i] + B[i] + C[i] + D[i] + E[i] + F[i])
        s[()] += A[i] * F[i]
    return p, s


PRODUCT, ANY, LEAST, FIRST = both(_product), both(_any), both(_least), both(_first)
SUMS, TWO, UPPER, ROWS, MANY = (
    both(_first_and_sums),
    both(_two),
    both(_upper),
    both(_rows),
    both(_many),
)


def vector(rng, n, density):
    return np.where(rng.random(n) < density, rng.integers(1, 9, n), 0)


def cases():
    rng = np.random.default_rng(2)
    for n in (0, 1, 7, 30):
        for density in (0.0, 0.1, 0.5, 1.0):
            yield tuple(vector(rng, n, density) for _ in range(6))


def same(found, expected):
    """Compare results of a kernel and of its reference."""
    if not isinstance(found, tuple):
        found, expected = (found,), (expected,)
    for mine, theirs in zip(found, expected, strict=True):
        assert np.array_equal(np.asarray(mine), np.asarray(theirs))


def agree(kernels, backend, *args):
    expected = kernels[backend].reference(*args)
    same(kernels[backend](*args), expected)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("other", VECTORS)
@pytest.mark.parametrize("level", VECTORS)
def test_a_settled_reduction_and_what_else_the_loop_does(level, other, backend):
    for a, b, *_rest in cases():
        A, B = Tensor(VECTORS[level], a), Tensor(VECTORS[other], b)
        agree(FIRST, backend, ShortCircuitScalar(0), A, B)
        agree(ANY, backend, ShortCircuitScalar(False), A, B)
        agree(SUMS, backend, ShortCircuitScalar(0), Scalar(0), A, B, Tensor(SparseList(Element(0))))
        agree(TWO, backend, ShortCircuitScalar(0), ShortCircuitScalar(0), Scalar(0), A, B)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("level", VECTORS)
def test_products_and_minima(level, backend):
    for a, *_rest in cases():
        A = Tensor(VECTORS[level], a)
        agree(PRODUCT, backend, ShortCircuitScalar(1), A)
        agree(LEAST, backend, ShortCircuitScalar(9, dtype=np.int64), A)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("level", [Dense, SparseList, SparseByteMap, SparseHash])
def test_nested_loops(level, backend):
    rng = np.random.default_rng(3)
    for shape in ((0, 4), (4, 0), (5, 8), (8, 5)):
        for density in (0.0, 0.2, 1.0):
            A = np.where(rng.random(shape) < density, rng.integers(1, 9, shape), 0)
            T = Tensor(Dense(level(Element(0))), A)
            agree(UPPER, backend, ShortCircuitScalar(0), Scalar(0), T)
            dense = Dense(Element(0))
            agree(ROWS, backend, Tensor(SparseList(Element(0))), Tensor(dense), T)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_merge_of_many_operands(backend):
    for vectors in cases():
        tensors = [Tensor(SparseList(Element(0)), v) for v in vectors]
        agree(MANY, backend, ShortCircuitScalar(0), Scalar(0), *tensors)


def test_a_loop_is_left_where_the_value_is_settled():
    A, B = Tensor(VECTORS["list"], np.arange(5)), Tensor(VECTORS["dense"], np.arange(5))
    plain = FIRST[COMPILED].lower(ShortCircuitScalar(0), A, B).as_text("assembly")
    assert plain.count("break") == 1
    assert plain.count("for ") == 1
    shared = UPPER[COMPILED].lower(
        ShortCircuitScalar(0), Scalar(0), Tensor(Dense(Dense(Element(0))))
    )
    assert "break" in shared.as_text("assembly")
    assert "break" not in FIRST[COMPILED].lower(Scalar(0), A, B).as_text("assembly")


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("backend", ["interpreter", COMPILED])
def test_a_product_of_floats_ends_at_zero(backend, dtype):
    """NaN that would come after it is not looked at, unless the kernel is strict."""
    data = np.array([2.0, 0.0, np.nan], dtype)
    A, run = Tensor(Dense(Element(dtype=dtype, fill=0)), data), PRODUCT[backend]
    assert "break" in run.lower(ShortCircuitScalar(1, dtype), A).as_text("assembly")
    assert run(ShortCircuitScalar(1, dtype), A).value == 0
    assert run(ShortCircuitScalar(1, dtype), Tensor(A.format, data[[0, 0]])).value == 4
    assert np.isnan(run(ShortCircuitScalar(1, dtype), Tensor(A.format, data[[2, 1]])).value)
    strict = kernel(backend=backend, strict=True)(run.__wrapped__)
    assert "break" not in strict.lower(ShortCircuitScalar(1, dtype), A).as_text("assembly")
    assert np.isnan(strict(ShortCircuitScalar(1, dtype), A).value)


FLOATS = Element(0.0)
ANY_FORM = [
    level(FLOATS) for level in (Dense, SparseList, SparseByteMap, SparseHash, RunList, SparseBand)
]


@pytest.mark.parametrize("form", ANY_FORM, ids=str)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_product_that_is_zero_stays_zero(backend, form):
    """Wherever the zero comes from, and in a loop that goes on for another statement, too."""

    def beside(p, s, A):
        p[...] = 1
        for i in _:
            p[()] *= A[i]
            s[()] += 1
        p[()] *= math.nan

    for data in ([2, 0, math.nan], [0, 0, math.inf], [2, math.nan, 0], [2, 3, 4]):
        A = Tensor(form, np.array(data))
        for function in (_product, beside):
            for strict in (False, True):
                settled = not strict and data[1] == 0
                plain = math.nan if function is beside else data[0] * data[1] * data[2]
                wanted = 0 if settled else plain
                run, p = kernel(backend=backend, strict=strict)(function), ShortCircuitScalar(1.0)
                args = (p, A) if function is _product else (p, Scalar(0), A)
                found = run.reference(*args)
                found = found if function is _product else found["p"]
                run(*args)
                np.testing.assert_equal((p.value, float(found)), (wanted, wanted))


def _pull(new, F, AT, V, P):
    p = ShortCircuitScalar(0)
    new[...] = False
    for k in _:
        if not V[k]:
            p[...] = 0
            for j in _:
                if F[j] and AT[k, j]:
                    p[()] = choose(0)(p[()], j)
            if p[()] != 0:
                new[k] |= True
                P[k] = p[()]
    return new


PULL = both(_pull)


@pytest.mark.parametrize("backend", BACKENDS)
def test_pull_step_of_a_search(backend):
    rng = np.random.default_rng(8)
    n = 25
    A, V, F = rng.random((n, n)) < 0.15, rng.random(n) < 0.3, rng.random(n) < 0.4
    P = np.zeros(n, np.int64)
    graph = Tensor(Dense(SparseList(Pattern())), np.ascontiguousarray(A.T))
    args = Tensor(SparseByteMap(Pattern())), F, graph, V, P
    assert PULL[COMPILED].lower(*args).as_text("assembly").count("break") == 1
    new = PULL[backend](*args)
    parents = [next((j for j in range(n) if j and F[j] and A[j, k]), 0) for k in range(n)]
    found = np.where(V, 0, parents)
    assert np.array_equal(new.to_numpy(), found != 0)
    assert np.array_equal(P, found)


# -- sparse scalars -----------------------------------------------------------------------------


def _scaled(y, A, x):
    s = SparseScalar(0.0)
    y[...] = 0
    for i in _:
        s[...] = 0
        for j in _:
            s[()] += A[i, j] * x[j]
        y[i] += s[()]
        for j in _:
            y[i] += s[()] * x[j]
        if s[()] > 3:
            y[i] += 1
    return y


def _shared(s, A, y, z):
    s[...] = 1
    for i in _:
        if A[i] > 2:
            s[()] += A[i]
    y[...] = 0
    for i in _:
        y[i] = s[()] * A[i] + z[i]
    return s, y


SCALED, SHARED = both(_scaled), both(_shared)


@pytest.mark.parametrize("backend", BACKENDS)
def test_readers_of_a_sparse_scalar(backend):
    rng = np.random.default_rng(4)
    for density in (0.0, 0.1, 0.6):
        A = np.where(rng.random((9, 7)) < density, rng.integers(1, 5, (9, 7)), 0.0)
        x = rng.integers(1, 5, 7).astype(float)
        out = Tensor(SparseList(Element(0.0)))
        agree(SCALED, backend, out, Tensor(Dense(SparseList(Element(0.0))), A), x)
        assert out.nstored == np.count_nonzero(A.any(1))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_sparse_scalar_with_another_fill(backend):
    for a in (np.zeros(5), np.array([1.0, 4, 0, 3, 2]), np.zeros(0)):
        z = np.arange(float(len(a)))
        y = Tensor(Dense(Element(0.0)))
        agree(SHARED, backend, SparseScalar(1.0), Tensor(Dense(Element(0.0)), a), y, z)
    s = SparseScalar(1.0)
    assert s.value == 1.0
    A = Tensor(Dense(Element(0.0)), [5.0])
    SHARED[backend](s, A, Tensor(Dense(Element(0.0))), np.ones(1))
    assert s.value == 6.0
    assert s.copy().value == 6.0


def test_a_reader_of_fill_is_not_run():
    """``y += 0 * x`` vanishes, loop and all."""
    A = Tensor(Dense(SparseList(Element(0.0))), np.eye(2))
    args = Tensor(SparseList(Element(0.0))), A, np.ones(2)
    assert SCALED[COMPILED].lower(*args).as_text("assembly").count("if s_dirty") == 3


def _along(p, A, B):
    p[...] = 0
    for i in _:
        p[()] = choose(0)(p[()], A[gallop(i)] * B[gallop(i)])
    return p


def _looked_up(p, s, A, B):
    p[...] = 0
    s[...] = 0
    for i in _:
        p[()] = choose(0)(p[()], A[gallop(i)] * B[gallop(i)])
        s[()] += A[gallop(i)] * B[gallop(i)] + A[gallop(i)] * B[follow(i)]
    return p, s


ALONG, LOOKED_UP = both(_along), both(_looked_up)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("level", ["list", "map", "hash"])
def test_galloping(level, backend):
    for a, b, *_rest in cases():
        A, B = Tensor(VECTORS[level], a), Tensor(VECTORS["list"], b)
        agree(ALONG, backend, ShortCircuitScalar(0), A, B)
        agree(LOOKED_UP, backend, ShortCircuitScalar(0), Scalar(0), A, B)
