"""Illegal assembly is refused, with the statement at fault."""

import numpy as np
import pytest

from finch_core.ir import primitives as prim
from finch_core.ir.assembly import (
    Argument,
    Assign,
    Block,
    Break,
    Fail,
    Fill,
    For,
    Function,
    Grow,
    If,
    Kernel,
    Let,
    Move,
    Record,
    Return,
    Slot,
    Sort,
    Store,
    While,
)
from finch_core.ir.dtypes import BOOL, FLOAT64, INTP
from finch_core.ir.expressions import (
    TRUE,
    Access,
    Buffer,
    Call,
    Index,
    Invoke,
    Literal,
    Load,
    Modified,
    Name,
    Var,
)
from finch_core.ir.verify import IllegalAssembly, check
from finch_core.operators import Operator, by_promotion
from finch_core.testing.run_block import SITES

F32 = np.dtype(np.float32)
N, S, Q = Var("n", INTP), Var("s", FLOAT64), Var("q", INTP)
X, P = Buffer("x", FLOAT64, True), Buffer("p", INTP)
R = Buffer("r", FLOAT64, True)
ZERO, HALF = Literal(np.int64(0), INTP), Literal(np.float64(0.5), FLOAT64)
SLOTS = (Slot(X, 0, True), Slot(P, 2, True), Slot(R, 4), Slot(S, 6, True))
SILLY = Operator("silly_test", lambda a: a, by_promotion, definition=lambda a: a)


def kernel(*statements, functions=()):
    params = (Argument(N), Record("t", SLOTS))
    return Kernel("k", params, functions, Block(statements), SITES)


def test_legal_assembly_passes():
    function = Function("f", (N, P), INTP, Block((Return(Load(P, N)),)))
    body = (
        Let(Q, ZERO, mutable=True),
        While(Call(prim.lt, (Q, N)), Block((Assign(Q, Call(prim.add, (Q, N))), Break()))),
        For(Var("i", INTP), ZERO, N, Block((Store(X, Var("i", INTP), HALF),))),
        For(Var("i", INTP), ZERO, N, Block((If(TRUE, Block((Fail(1, (N, N)),))),))),
        Let(Var("v", INTP), Invoke(function, (N, P))),
        Grow(X, N), Fill(X, ZERO, N, HALF), Move(X, ZERO, R, ZERO, N), Sort(P, ZERO, N),
        Assign(S, HALF),
    )  # fmt: skip
    check(kernel(*body, functions=(function,)))


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        ((Assign(S, Var("u", FLOAT64)),), "u is not declared, in\ns = u"),
        ((Assign(Q, ZERO),), "q is not declared"),
        ((Assign(N, ZERO),), "n is immutable"),
        ((Let(Q, ZERO), Assign(Q, N)), "q is immutable, in\nq = n"),
        ((Assign(S, N),), "the value n is int64 and not float64, in\ns = n"),
        ((Let(Q, HALF),), "the value 0.5 is float64 and not int64"),
        ((Let(Var("w", int), ZERO),), "w has a weak type"),
        ((Assign(Var("s", F32), HALF),), "was declared as"),
        ((Let(Q, ZERO), Let(Q, ZERO)), "q is declared twice"),
        ((Let(N, ZERO),), "n is declared twice"),
        ((If(TRUE, Block((Let(Q, ZERO),))), Store(X, Q, HALF)), "q is not declared"),
        ((Store(X, HALF, HALF),), "the index or size 0.5 is float64"),
        ((Store(X, ZERO, ZERO),), "the value 0 is int64 and not float64"),
        ((Store(Buffer("z", FLOAT64), ZERO, HALF),), "z is not declared"),
        ((Store(Buffer("x", F32, True), ZERO, HALF),), "was declared as"),
        ((Assign(S, Call(prim.add, (S, N))),), "the argument of add n is int64 and not float64"),
        ((Assign(S, Call(prim.add, (S, Literal(1.0, float)))),), r"1\.0 has the weak type float\?"),
        ((Assign(S, Call(SILLY, (S,))),), "silly_test is not expanded"),
        ((If(N, Block()),), "the condition n is int64 and not bool"),
        ((While(S, Block()),), "the condition s is float64 and not bool"),
        ((Break(),), "a break outside of a loop, in\nbreak"),
        ((If(TRUE, Block((Break(),))),), "a break outside of a loop, in\nbreak"),
        ((Return(ZERO),), "a return outside of a function"),
        ((Grow(R, N),), "the slot of r is not written back"),
        ((Grow(P, N),), "p is not growable"),
        ((Sort(X, ZERO, N),), "only integers are sorted"),
        ((Move(X, ZERO, P, ZERO, N),), "a move between dtypes"),
        ((Fail(2),), "there is no site 2"),
        ((Fail(1, (N,) * 4),), "at most three values"),
        ((Fail(1, (HALF,)),), "the index or size 0.5"),
        ((Assign(S, Index("i")),), "Index belongs to programs"),
        ((Assign(S, Name("i", FLOAT64)),), "Name belongs to programs"),
        ((Assign(S, Access(X, ())),), "Access belongs to programs"),
        ((Assign(S, Modified("~", S)),), "Modified belongs to programs"),
    ],
)
def test_illegal_assembly_is_refused(statements, message):
    with pytest.raises(IllegalAssembly, match=message):
        check(kernel(*statements))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (Function("f", (N,), INTP, Block((If(TRUE, Block((Return(N),))),))), "end without a value"),
        (Function("f", (N,), FLOAT64, Block((Return(N),))), "the value n is int64"),
        (Function("f", (X,), INTP, Block((Grow(X, ZERO), Return(ZERO)))), "a function grows no"),
        (Function("f", (N,), INTP, Block((Fail(0), Return(ZERO)))), "a function fails nothing"),
        (Function("f", (N,), INTP, Block((Assign(N, ZERO), Return(ZERO)))), "n is immutable"),
    ],
)
def test_illegal_functions_are_refused(function, message):
    with pytest.raises(AssertionError, match=message):
        check(kernel(functions=(function,)))


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((N,), "too many or few arguments"),
        ((P, N), "mixes up values and buffers"),
        ((N, X), "x is no buffer of int64"),
        ((S, P), "the argument s is float64"),
    ],
)
def test_calls_fit_their_function(args, message):
    function = Function("f", (N, P), INTP, Block((Return(Load(P, N)),)))
    call = Let(Q, Invoke(function, args))
    with pytest.raises(IllegalAssembly, match=message):
        check(kernel(call, functions=(function,)))
    with pytest.raises(IllegalAssembly, match="f is not among the kernel's"):
        check(kernel(call))
    assert TRUE.type == BOOL
