"""The reference interpreter beyond the suite of backends: its checks, its text, its quick ways."""

import itertools
import time

import numpy as np
import pytest

from finch_core.interface.abi import DONE, MOVED
from finch_core.ir import primitives as prim
from finch_core.ir.builder import Builder, Names
from finch_core.ir.dtypes import SUPPORTED
from finch_core.ir.expressions import Buffer, Cast, Length, Load, Var, lift
from finch_core.ir.typing import typed
from finch_core.operators import operator
from finch_core.reference.closures import (
    _FLOAT,
    _INT64,
    AssemblyFault,
    operator_code,
    plain,
    scalar,
)
from finch_core.reference.interpreter import Interpreter, backend
from finch_core.testing.run_block import kernel_of, run_block

INT, F64, BOOL = np.dtype(np.int64), np.dtype(np.float64), np.dtype(bool)
X, Y = Buffer("x", F64, True), Buffer("y", F64, True)
P = Buffer("p", INT)
N, S = Var("n", INT), Var("s", F64)


@pytest.fixture
def b():
    return Builder(Names("xyps"), constants=(N,))


def at(buffer, index):
    return Load(buffer, lift(index))


def run(b, values, functions=(), backend=None):
    return run_block(typed(b.finish()), values, functions, backend)


def test_it_is_the_backend_called_interpreter():
    assert backend().name == "interpreter"
    assert backend().available() == ""
    assert backend().load("key", 1) is None


def test_a_sum_of_products(b):
    with b.for_("i", 0, N) as i:
        b.assign(S, S + Load(X, i) * Load(Y, i))
    status, after = run(b, {N: 3, S: 1.0, X: [1, 2, 3], Y: [4, 5, 6]})
    assert status == DONE
    assert after["s"] == 33.0


def test_break_leaves_the_innermost_loop(b):
    with b.for_("i", 0, N) as i, b.while_(lift(True)):
        with b.if_(i.eq(1)):
            b.store(P, i, 7)
            b.break_()
        with b.else_():
            b.store(P, i, i)
            b.break_()
    assert run(b, {N: 3, P: [9, 9, 9]})[1]["p"].tolist() == [0, 7, 2]


@pytest.mark.parametrize("index", [-1, 3, 2**62])
def test_a_load_or_store_out_of_bounds_is_a_fault(b, index):
    b.store(X, 0, Load(X, N))
    with pytest.raises(AssemblyFault, match=r"x\[n\]: .* outside of 3 elements"):
        run(b, {N: index, X: [1, 2, 3]})
    b = Builder(Names())
    b.store(X, N, 1.0)
    with pytest.raises(AssemblyFault, match=r"x\[n\] = 1.0"):
        run(b, {N: index, X: [1, 2, 3]})


def test_an_element_that_is_said_not_to_be_negative_is_checked(b):
    b.store(X, 0, Load(Buffer("p", INT, nonnegative=True), N))
    assert run(b, {N: 1, P: [-1, 3], X: [0.0]})[1]["x"].tolist() == [3.0]
    with pytest.raises(AssemblyFault, match=r"p\[n\] is -1, and said not to be negative"):
        run(b, {N: 0, P: [-1, 3], X: [0.0]})


@pytest.mark.parametrize("emit", ["fill", "sort", "move"])
def test_ranges_are_checked(b, emit):
    args = {"fill": (P, 1, N, 5), "sort": (P, 1, N), "move": (P, 1, P, 0, N - 1)}[emit]
    getattr(b, emit)(*args)
    block = typed(b.finish())
    expected = {"fill": [9, 5, 5], "sort": [9, 7, 8], "move": [9, 9, 8]}[emit]
    assert run_block(block, {N: 3, P: [9, 8, 7]})[1]["p"].tolist() == expected
    assert run_block(block, {N: 0, P: [9, 8, 7]})[1]["p"].tolist() == [9, 8, 7]
    with pytest.raises(AssemblyFault, match=f"{emit}.* outside of 3 elements"):
        run_block(block, {N: 4, P: [9, 8, 7]})


def test_growing_keeps_contents_doubles_and_poisons(b):
    b.grow(X, N)
    b.assign(S, Cast(Length(X), F64))
    status, after = run(b, {N: 4, S: 0.0, X: [1, 2, 3]})
    assert status == MOVED
    assert after["s"] == len(after["x"]) == 6
    assert after["x"][:3].tolist() == [1, 2, 3]
    assert after["x"][3:].tobytes() == b"\xa5" * 24


@pytest.mark.parametrize("dtype", SUPPORTED, ids=str)
def test_scalars_and_buffers_of_every_dtype(b, dtype):
    v, buffer = Var("v", dtype), Buffer("buf", dtype)
    b.store(buffer, 1, v)
    b.assign(v, at(buffer, 0))
    _, after = run(b, {v: 1, buffer: np.array([0, 0], dtype)})
    assert after["buf"].tolist() == [0, 1]
    assert after["v"] == 0


EDGES = [-(2**63), -(2**62) * 2 + 1, -7, -2, -1, 0, 1, 2, 3, 63, 2**63 - 1]


@pytest.mark.parametrize("op", _INT64, ids=str)
def test_quick_int64_means_what_the_operator_says(op):
    arity = 1 if op in (prim.neg, prim.invert) else 2
    for args in itertools.product(EDGES, repeat=arity):
        expected = plain(op.evaluate(*map(np.int64, args)), op.result(*[INT] * arity))
        assert operator_code(op, (INT,) * arity)(*args) == expected, args


@pytest.mark.parametrize("op", _FLOAT, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_quick_floats_mean_what_the_operator_says(op, dtype):
    dtype = np.dtype(dtype)
    values = [dtype.type(v) for v in (0.0, -0.0, 0.1, -3.7, 1e30, np.inf, -np.inf, np.nan)]
    with np.errstate(all="ignore"):
        for args in itertools.product(values, repeat=2):
            got, want = operator_code(op, (dtype, dtype))(*args), op.evaluate(*args)
            assert got.tobytes() == want.tobytes()
            assert got.dtype == dtype


@pytest.mark.parametrize("name", ["truediv", "lshift", "popcount", "ctz", "sign", "abs"])
def test_other_operators_are_evaluated_as_they_are(name):
    op = operator(name)
    arity = 2 if name in ("truediv", "lshift") else 1
    dtypes = (F64, F64) if name == "truediv" else (INT,) * arity
    args = [t.type(5) for t in dtypes]
    got = operator_code(op, dtypes)(*(plain(a, a.dtype) for a in args))
    want = op.evaluate(*args)
    assert scalar(got, op.result(*dtypes)) == want


@pytest.mark.parametrize(
    ("value", "source", "target", "expected"),
    [
        (2**63 - 1, INT, "int8", -1),
        (2**63, np.dtype(np.uint64), "int64", -(2**63)),
        (-1, INT, "uint64", 2**64 - 1),
        (3.9, F64, "int64", 3),
        (5, INT, "bool", True),
        (True, BOOL, "int64", 1),
        (2, INT, "complex64", 2),
    ],
)
def test_casts_are_those_of_c(b, value, source, target, expected):
    buffer, v = Buffer("buf", np.dtype(target)), Var("v", source)
    b.store(buffer, 0, Cast(v, np.dtype(target)))
    got = run(b, {v: value, buffer: [0]})[1]["buf"][0]
    assert got == expected


def test_what_nobody_adopts_goes_with_the_next_call(b):
    b.grow(X, Length(X) + 1)
    kernel = kernel_of(typed(b.finish()), {X: []})
    compiled = Interpreter().compile(kernel)
    first, second = np.zeros(2, np.uint64), np.zeros(2, np.uint64)
    assert compiled(0, first.ctypes.data) == MOVED
    kept = np.frombuffer(compiled.adopt(int(first[0]), 8), F64)
    assert kept.tobytes() == b"\xa5" * 8
    compiled(0, first.ctypes.data)
    lost = int(first[0])
    assert compiled(0, second.ctypes.data) == MOVED
    if lost != int(second[0]):
        with pytest.raises(KeyError, match="allocated nothing"):
            compiled.adopt(lost, 8)
    assert kept.tobytes() == b"\xa5" * 8


def test_a_million_operations_take_seconds_at_most(b):
    total = b.var("total", 0)
    with b.for_("i", 0, 250_000) as i:
        b.assign(total, total + (i % 7) * 3)
    b.store(P, 0, total)
    start = time.perf_counter()
    assert run(b, {P: [0]})[1]["p"][0] == sum(i % 7 * 3 for i in range(250_000))
    assert time.perf_counter() - start < 5
