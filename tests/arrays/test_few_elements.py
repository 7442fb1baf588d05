"""Few elements are computed by NumPy, with the bits, stored elements and formats of kernels."""

from __future__ import annotations

import itertools
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from array_support import computed_by_kernels

import finch_array as fa
from finch_array import maps, operands, pointwise, run, vectorised
from finch_core import Tensor
from finch_core.ir import primitives as prim
from finch_core.ir.expressions import Call, Cast, Literal, Var
from finch_core.runtime import worth
from finch_core.runtime.kernel import Kernel
from finch_levels import (
    Dense,
    Element,
    RunList,
    SparseByteMap,
    SparseCOO,
    SparseHash,
    SparseList,
)
from finch_wrappers import protocolize, stride, swizzle, window

DTYPES = ("f8", "f8", "f4", "i8", "i4", "u1", "i1", "u8", "?", "c16", "f2")
SIZES = (0, 1, 2, 3, 5)
NUMBERS: list[Any] = [2, 0, 1.5, -1, True, np.float32(0.1), np.uint8(200), 2 - 1j]
UNARY = (
    fa.negative, fa.abs, fa.isnan, fa.floor, fa.sqrt, fa.square, fa.logical_not, fa.conj, fa.real,
    fa.sign, fa.bitwise_invert, fa.exp, lambda x: x + 1, lambda x: x * 2.5, lambda x: x > 1,
    lambda x: 3 - x, lambda x: x != 0, lambda x: fa.clip(x, 0, 2), lambda x: x.astype("f4"),
    lambda x: x // 2, lambda x: x % 3, lambda x: 2**x, lambda x: x & 3,
)  # fmt: skip
BINARY = (
    fa.add, fa.add, fa.subtract, fa.multiply, fa.divide, fa.maximum, fa.minimum, fa.equal, fa.less,
    fa.greater_equal, fa.not_equal, fa.logical_and, fa.logical_or, fa.logical_xor, fa.bitwise_and,
    fa.bitwise_or, fa.floor_divide, fa.remainder, fa.copysign, fa.bitwise_left_shift, fa.hypot,
    fa.elementwise_of(lambda x, y: x * y + 2 * x if x > y else x - y),
)  # fmt: skip
REDUCTIONS = (
    fa.sum, fa.prod, fa.max, fa.min, fa.any, fa.all, fa.mean, fa.var, fa.count_nonzero, np.nansum,
    np.nanmax,
)  # fmt: skip


def values(rng: np.random.Generator, shape: Any, dtype: Any, fill: Any) -> Any:
    kind = np.dtype(dtype).kind
    if kind == "f":
        special = [0.0, -0.0, 1, 2.5, -3, np.nan, np.inf, -np.inf, 1e-3, 0.1, 0.3, 7]
        found = rng.choice(special, shape)
    else:
        found = rng.integers(0 if kind in "ub" else -5, 2 if kind == "b" else 6, shape)
    if kind == "c":
        found = found + 1j * rng.integers(-2, 3, shape)
    stored = rng.random(shape) < rng.choice([0, 0.3, 0.7, 1])
    return np.where(stored, found.astype(dtype), fill).astype(dtype)


def in_lists(rng: np.random.Generator, shape: Any, dtype: Any, fill: Any) -> Tensor:
    """Random values in dense levels around lists, or in coordinates."""
    ndim, format = len(shape), Element(fill)
    dense = rng.integers(0, ndim)
    index = rng.choice([np.int64, np.int32])
    points = ndim > 1 and rng.random() < 0.3
    for k in reversed(range(ndim)):
        if points:
            format = SparseCOO(format, index=index)
        else:
            format = Dense(format) if k < dense else SparseList(format, index=index, pointer=index)
    return Tensor(format, values(rng, shape, dtype, fill))


def operand(rng: np.random.Generator, shape: tuple[int, ...], sizes: Any = SIZES) -> Any:
    """A number, a dense array, lists, or a view of lists, of dimensions that broadcast."""
    draw = rng.random()
    if draw < 0.1:
        return NUMBERS[rng.integers(len(NUMBERS))]
    dtype = np.dtype(DTYPES[rng.integers(len(DTYPES))])
    fill = dtype.type(rng.choice([0, 0, 0, 1, 2, np.nan if dtype.kind in "fc" else 1]))
    if draw < 0.2:
        return fa.asarray(values(rng, shape, dtype, fill))
    if draw < 0.3:
        shape = tuple(1 if rng.random() < 0.4 else n for n in shape)
        if rng.random() < 0.5:
            return fa.asarray(values(rng, shape, dtype, fill))
    elif draw < 0.4:
        whole = in_lists(rng, tuple(2 * n + 1 for n in shape), dtype, fill)
        if rng.random() < 0.2:
            whole = fa.asarray(whole.to_numpy())
        if rng.random() < 0.5:
            return protocolize(
                window(whole, *[(1, n + 1) for n in shape]), *["walk" for _ in shape]
            )
        ends = (slice(1, None, 2), slice(0, -1, 2))
        back = [slice(2 * n - 1, None, -2) if n else slice(0, 0, -2) for n in shape]
        return stride(whole, *[(*ends, b)[rng.integers(3)] for b in back])
    elif draw < 0.5:
        perm = tuple(rng.permutation(len(shape)).tolist())
        stored = tuple(shape[p] for p in perm)
        return swizzle(in_lists(rng, stored, dtype, fill), perm)
    return in_lists(rng, shape, dtype, fill)


def expression(rng: np.random.Generator, sizes: Any) -> tuple[Any, list[Any]]:
    """A function of arrays, and operands of which one is an array."""
    shape = tuple(rng.choice(sizes, rng.integers(1, 4)).tolist())
    draw, axes = rng.random(), tuple(np.flatnonzero(rng.random(len(shape)) < 0.5).tolist())
    count = 1
    if draw < 0.2:
        function: Any = UNARY[rng.integers(len(UNARY))]
    elif draw < 0.55:
        function, count = BINARY[rng.integers(len(BINARY))], 2
    elif draw < 0.65:
        function, count = fa.where, 3
    elif draw < 0.9:
        of = REDUCTIONS[rng.integers(len(REDUCTIONS))]
        function = lambda x: of(x, axis=axes or None)  # noqa: E731
    elif draw < 0.95:
        return product(rng, sizes)
    else:
        key = tuple([slice(None, None, int(s)) if s else n // 2 for s, n in zip(
            rng.choice([1, 2, -1, 0], len(shape)), shape, strict=True)])  # fmt: skip
        function = lambda x: x[key]  # noqa: E731
    operands = [operand(rng, shape) for _ in range(count)]
    operands[rng.integers(count)] = in_lists(rng, shape, np.dtype("f8"), np.float64(0)) if (
        all(not hasattr(x, "shape") or not x.shape for x in operands)
    ) else operands[0]  # fmt: skip
    return function, operands


SUBSCRIPTS = (
    "ij,jk->ik", "ij,jk->ik", "ij,kj->ik", "ij,ik->jk", "ijk,jk->ik", "ij,ik->ijk", "ij,j->ij",
    "ij,j->i", "ij,i->j", "ij,ij->j", "ij,jk,ik->ik", "ij,kl->ijkl", "ijk,kl,jl->il", "ij,jk,k->i",
)  # fmt: skip
REDUCED = (
    "C[i,k] min= A[i,j] + B[j,k]", "C[i,k] max= A[i,j] * B[j,k]",
    "C[i,k] |= (A[i,j] > 0) & (B[j,k] > 0)",
    "C[j] += A[i,j] * B[j,i]", "C[i,j] = A[i,j] * B[j,i]", "C[j,i] += A[i,j] * (B[j,i] + A[i,j])",
)  # fmt: skip


def product(rng: np.random.Generator, sizes: Any) -> tuple[Any, list[Any]]:
    """A product of arrays, some of them sparse, with fills that annihilate or not."""
    dtype = np.dtype(rng.choice(["f8", "f8", "f4", "i8", "u1", "c16"]))
    fill = dtype.type(rng.choice([0, 0, 0, 1]))
    length = dict(zip("ijkl", rng.choice(sizes, 4).tolist(), strict=True))

    def array(names: str) -> Any:
        shape = tuple(length[i] for i in names)
        if rng.random() < 0.2:
            return fa.asarray(values(rng, shape, dtype, fill))
        return in_lists(rng, shape, dtype, fill)

    if rng.random() < 0.6:
        text = SUBSCRIPTS[rng.integers(len(SUBSCRIPTS))]
        operands = [array(names) for names in text.partition("->")[0].split(",")]
        return lambda *x: fa.einsum(text, *x), operands
    text = REDUCED[rng.integers(len(REDUCED))]
    pair = [array("ij"), array("jk" if "k" in text else "ji")]
    return lambda a, b: fa.einsum(text, A=a, B=b), pair


def outcome(function: Any, operands: Any, by_kernels: bool) -> Any:
    """The error that a call raises, or the result's format, order of dimensions and arrays."""
    with computed_by_kernels(by_kernels), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = function(*operands)
        except (TypeError, ValueError, IndexError, OverflowError) as error:
            return type(error), str(error)
    perms = []
    while getattr(found, "permutes", False):
        perms.append(found.perm)
        found = found.tensor
    if not isinstance(found, Tensor):
        return type(found), [np.asarray(found)]
    return (found.format, found.shape, perms), list(found.arrays_in_use())


def check_same(few: Any, kernels: Any) -> None:
    assert few[0] == kernels[0]
    if isinstance(few[1], str):
        assert few[1] == kernels[1]
        return
    for one, other in itertools.zip_longest(few[1], kernels[1]):
        np.testing.assert_array_equal(one, other, strict=True)
        if one.dtype.kind == "f":  # zeros of both signs
            there = one == one
            assert np.array_equal(np.signbit(one[there]), np.signbit(other[there]))


@pytest.fixture
def counted(monkeypatch):
    """How many results NumPy computed."""
    counts = [0]
    pointwise_call, computed = pointwise.Pointwise.__call__, maps.Map._is_computed

    def call(self, *args):
        found = pointwise_call(self, *args)
        counts[0] += found is not None
        return found

    def is_computed(self, *args):
        found = computed(self, *args)
        counts[0] += found
        return found

    monkeypatch.setattr(pointwise.Pointwise, "__call__", call)
    monkeypatch.setattr(maps.Map, "_is_computed", is_computed)
    return counts


@pytest.mark.parametrize("seed", range(24))
def test_the_bits_are_those_of_kernels(seed, counted, monkeypatch):
    monkeypatch.setenv("FINCH_BACKEND", "interpreter")
    rng = np.random.default_rng(seed)
    for _ in range(8):
        function, operands = expression(rng, SIZES)
        few = outcome(function, operands, False)
        check_same(few, outcome(function, operands, True))
    assert counted[0]


@pytest.mark.parametrize("seed", range(4))
def test_the_bits_are_those_of_kernels_in_c(seed, counted):
    """Rows are so long that kernels use vectors."""
    rng = np.random.default_rng(100 + seed)
    for _ in range(6):
        function, operands = expression(rng, (1, 9, 40))
        few = outcome(function, operands, False)
        check_same(few, outcome(function, operands, True))
    assert counted[0]


# -- when ------------------------------------------------------------------------------------------


@pytest.fixture
def compiled(monkeypatch):
    """The names of kernels that are specialised."""
    names: list[str] = []
    specialize = Kernel._specialization

    def specialized(self, *args, **options):
        names.append(self.program.name)
        return specialize(self, *args, **options)

    monkeypatch.setattr(Kernel, "_specialization", specialized)
    return names


FIRST: dict[str, Any] = {
    "sum": lambda A, B, x: A + B, "product": lambda A, B, x: A * B,
    "choice": lambda A, B, x: fa.where(A, B, A), "dense sum": lambda A, B, x: A + np.ones(A.shape),
    "number": lambda A, B, x: 2 * A - 1, "test": lambda A, B, x: A > 0.5,
    "column": lambda A, B, x: A[:, 3], "steps": lambda A, B, x: A[::2, ::-1],
    "differences": lambda A, B, x: fa.diff(A), "rows times": lambda A, B, x: A * x,
    "dense": lambda A, B, x: x + 2 * x, "mean": lambda A, B, x: fa.mean(A, axis=0),
}  # fmt: skip


@pytest.mark.parametrize("name", FIRST)
def test_first_calls_compile_no_kernel(name, compiled, counted):
    run._forget()
    for function in (fa.multiply, fa.subtract, fa.greater):
        function._maps.clear()
    A, B = (Tensor(Dense(SparseList(Element(0.0))), np.eye(12, 15, k)) for k in range(2))
    with computed_by_kernels(False):
        FIRST[name](A, B, fa.asarray(np.arange(15.0)))
    assert counted[0]
    assert not compiled


def test_kernels_are_compiled_when_calls_took_so_many_elements(monkeypatch, compiled):
    fill = np.float64(0.0722)
    format = SparseList(Element(fill))
    A = Tensor(format, np.where(np.arange(40) % 3, fill, 1.0))
    monkeypatch.setattr(worth, "WORTH_OF_VALUES", 3 * (worth.CALL + 2 * 14))
    results = []
    for call in range(5):
        assert bool(compiled) == (call > 3)
        results.append((A + A).to_numpy())
    assert np.array_equal(results, [results[0]] * 5)
    compiled.clear()
    monkeypatch.setattr(worth, "WORTH_OF_VALUES", 2 * (worth.CALL + 14))
    for call in range(4):
        assert bool(compiled) == (call > 2)
        assert np.array_equal((A * 3.25).to_numpy(), A.to_numpy() * 3.25)


def test_slices_count_what_is_looked_at(monkeypatch, compiled):
    """All that an array stores is read for a slice of it, which may have little: rows of large
    matrices took milliseconds each."""
    fill = np.float64(0.0733)
    A = Tensor(SparseList(Element(fill)), np.where(np.arange(40) % 3, fill, 1.0))
    monkeypatch.setattr(worth, "WORTH_OF_VALUES", worth.CALL + 14)
    part = A[2:5]
    assert not compiled
    monkeypatch.setattr(worth, "WORTH_OF_VALUES", worth.CALL + 13)
    assert np.array_equal(A[::2].to_numpy(), A.to_numpy()[::2])
    assert compiled
    assert np.array_equal(part.to_numpy(), A.to_numpy()[2:5])


def test_dense_results_have_what_is_the_fill_of_others(monkeypatch):
    """A value that equals the fill of the result is written over what is there without it."""
    monkeypatch.setenv("FINCH_BACKEND", "interpreter")
    A = Tensor(SparseList(Element(0.0)), np.array([1.0, 0.0, 2.0, 0.0]))
    D = np.array([5.0, 6.0, 0.0, 8.0])
    function = fa.elementwise_of(lambda a, d: 0.0 if a != 0 else d)
    for by_kernels in (False, True):
        with computed_by_kernels(by_kernels):
            assert function(A, D).to_numpy().tolist() == [0, 6, 0, 8]
            assert fa.where(A != 0, 0.0, D).to_numpy().tolist() == [0, 6, 0, 8]


def test_threads_share_plans(compiled):
    A = Tensor(SparseList(Element(723)), np.where(np.arange(40) % 3, 723, 1))
    with computed_by_kernels(False), ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda k: (A + A * k).to_numpy(), range(60)))
    for k, array in enumerate(found):
        assert np.array_equal(array, A.to_numpy() * (1 + k))


def of_exact_memory(array):
    return Tensor(array.format, array.to_numpy())


def test_formats_depend_on_what_is_stored_and_not_on_memory():
    """Results of kernels have more memory than they need, and more after larger ones."""
    rng = np.random.default_rng(180)
    rows, lists = Dense(SparseList(Element(0.0))), SparseList(SparseList(Element(0.0)))
    dense = rng.random((300, 250))
    found = []
    for by_kernels in (False, True):
        A, large = (fa.asarray(dense * (dense < x), format=rows) for x in (0.026, 0.5))
        B = fa.asarray(dense * (dense > 0.95), format=lists)
        with computed_by_kernels(by_kernels):
            for array in (A, large, A):
                S = array[:200]
                if array is A:
                    product = S.T @ S
                    found.append((product.format, product.nnz))
                    product = (B + B) @ (B[:120] + B[:120]).T
                    found.append((type(product), getattr(product, "format", None)))
    assert found == found[:2] * 4


def test_entries_are_counted_in_any_format():
    x = np.where(np.arange(48).reshape(6, 8) % 5 == 0, 2.0, 0.0)
    for outer, inner in (
        (Dense, SparseList), (SparseList, SparseList), (SparseCOO, SparseCOO), (Dense, Dense),
        (SparseHash, SparseByteMap), (Dense, RunList),
    ):  # fmt: skip
        A = fa.asarray(x, format=outer(inner(Element(0.0))))
        exact = operands.entries(A)
        for array in (A, of_exact_memory(A), A.copy()):
            assert operands.entries(array) == exact
        assert operands.entries(window(A, (1, 3), None)) == exact
    assert operands.entries(fa.asarray(x, format=SparseList(SparseList(Element(0.0))))) == 10
    assert operands.entries(fa.asarray(x)) == 48


def test_results_share_no_memory(compiled):
    """Nor are they read-only, where the operands are."""
    data = np.array([1.0, 2, 3])
    data.setflags(write=False)
    A = Tensor(SparseList(Element(0.0)), np.array([1.0, 0.0, 2.0]))
    D = fa.asarray(data.copy())
    with computed_by_kernels(False):
        for found in (fa.asarray(A[::1]), A + A, A * D, D + D, fa.positive(A), A * 1):
            before = A.to_numpy().copy()
            for array in found.arrays_in_use():
                assert array.flags.writeable
                array.fill(1)
            assert np.array_equal(A.to_numpy(), before)
            assert np.array_equal(D.to_numpy(), data)
    assert not compiled


def test_integers_beyond_64_bits_are_refused_as_by_kernels():
    A = Tensor(SparseList(Element(0)), np.array([1, 0, 2]))
    for by_kernels in (False, True):
        with computed_by_kernels(by_kernels), pytest.raises(OverflowError):
            fa.elementwise_of(lambda x, n: x if n > 0 else 0)(A, 2**70)


# -- expressions -----------------------------------------------------------------------------------

X, N, Z, H = (Var("x", np.dtype(d)) for d in ("f8", "i4", "c16", "f2"))
INT, BYTE, FLOAT = np.dtype(np.int64), np.dtype(np.int8), np.dtype(float)


@pytest.mark.parametrize(
    "expr",
    [
        Call(prim.mul, (Z, Z)), Call(prim.add, (H, H)), Cast(X, INT), Cast(Z, FLOAT),
        Call(prim.power, (N, Literal(2, int))),
        Call(prim.operator("exp"), (X,)), Call(prim.sign, (X,)), Call(prim.mod, (X, X)),
    ],
    ids=str,
)  # fmt: skip
def test_what_numpy_may_compute_otherwise_is_left_to_kernels(expr):
    assert vectorised.function_of(expr, expr.dtype) is None


@pytest.mark.parametrize(
    ("expr", "dtype", "wanted"),
    [
        (Call(prim.add, (N, Literal(1, int))), np.int32, [-(2**31), 4]),
        (Cast(N, BYTE), np.int8, [-1, 3]),
        (Cast(Call(prim.truediv, (N, Literal(np.inf, float))), np.dtype(bool)), bool, [0, 0]),
        (Call(prim.truediv, (N, Literal(2, int))), float, [(2**31 - 1) / 2, 1.5]),
        (Call(prim.ifelse, (N.ne(3), Literal(1, int), N)), np.int64, [1, 3]),
    ],
    ids=str,
)
def test_expressions_are_evaluated_in_their_dtypes(expr, dtype, wanted):
    found = vectorised.function_of(expr, np.dtype(dtype))({"x": np.array([2**31 - 1, 3], "i4")})
    np.testing.assert_array_equal(found, np.array(wanted, dtype), strict=True)
