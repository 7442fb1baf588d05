"""The built-in leaves, scalars, operators and rules pass the suites of their kind, which notice
what is wrong."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest

from finch_core.ir.expressions import Var, call
from finch_core.level import Mode
from finch_core.operators import operator
from finch_core.symbolic.simplifier import Rule
from finch_core.testing import LeafSuite, OperatorSuite, RuleSuite, ScalarSuite
from finch_levels import Element, Pattern, Scalar, SparseScalar

X, Y = Var("x", np.dtype(float)), Var("y", np.dtype(float))


class TestLeaves(LeafSuite):
    leaves = (Element(0.0), Element(1, np.int8), Element(np.inf, np.float32), Pattern())


class TestScalars(ScalarSuite):
    scalars = (Scalar(0.0).format, Scalar(0, np.int64).format, SparseScalar(0.0).format)


class TestOperators(OperatorSuite):
    operators = tuple(map(operator, ("add", "mul", "maximum", "minimum")))


def doubled(node: Any) -> Any:
    return call(operator("mul"), node.args[0], 2.0) if node.args[0] == node.args[1] else None


class TestRules(RuleSuite):
    rules = (Rule("double", doubled, ops=("add",)),)
    calls = (call(operator("add"), X, X),)


def failing(suite: Any, test: str, *args: Any, **members: Any) -> None:
    made = type("Suite", (suite,), members)()
    with pytest.raises(AssertionError):
        getattr(made, test)(*args)


class Forgetful(Element):
    def unwrap(self, ctx, fiber, mode, op, value):
        return super().unwrap(ctx, fiber, mode, None if mode is Mode.UPDATE else op, value)


def test_mistakes_are_noticed() -> None:
    failing(LeafSuite, "test_it_is_updated", "interpreter", leaves=(Forgetful(0.0),))
    wrong = attrs.evolve(operator("sub"), name="wrong", commutative=True, python=())
    failing(OperatorSuite, "test_it_commutes_and_associates_as_it_says", operators=(wrong,))
    rule = Rule("first", lambda node: node.args[0], ops=("add",))
    sums = (call(operator("add"), X, Y),)
    failing(RuleSuite, "test_each_call_is_matched_and_means_the_same", rules=(rule,), calls=sums)
