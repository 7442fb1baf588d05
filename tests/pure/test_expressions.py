"""Building expressions: what is folded has the type and the value of what it stands for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import BOOL, SUPPORTED, concrete, is_weak, same, tuple_dtype, type_of
from finch_core.ir.expressions import (
    Call,
    Cast,
    Expr,
    Index,
    Literal,
    Var,
    call,
    cast,
    lift,
    zero_of,
)
from finch_core.ir.python_code import evaluate
from finch_core.ir.rewrite import rewrite_expr
from finch_core.operators import Operator, literal_value, operator
from finch_core.testing.operands import operator_names

INTEGERS = [dtype for dtype in SUPPORTED if dtype.kind in "biu"]


@pytest.mark.parametrize("zero", [np.int64(0), np.int8(0), np.uint64(0), False])
def test_a_sum_with_a_typed_zero_keeps_its_width(zero):
    """``i + np.int64(0)`` is an int64, which widens what it is added to; ``i`` is not."""
    i = Index("i")
    assert same((i + zero).dtype, prim.add.result(int, type_of(zero)))
    assert same((i * zero).dtype, prim.mul.result(int, type_of(zero)))


def test_a_plain_constant_is_dropped():
    i, x = Index("i"), Var("x", np.dtype("u1"))
    assert (i + 0, i - 0, i * 1) == (i, i, i)
    assert (x + 0, x - 0, 1 * x, x + np.uint8(0)) == (x, x, x, x)
    assert (i + 2) - 2 == i
    assert (x + 1) + 2 == x + 3


def test_the_zero_of_a_tuple_is_one_of_zeros():
    pair = tuple_dtype((np.dtype("u1"), np.dtype("f8")))
    assert literal_value(zero_of(pair).value, pair).item() == (0, 0.0)


def test_a_product_with_zero_has_the_type_of_the_product():
    x = Var("x", np.dtype("i4"))
    assert x * 0 == lift(np.int32(0))
    assert Index("i") * 0 == lift(0)


def test_a_number_is_no_truth():
    x, b = Var("x", np.dtype("i4")), Var("b", BOOL)
    assert x.and_(True).dtype == BOOL
    assert b.and_(True) is b
    assert x.or_(False) != x


def test_an_integer_times_a_float_is_a_float():
    assert same(call(prim.mul, 2, 1.0).dtype, float)


OPERATORS = (prim.add, prim.sub, prim.mul, prim.and_, prim.or_)


@st.composite
def nested(draw: Any) -> tuple[Expr, Expr, int]:
    """An expression as ``call`` builds it, the same without folding, and the value of its name."""
    leaf = draw(st.sampled_from([Index("v"), *(Var("v", dtype) for dtype in INTEGERS)]))
    folded = plain = leaf
    for _ in range(draw(st.integers(1, 3))):
        op: Operator = draw(st.sampled_from(OPERATORS))
        small = st.integers(0, 3)
        constant = draw(
            st.one_of(small, *(small.map(dtype.type) for dtype in INTEGERS), st.booleans())
        )
        sides = draw(st.booleans())
        args = (folded, constant) if sides else (constant, folded)
        plain_args = tuple(map(lift, (plain, constant) if sides else (constant, plain)))
        try:
            op.result(*(arg.dtype for arg in plain_args))
        except TypeError:  # a difference of bools
            continue
        folded, plain = call(op, *args), Call(op, plain_args)
    return folded, plain, draw(st.integers(0, 9))


@settings(max_examples=300, deadline=None, database=None)
@given(nested())
def test_what_is_folded_is_what_it_stands_for(case):
    folded, plain, number = case
    assert same(folded.dtype, plain.dtype)

    def bound(node: Expr) -> Expr:
        if isinstance(node, (Index, Var)):
            value = number if is_weak(node.dtype) else concrete(node.dtype).type(number)
            return Literal(value, node.dtype)
        return node

    found, expected = (evaluate(rewrite_expr(e, bound)) for e in (folded, plain))
    assert found == expected


def test_the_suite_of_backends_asks_every_primitive_operator():
    asked = {name for dtype in SUPPORTED for name in operator_names(dtype)}
    assert set(prim.PRIMITIVES) - asked == {"tuple"}  # it has a test of its own


def test_an_operator_says_how_many_operands_it_has():
    arities = {name: operator(name).arity for name in ("sqrt", "pow", "min", "ifelse", "and")}
    assert arities == {
        "sqrt": (1, 1),
        "pow": (2, 2),
        "min": (2, 2),
        "ifelse": (3, 3),
        "and": (2, 2),
    }
    assert operator("tuple").arity[1] > 100


@pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "uint8", "uint64", "float32"])
@pytest.mark.parametrize("constant", [np.int64(0), np.int64(1), np.int8(0), np.uint64(1), 0, 1])
@pytest.mark.parametrize("op", [prim.add, prim.sub, prim.mul])
def test_constants_that_change_nothing_keep_the_width(dtype, constant, op):
    x = Var("x", np.dtype(dtype))
    for args in ((x, lift(constant)), (lift(constant), x)):
        try:
            wanted = op.result(*(arg.dtype for arg in args))
        except TypeError:  # bools are not subtracted
            continue
        assert same(call(op, *args).dtype, wanted)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "uint64"])
@pytest.mark.parametrize("number", [2**63, 2**64 - 1])
def test_wide_integers_are_themselves(dtype, number):
    literal = Literal(number, int)
    assert literal.is_wide
    assert literal != Literal(number - 2**64, int)
    assert cast(literal, np.dtype(dtype)).value == np.array(number, np.uint64).astype(dtype)
    assert call(prim.add, literal, 1).value == number + 1


def test_a_rule_is_applied_once():
    """Where a cast changes nothing of its new operand, and is dropped, the operand has had the rule
    already."""
    double = np.dtype(np.float64)

    def renamed(expr: Expr) -> Expr:
        return Var(f"{expr.name}_2", double) if isinstance(expr, Var) else expr

    assert rewrite_expr(Cast(Var("f", np.dtype(int)), double), renamed) == Var("f_2", double)
