"""Rewrite rules that do not end, fail, or give what is no expression of the same type."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest
from plugin_support import registered

from finch_core import Tensor, _, kernel
from finch_core.errors import PluginError
from finch_core.ir.expressions import Call, call, lift
from finch_core.operators import operator
from finch_core.symbolic.simplifier import Rule
from finch_levels import Dense, Element, SparseList

A, B = np.array([1.0, 2.0, 300.0]), np.array([1.0, 2.5, 3.0])


def product(out, a, b):
    out[...] = 0
    for i in _:
        out[i] = a[i] * b[i]
    return out


def ran(*rules: Any, a: Any = A) -> Any:
    run = kernel(rules=list(rules), backend="interpreter")(product)
    return run(Tensor(Dense(Element(0.0))), a, B).to_numpy()


def refused(apply: Any, *others: Rule) -> str:
    with pytest.raises(PluginError) as error:
        ran(Rule("mine", apply, ops=("mul",)), *others)
    return str(error.value)


def turned(node: Call) -> Call:
    return Call(node.op, node.args[::-1])


def grown(node: Call) -> Any:
    return call(operator("mul"), node, call(operator("add"), node.args[0], 1.0))


def doubled(node: Call) -> Any:
    """Two calls that it matches, neither of them outermost."""
    half = call(operator("mul"), node, 0.5)
    return call(operator("add"), half, half)


def fails(node: Call) -> Any:
    raise ValueError("boom")


@pytest.mark.parametrize("apply", [turned, grown])
def test_a_rule_that_never_ends_is_stopped_and_named(apply: Any) -> None:
    message = refused(apply)
    assert "the rewrite rule 'mine' does not end: after 64 times there is " in message


def test_a_rule_that_makes_more_of_what_it_matches_is_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("finch_core.symbolic.plugin_rules.IN_ALL", 500)
    wide = kernel(rules=[Rule("mine", doubled, ops=("mul",))], backend="interpreter")(deep)
    with pytest.raises(PluginError, match="the rewrite rule 'mine' does not end: it was applied"):
        wide(Tensor(Dense(Element(0.0))), Tensor(SparseList(Element(0.0)), A), B)


def deep(out, a, b):
    out[...] = 0
    for i in _:
        let = a[i] * b[i]
        for j in _:
            if j <= i:
                out[i] += let * b[j] * a[j] * b[i]
    return out


def test_rules_that_undo_each_other_are_named_both() -> None:
    to_add = Rule("to add", lambda n: call(operator("add"), *n.args), ops=("mul",))
    to_mul = Rule("to mul", lambda n: call(operator("mul"), *n.args), ops=("add",))
    with pytest.raises(PluginError, match="the rewrite rules 'to add' and 'to mul' do not end"):
        ran(to_add, to_mul)


def test_what_a_rule_raises_is_told_with_its_name() -> None:
    message = refused(fails)
    assert "the rewrite rule 'mine' on " in message
    assert "failed: ValueError: boom" in message


def test_a_rule_gives_an_expression_of_the_same_dtype() -> None:
    message = refused(lambda node: 7)
    assert "the rewrite rule 'mine' makes 7 of " in message
    assert "which is not an expression" in message
    message = refused(lambda node: node.cast(np.dtype(np.int8)))
    assert "which is int8, and not float64" in message
    assert "keeps the dtype" in message


def test_rules_that_are_right_are_applied() -> None:
    halved = Rule("halve", lambda node: node.args[0].cast(np.dtype(np.float64)), ops=("mul",))
    np.testing.assert_array_equal(ran(halved), A)
    never = Rule("never", lambda node: None)
    np.testing.assert_array_equal(ran(never), A * B)
    same = Rule("same", lambda node: node)
    np.testing.assert_array_equal(ran(same), A * B)


def test_a_rule_of_a_plugin_needs_no_more_than_a_name_and_apply() -> None:
    seen: list[str] = []

    def apply(node: Call) -> Any:
        seen.append(node.op.name)
        return lift(0.0) if node.op is operator("mul") and node.dtype == float else None

    rule = types.SimpleNamespace(name="to nothing", apply=apply)
    with registered(finch_rewrite_rules=lambda: [rule]):
        np.testing.assert_array_equal(ran(), [0, 0, 0])
    assert "mul" in seen
    np.testing.assert_array_equal(ran(), A * B)
