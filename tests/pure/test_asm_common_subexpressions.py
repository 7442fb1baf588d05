"""Variables for what large statements share; other statements stay as they are."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from finch_core.ir import common_subexpressions
from finch_core.ir import primitives as prim
from finch_core.ir.assembly import Assign, Block, Function, If, Kernel, Let, Return, Store, While
from finch_core.ir.assembly_text import block_text
from finch_core.ir.common_subexpressions import bind_common_subexpressions
from finch_core.ir.dtypes import BOOL, INTP
from finch_core.ir.expressions import Buffer, Call, Expr, Invoke, Load, Var
from finch_core.testing.bench import n
from finch_core.testing.run_block import kernel_of, run_block

A, Y = Buffer("a", INTP), Buffer("y", INTP)
COUNT, FIRST, SECOND = Var("count", INTP), Var("first", BOOL), Var("second", BOOL)


def doubled(value: Expr, levels: int) -> Expr:
    for _ in range(levels):
        value = value + value
    return value


def bound(*body: Any, functions: tuple[Function, ...] = ()) -> tuple[Kernel, Kernel]:
    """A kernel before and after."""
    targets = {A: [1, 2, 0], Y: [0, 0, 0], COUNT: 1, FIRST: True, SECOND: False}
    kernel = kernel_of(Block(body), targets, functions)
    return kernel, bind_common_subexpressions(kernel)


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Statements of any size are treated."""
    monkeypatch.setattr(common_subexpressions, "LARGE", 0)
    monkeypatch.setattr(common_subexpressions, "_TIMES", 0)


def test_ordinary_statements_stay_as_they_are() -> None:
    wide: list[Expr] = [Load(A, n(k)) for k in range(1024)]  # large, but a tree
    while len(wide) > 1:
        wide = [a + b for a, b in zip(wide[::2], wide[1::2], strict=True)]
    kernel, new = bound(Store(Y, n(0), doubled(Load(A, n(0)), 7)), Store(Y, n(1), wide[0]))
    assert new is kernel


def test_a_graph_of_many_levels_becomes_variables() -> None:
    _, new = bound(Store(Y, n(0), doubled(Load(A, n(0)), 40)))
    assert len(new.body.statements) == 41
    assert len(new.as_text()) < 3000


@pytest.mark.usefixtures("eager")
def test_a_branch_has_variables_of_its_own() -> None:
    guarded = Load(A, COUNT) * COUNT
    chosen = Call(prim.ifelse, (n(3) > COUNT, guarded + guarded, n(0)))
    _, new = bound(Store(Y, n(0), chosen))
    assert block_text(new.body) == (
        "mut common_2: int64 = 0\n"
        "if 3 > count:\n"
        "    common: int64 = a[count] * count\n"
        "    common_2 = common + common\n"
        "else:\n"
        "    common_2 = 0\n"
        "y[0] = common_2\n"
    )


@pytest.mark.usefixtures("eager")
def test_what_both_branches_need_is_evaluated_before() -> None:
    value = Load(A, n(0)) * n(3)
    chosen = Call(prim.ifelse, (FIRST, value + n(1), value + n(2)))
    _, new = bound(Store(Y, n(0), chosen))
    assert block_text(new.body) == (
        "common: int64 = a[0] * 3\ny[0] = ifelse(first, common + 1, common + 2)\n"
    )


@pytest.mark.usefixtures("eager")
def test_the_condition_of_a_loop_is_evaluated_in_each_turn() -> None:
    value = Load(A, COUNT) * n(2)
    body = Block((Assign(COUNT, COUNT + n(1)),))
    kernel, new = bound(While((value > n(0)).and_(value < n(9)), body))
    assert block_text(new.body) == (
        "while True:\n"
        "    common: int64 = a[count] * 2\n"
        "    if not (common > 0 and common < 9):\n        break\n"
        "    count += 1\n"
    )
    assert kernel.params == new.params


@pytest.mark.usefixtures("eager")
def test_a_call_that_stores_keeps_its_order() -> None:
    data = Buffer("data", INTP)
    store = Function("put", (data,), INTP, Block((Store(data, n(0), n(7)), Return(n(1)))))
    value = Load(A, n(0)) * n(2)
    kernel, new = bound(Store(Y, n(0), value + Invoke(store, (A,)) + value), functions=(store,))
    assert new.body == kernel.body


def _random_pair(rng: random.Random) -> tuple[Expr, Expr]:
    """An integer and a condition, that share much; loads are guarded."""
    values: list[Expr] = [COUNT, Load(A, n(0)), Load(A, n(1)), n(3)]
    conditions: list[Expr] = [FIRST, SECOND]
    for _ in range(12):
        x, z = rng.choice(values[-4:]), rng.choice(values[-4:])
        kind, cond = rng.choice("++*??[&|"), rng.choice(conditions[-3:])
        if kind in "+*":
            values.append(x + z if kind == "+" else x * z)
        elif kind == "?":
            values.append(Call(prim.ifelse, (cond, x, z)))
        elif kind == "[":
            inside = (x >= n(0)).and_(x < n(3))
            values.append(Call(prim.ifelse, (inside, Load(A, x), z)))
        else:
            conditions.append(cond.and_(x < z) if kind == "&" else cond.or_(x < z))
    return values[-1], conditions[-1]


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("seed", range(0, 60, 10))
def test_random_graphs_keep_their_values_and_load_nothing_more(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interpreter, which runs both as they are, checks each load."""
    for part in range(seed, seed + 10):
        value, cond = _random_pair(random.Random(part))
        i = Var("i", INTP)
        step = Block((Assign(i, i + n(1)), Store(Y, n(2), i)))
        turns = While((i < n(3)).and_(cond.or_(i < n(2))), step)
        stores = Store(Y, n(0), value), If(cond, Block((Store(Y, n(1), n(1)),)))
        kernel, new = bound(*stores, Let(i, n(0), mutable=True), turns)
        assert new is not kernel
        for first, second in ((False, False), (True, False), (True, True)):
            values = {A: [1, 2, 0], Y: [0, 0, 0], COUNT: 1, FIRST: first, SECOND: second}
            with monkeypatch.context() as plain:
                plain.setattr(common_subexpressions, "LARGE", 10**9)
                (status, wanted), (again, found) = (
                    run_block(k.body, values) for k in (kernel, new)
                )
            assert status == again == 0
            assert found["y"].tolist() == wanted["y"].tolist(), part
            assert found["y"].dtype == np.int64
