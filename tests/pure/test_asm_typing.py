"""The typing pass: every conversion is written out, and no weak type is left."""

import numpy as np
import pytest

from finch_core.ir import primitives as prim
from finch_core.ir.assembly import (
    Argument,
    Assign,
    Block,
    If,
    Kernel,
    Let,
    Record,
    Return,
    Slot,
    Store,
    While,
)
from finch_core.ir.assembly_text import block_text, expr_text
from finch_core.ir.builder import Builder, Names
from finch_core.ir.dtypes import BOOL, FLOAT64, INTP, is_weak, tuple_dtype
from finch_core.ir.expressions import Buffer, Call, Cast, Index, Literal, Load, Var, lift
from finch_core.ir.typing import typed, typed_function, typed_kernel
from finch_core.ir.verify import check
from finch_core.operators import Operator, by_promotion, operator
from finch_core.testing.run_block import SITES, run_block

F32, I32 = np.dtype(np.float32), np.dtype(np.int32)
S, H, J, N = Var("s", F32), Var("h", FLOAT64), Var("i", I32), Var("n", INTP)
X = Buffer("x", F32)


def typed_value(var, value):
    (statement,) = typed(Block((Assign(var, lift(value)),))).statements
    for part in statement.value.walk():
        assert not is_weak(part.dtype)
    assert statement.value.dtype == var.dtype
    return statement.value


@pytest.mark.parametrize(
    ("var", "value", "text"),
    [
        (S, S * 2.0, "s * float32(2.0)"),
        (S, S * 2, "s * float32(2.0)"),
        (H, S + H, "float64(s) + h"),
        (S, H, "float32(h)"),
        (J, J + 1, "i + int32(1)"),
        (N, J + 1, "int64(i + int32(1))"),
        (N, J * N, "int64(i) * n"),
        (H, Call(prim.truediv, (N, lift(2))),
         "float64(n) / 2.0"),
        (H, 1, "1.0"),
        (S, Call(operator("sqrt"), (lift(2.0),)), "float32(sqrt(2.0))"),
        (S, Call(prim.mul, (S, Call(prim.add, (lift(1.5), lift(2))))),
         "s * float32(1.5 + 2.0)"),
        (H, Call(prim.ifelse, (N, S, lift(1))), "float64(ifelse(bool(n), s, float32(1.0)))"),
        (N, Load(Buffer("p", I32), J + 1), "int64(p[int64(i + int32(1))])"),
        (N, Var("w", int) + 1, "w + 1"),
    ],
)  # fmt: skip
def test_conversions_are_written_out(var, value, text):
    assert expr_text(typed_value(var, value)) == text


def test_conditions_become_bool():
    body = Block((Assign(N, N + 1),))
    block = typed(Block((If(N, body), While(S, body), If(BOOL_VAR, body))))
    assert [s.cond.dtype for s in block.statements] == [BOOL] * 3
    assert block.statements[2].cond is BOOL_VAR


BOOL_VAR = Var("b", BOOL)


def test_indices_and_values_of_stores():
    (store,) = typed(Block((Store(X, J, N),))).statements
    assert store == Store(X, Cast(J, INTP), Cast(N, F32))


def test_weak_variables_get_a_dtype():
    (let,) = typed(Block((Let(Var("w", int), lift(3)),))).statements
    assert not is_weak(let.var.type)
    assert not is_weak(let.value.type)


def test_typed_assembly_is_left_as_the_same_object():
    b = Builder(Names())
    with b.for_("q", 0, N) as q:
        b.store(X, q, Load(X, q + 1) * 2)
    once = typed(b.finish())
    assert typed(once) is once
    assert typed(Block()) == Block()


def test_tuples_are_converted_field_by_field():
    pair, wide = tuple_dtype((F32, I32)), tuple_dtype((FLOAT64, INTP))
    block = typed(Block((Store(Buffer("t", wide), lift(0), Var("p", pair)),)))
    assert block_text(block) == "t[0] = (float64(p.f0), int64(p.f1))\n"
    _, after = run_block(block, {Var("p", pair): (1.5, 2), Buffer("t", wide): [(0.0, 0)]})
    assert after["t"].tolist() == [(1.5, 2)]


def _defined(definition):
    return Operator("twice_test", lambda a: a + a, by_promotion, definition=definition)


def test_a_definition_is_expanded_and_its_argument_computed_once():
    op = _defined(lambda a: a + a)
    block = typed(Block((Store(X, lift(0), Call(op, (Call(op, (S * 2,)),))),)))
    assert block_text(block) == (
        "t: float32 = s * float32(2.0)\nt_2: float32 = t + t\nx[0] = t_2 + t_2\n"
    )


def test_a_definition_that_may_be_skipped_computes_nothing_before():
    op = _defined(lambda a: a + a)
    value = Call(prim.ifelse, (N > 0, Call(op, (Load(X, N),)), S))
    block = typed(Block((Store(X, lift(0), value),)))
    assert block_text(block) == "x[0] = ifelse(n > 0, x[n] + x[n], s)\n"


def test_a_definition_in_the_condition_of_a_while_stays_there():
    op = _defined(lambda a: a + a)
    block = typed(Block((While(Call(op, (Load(X, N),)) < 3, Block((Assign(N, N + 1),))),)))
    assert block_text(block).startswith("while x[n] + x[n] < float32(3.0):")


def test_shared_subexpressions_take_linear_time():
    value = N + 1
    for _ in range(60):
        value = Call(prim.mul, (value, value))
    block = Block((Assign(N, value),))
    assert typed(block) is not None


def test_functions_and_kernels():
    b = Builder(Names())
    a = Var("a", I32)
    function = b.function("f", (a,), FLOAT64, lambda fb, a: fb.ret(a + 1))
    b.store(X, 0, b.invoke(function, N))
    record = Record("r", (Slot(X, 0, True),))
    kernel = typed_kernel(Kernel("k", (Argument(N), record), b.functions, b.finish(), SITES))
    check(kernel)
    assert block_text(kernel.body) == "x[0] = float32(f(int32(n)))\n"
    (statement,) = kernel.functions[0].body.statements
    assert isinstance(statement, Return)
    assert statement.value.dtype == FLOAT64
    assert typed_function(kernel.functions[0]) is kernel.functions[0]


def test_names_for_temporaries_avoid_the_parameters():
    op = _defined(lambda a: a + a)
    t = Var("t", INTP)
    body = Block((Store(X, lift(0), Call(op, (S * 2,))),))
    kernel = Kernel("k", (Argument(t), Argument(S), Record("r", (Slot(X, 0),))), (), body, SITES)
    check(typed_kernel(kernel))


def test_program_nodes_pass_through_to_be_refused_by_the_check():
    value = typed(Block((Assign(N, Index("i")),))).statements[0].value
    assert [type(part) for part in value.walk()][-1] in (Index, Cast)
    assert isinstance(lift(1), Literal)
