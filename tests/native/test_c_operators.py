"""How the C backend spells operators; one that it cannot compute is refused by its name."""

from __future__ import annotations

import numpy as np
import pytest
from c_support import QUICK

from finch_backend_c import ctree as c
from finch_backend_c.operators import Value, operate
from finch_core import _, kernel
from finch_core.errors import BackendError
from finch_core.ir import primitives as prim
from finch_core.ir.assembly import Let
from finch_core.ir.builder import Builder, Names
from finch_core.ir.dtypes import FLOAT64, INTP, SUPPORTED
from finch_core.ir.expressions import Buffer, Cast, Load, Var, call, lift
from finch_core.ir.operators import Operator, by_ufunc, register, unregister
from finch_core.ir.typing import typed
from finch_core.testing import on
from finch_core.testing.run_block import run_block


def test_an_operator_without_a_function_is_refused() -> None:
    op = register(Operator("logaddexp", np.logaddexp, by_ufunc(np.logaddexp)))
    try:
        operands = tuple(Value(c.Name(name), FLOAT64) for name in "ab")
        with pytest.raises(BackendError) as caught:
            operate("logaddexp", operands, FLOAT64)
    finally:
        unregister(op)
    assert str(caught.value) == (
        "the C backend has no operator 'logaddexp' on float64\n"
        "  hint: give its entry the name of a function of the C library (library=...), or write "
        "a helper in finch_backend_c/helpers.py"
    )


def divided(q, r, x):
    for i in _:
        q[i] = x[i] // 8
        r[i] = x[i] % 8


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_what_is_not_negative_is_widened_as_it_is(dtype: type) -> None:
    b = Builder(Names(["n", "out", "crd"]), constants=(Var("n", INTP),))
    count, out = Var("n", INTP), Buffer("out", np.dtype(np.int64), True)
    crd = Buffer("crd", np.dtype(dtype), nonnegative=True)
    one, other = (Cast(Load(crd, lift(k)), INTP) for k in range(2))
    held = b.let("held", Load(crd, lift(0)))
    values = [
        call(prim.neg, one), one - other, other - one, one * other, call(prim.invert, one),
        one + count, one.min(count), other.max(count), (one > count).cast(INTP),
        call(prim.floordiv, count, one + 1), call(prim.mod, count, one + 1),
        call(prim.ifelse, one < count, one, count), call(prim.lshift, one, lift(2)),
        (count < other).cast(INTP), Load(out, one.min(1)), call(prim.neg, Cast(held, INTP)),
        held.cast(INTP) - one,
    ]  # fmt: skip
    for k, value in enumerate(values):
        b.store(out, 2 + k, value)
    block = typed(b.finish())
    last = np.iinfo(dtype).max if dtype != np.int64 else 2**31
    for pair in ([0, 1], [5, 3], [last, 2], [1, last], [last, last]):
        for n in (-7, 0, 4):
            given = {count: n, out: np.arange(2 + len(values)), crd: np.array(pair, dtype)}
            expected = run_block(block, given)[1]["out"]
            found = run_block(block, given, backend=QUICK)[1]["out"]
            np.testing.assert_array_equal(found, expected)


def test_a_name_that_also_holds_a_negative_number_is_widened_with_its_sign() -> None:
    flag, out = Var("flag", INTP), Buffer("out", np.dtype(np.int64), True)
    crd, other = Buffer("crd", np.dtype(np.int32), nonnegative=True), Buffer("raw", np.dtype("i4"))
    b = Builder(Names(["flag", "out", "crd", "raw"]), constants=(flag,))
    with b.if_(flag > 0):
        held = b.let("held", Load(crd, lift(0)))
        b.store(out, 0, Cast(held, INTP))
    with b.else_():
        b.emit(Let(held, Load(other, lift(0))))
        b.store(out, 0, Cast(held, INTP))
    block = typed(b.finish())
    raw = {crd: np.array([7], np.int32), other: np.array([-7], np.int32)}
    for sign, expected in ((1, 7), (0, -7)):
        found = run_block(block, {flag: sign, out: np.zeros(1, int), **raw}, backend=QUICK)
        assert found[1]["out"].tolist() == [expected]


def test_a_loop_for_vectors_is_not_peeled() -> None:
    n, low = Var("n", INTP), Var("low", INTP)
    idx, out = Buffer("idx", np.dtype(np.int64)), Buffer("out", FLOAT64, True)
    places = [Buffer(f"x{k}", FLOAT64) for k in range(12)]
    b = Builder(Names(["n", "low", "idx", "out"]), constants=(n, low))
    b.grow(out, n)
    with b.for_("i", low, n) as i, b.if_(Load(places[0], Load(idx, i)) > 0.0):
        b.store(out, i, sum((Load(x, i) for x in places[1:]), start=Load(places[0], i)))
    block = typed(b.finish())
    values = {x: np.arange(5.0) + k for k, x in enumerate(places)}
    given = {n: 5, low: 1, idx: np.array([0, 1, 0, 3, 4]), out: np.zeros(5), **values}
    expected, found = (
        run_block(block, dict(given), backend=each)[1]["out"] for each in (None, QUICK)
    )
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", [t for t in SUPPORTED if t.kind in "iu"], ids=str)
def test_division_by_a_power_of_two_is_a_shift_and_a_mask(dtype: np.dtype) -> None:
    info = np.iinfo(dtype)
    values = [info.min, info.min + 1, -9, -8, -7, -1, 0, 1, 7, 8, 9, info.max]
    x = np.array([v for v in values if v >= info.min], dtype)
    q, r = np.zeros_like(x), np.zeros_like(x)
    run = on("c", divided)
    run(q, r, x)
    assert q.tolist() == (x // 8).tolist()
    assert r.tolist() == (x % 8).tolist()
    text = run.lower(q, r, x).as_text("source")
    assert ">> 3" in text
    assert "& 7" in text
    assert "floordiv" not in text


def test_division_by_other_constants_rounds_down() -> None:
    value = Value(c.Name("a"), INTP)
    six = Value(c.Number("6"), INTP)
    assert operate("floordiv", (value, six), INTP).node == c.Call(
        "floordiv_i64", (value.node, six.node)
    )


def raised(y, x):
    for i in _:
        y[0, i] = (x[i] + 1) ** 2
        y[1, i] = (x[i] + 1) ** 3
        y[2, i] = (x[i] + 1) ** 4


@pytest.mark.parametrize("dtype", [t for t in SUPPORTED if t.kind in "iuf"], ids=str)
def test_a_small_constant_power_is_multiplied(dtype: np.dtype) -> None:
    x = np.arange(9).astype(dtype)
    y = np.zeros((3, 9), dtype)
    program = on("c", raised)
    program(y, x)
    assert np.array_equal(y, [(x + dtype.type(1)) ** power for power in (2, 3, 4)])
    assert "pow" not in program.lower(y, x).as_text("source")


def whole(y, x):
    for i in _:
        y[i] = int(x[i])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("drafts", ["0", "1"])
def test_whole_numbers_are_never_minus_zero(monkeypatch, dtype, drafts):
    """Whatever the C compiler makes of a cast to an integer and back."""
    monkeypatch.setenv("FINCH_DRAFTS", drafts)
    run = kernel(whole, backend="c")
    x, wanted = np.tile([-0.5, -0.0, -3.7], 50).astype(dtype), np.tile([0.0, 0.0, -3.0], 50)
    for count in (1, 7, 150):  # in vectors and beside them
        y = np.ones(count)
        run(y, x[:count])
        assert y.tobytes() == wanted[:count].tobytes()
