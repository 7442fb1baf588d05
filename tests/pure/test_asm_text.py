"""The text of assembly."""

import numpy as np
import pytest

from finch_core.ir import primitives as prim
from finch_core.ir.assembly import Argument, Kernel, Record, Slot
from finch_core.ir.assembly_text import block_text, expr_text, kernel_text
from finch_core.ir.builder import Builder, Names
from finch_core.ir.dtypes import FLOAT64, INTP, tuple_dtype
from finch_core.ir.expressions import (
    Buffer,
    Call,
    Cast,
    Index,
    Length,
    Literal,
    Load,
    Overlaps,
    Var,
    lift,
)
from finch_core.testing.run_block import SITES

A, B, C, T = (Var(name, INTP) for name in "abct")
X, Y = Buffer("x", FLOAT64, True), Buffer("y", INTP)
F = Var("f", FLOAT64)
PAIR = Var("p", tuple_dtype((FLOAT64, INTP)))


def neg(x):
    return Call(prim.neg, (x,))


def power(x, y):
    return Call(prim.power, (x, y))


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        ((A + B) * C, "(a + b) * c"),
        (A + B * C, "a + b * c"),
        (A - (B - C), "a - (b - c)"),
        (A - B - C, "a - b - c"),
        (A + (B + C), "a + (b + c)"),
        ((A < B).eq(C < A), "(a < b) == (c < a)"),
        ((A < B).and_(B < C).or_(A.eq(C)), "a < b and b < c or a == c"),
        ((A < B).and_((B < C).or_(A.eq(C))), "a < b and (b < c or a == c)"),
        ((A < B).not_().and_(B < C), "not a < b and b < c"),
        (((A < B).and_(B < C)).not_(), "not (a < b and b < c)"),
        (neg(A + B), "-(a + b)"),
        (neg(neg(A)), "--a"),
        (power(neg(A), B), "(-a) ** b"),
        (neg(power(A, B)), "-a ** b"),
        (power(power(A, B), C), "(a ** b) ** c"),
        (power(A, power(B, C)), "a ** b ** c"),
        (power(Literal(-2, int), A), "(-2) ** a"),
        (A << 1 | B & 3, "a << 1 | b & 3"),
        (Load(X, A + 1), "x[a + 1]"),
        (Cast(A, np.dtype(np.float32)), "float32(a)"),
        (Literal(np.float32(1.5), np.dtype(np.float32)), "float32(1.5)"),
        (Literal(np.inf, float), "inf"),
        (Length(X), "length(x)"),
        (Overlaps(X, Y), "overlaps(x, y)"),
        (A.min(B), "min(a, b)"),
        (Call(prim.field(1), (PAIR,)), "p.f1"),
        (Call(prim.make_tuple, (F, A)), "(f, a)"),
        (Call(prim.ifelse, (A < B, A, B)), "ifelse(a < b, a, b)"),
        (Index("i") + 1, "i + 1"),
    ],
)
def test_expressions_have_the_parentheses_they_need(expr, text):
    assert expr_text(expr) == text


def test_statements():
    b = Builder(Names("abctfxyp"))
    s = b.var("s", 0.0)
    b.let("q", Load(Y, A))
    b.assign(s, s + F)
    b.assign(s, Literal(2.0, float))
    b.store(X, A, Load(X, A) * F)
    b.store(X, A, F)
    with b.for_("i", 0, A, lanes=((s, prim.add),)) as i, b.while_(i < B):
        b.comment("done")
        b.break_()
    with b.if_(A < 1):
        b.grow(X, A)
    with b.else_(), b.if_(A < 2):
        b.fill(X, 0, A, 1.0)
        b.move(X, 0, X, 1, A)
    with b.if_(A < 3):
        b.sort(Y, 0, A)
    with b.else_():
        b.fail(1, A, lift(2))
    assert (
        block_text(b.finish())
        == """\
mut s: float64 = 0.0
q: int64 = y[a]
s += f
s = 2.0
x[a] *= f
x[a] = f
for i in range(0, a):  # lanes: add s
    while i < b:
        # done
        break
if a < 1:
    grow(x, a)
elif a < 2:
    fill(x, 0, a, 1.0)
    move(x, 0, x, 1, a)
if a < 3:
    sort(y, 0, a)
else:
    fail(1, a, 2)
"""
    )


def test_a_kernel():
    b = Builder(Names())
    function = b.function("twice", (A, Y), INTP, lambda fb, a, y: fb.ret(Load(y, a)))
    b.store(X, b.invoke(function, A, Y), 1.0)
    slots = (Slot(X, 1, True), Slot(F, 3, True))
    params = (Argument(A), Record("r", slots), Record("w", (Slot(Y, 0),), local=True))
    kernel = Kernel("k", params, b.functions, b.finish(), SITES)
    text = """\
function twice(a: int64, y: int64[]) -> int64:
    return y[a]

kernel k(a: int64, r: record, w: local record):
    x: float64[] = r[1]  # written, growable
    f: float64 = r[3]  # written
    y: int64[] = w[0]
    x[twice(a, y)] = 1.0
site 0: OutOfMemory: out of memory
site 1: OutOfBounds: {0}
"""
    assert kernel_text(kernel) == kernel.as_text() == text
    assert T.name == "t"
