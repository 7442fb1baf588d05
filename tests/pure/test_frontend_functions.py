"""The language's functions in plain Python, and operators that users define."""

import math

import numpy as np
import pytest

from finch_core.frontend import functions
from finch_core.frontend.functions import (
    choose,
    follow,
    freeze,
    gallop,
    ifelse,
    maxby,
    minby,
    thaw,
    walk,
)
from finch_core.frontend.user_operators import define_operator
from finch_core.ir.expressions import Call, Literal, Name
from finch_core.ir.missing import MissingType, coalesce, missing
from finch_core.ir.primitives import add, mul
from finch_core.ir.python_code import evaluate
from finch_core.operators import operator


def test_plain_meanings():
    assert coalesce(missing, missing, 3) == 3
    assert coalesce(1, 2) == 1
    assert coalesce(missing) is missing
    assert (ifelse(True, 1, 2), ifelse(False, 1, 2)) == (1, 2)
    assert minby((1, "a"), (1, "b")) == (1, "a")
    assert minby((2, "a"), (1, "b")) == (1, "b")
    assert maxby((1, "a"), (1, "b")) == (1, "a")
    assert maxby((1, "a"), (2, "b")) == (2, "b")
    assert (follow(3), walk(3), gallop(3)) == (3, 3, 3)
    assert (freeze(3), thaw(3)) == (None, None)


def test_choose():
    assert choose(0)(0, 5) == 5
    assert choose(0)(4, 5) == 4
    assert choose(0) is choose(0)
    assert choose(0) is not choose(0.0)
    assert choose(math.nan)(math.nan, 2) == 2
    assert choose(math.nan)(1, 2) == 1
    assert choose(0).identity(np.dtype("f4")) == np.float32(0)


def test_definitions_mean_what_the_operators_do():
    pairs = [
        Literal((a, b), np.dtype([("f0", "f8"), ("f1", "i8")])) for a, b in ((2.0, 1), (1.0, 5))
    ]
    assert evaluate(minby.definition(*pairs)).item() == (1.0, 5)
    assert evaluate(maxby.definition(*pairs)).item() == (2.0, 1)
    zero, five = Literal(0, int), Literal(5, int)
    assert evaluate(choose(0).definition(zero, five)) == 5
    assert evaluate(choose(0).definition(five, zero)) == 5


def test_types():
    f4, f8, pair = (
        np.dtype("f4"),
        np.dtype("f8"),
        np.dtype([("f0", "f4"), ("f1", "i8")], align=True),
    )
    assert coalesce.result(MissingType, f4, int) == f4
    assert coalesce.result(f4, f8) == f8
    assert choose(0).result(f4, int) == f4
    assert minby.result(pair, pair) == pair
    with pytest.raises(TypeError, match="compare tuples"):
        minby.result(f4, f4)


def test_missing_passes_through_arithmetic():
    assert (missing + 1, 2 * missing, -missing, abs(missing)) == (missing,) * 4
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(missing)


def test_the_extent_is_only_syntax():
    with pytest.raises(TypeError, match="inside a kernel"):
        iter(functions._)


def test_an_operator_of_a_user():
    @define_operator(commutative=True, associative=True, identity=0)
    def norm(a, b):
        return a + b + a * b

    assert norm.name == "norm"
    assert (norm.commutative, norm.associative, norm.idempotent) == (True, True, False)
    assert norm.identity(np.dtype("f4")) == np.float32(0)
    assert norm(np.float32(2), np.float32(3)) == np.float32(11)
    a, b = Name("a"), Name("b")
    assert norm.definition(a, b) == Call(add, (Call(add, (a, b)), Call(mul, (a, b))))
    assert norm.result(np.dtype("i4"), float) == np.dtype("f8")


def test_named_operators_are_registered():
    assert operator("minby") is minby
    assert operator("coalesce") is coalesce
