"""Values that are the same in each turn of a loop, and that branch, are computed before it."""

import numpy as np
import pytest

from finch_core.ir import primitives as prim
from finch_core.ir.assembly_text import block_text
from finch_core.ir.builder import Builder, Names
from finch_core.ir.dtypes import FLOAT64, INTP
from finch_core.ir.expressions import Buffer, Call, Load, Var, lift
from finch_core.ir.typing import typed
from finch_core.optimize import PASSES, optimize
from finch_core.testing.run_block import run_block

X, Y = Buffer("x", FLOAT64), Buffer("y", np.dtype(np.uint8))
Z = Buffer("z", FLOAT64)
N, K, M = Var("n", INTP), Var("k", INTP), Var("m", INTP)
OTHERS = {name for name, _ in PASSES} - {"invariant_values"}


def only(block):
    return optimize(block, disabled=OTHERS)


def filling(value, leave=False, target=Y):
    """A loop that stores ``value(i)``, of which ``leave`` is left at once."""
    b = Builder(Names(["n", "k", "m"]), constants=(N, K, M))
    with b.for_("i", 0, N) as i:
        if leave:
            with b.if_(i > 1):
                b.break_()
        b.store(target, i, value(i))
    return typed(b.finish())


def alike(block, **values):
    """The text of the block after the pass, which gives the same."""
    values = {N: 3, K: 1, M: 2, X: [1.5, 2.5, 3.5], Y: [0] * 3, Z: [0.0] * 3, **values}
    new = only(block)
    before, after = run_block(block, values), run_block(new, values)
    for buffer in before[1]:
        np.testing.assert_array_equal(after[1][buffer], before[1][buffer])
    return block_text(new)


def converted(place):
    return (Load(X, place) * 2.0).cast(np.dtype(np.uint8))


def test_a_conversion_is_made_once():
    text = alike(filling(lambda i: converted(K)))
    assert text.startswith("if 0 < n:\n    value: uint8 = ")
    assert "        y[i] = value" in text


@pytest.mark.parametrize("n", [0, 1])
def test_where_the_loop_does_not_run_nothing_is_loaded(n):
    block = filling(lambda i: converted(K))
    _, after = run_block(only(block), {N: n, K: 0 if n else 99, X: [1.5], Y: [7] * n})
    assert after["y"].tolist() == [3] * n


@pytest.mark.parametrize(
    "value",
    [
        lambda i: converted(i),  # another in each turn
        lambda i: Load(X, K).cast(np.dtype(np.float32)),  # C compilers move it
        lambda i: Call(prim.truediv, (Load(X, K), lift(3.0))),
        lambda i: Load(Z, K).max(0.5),  # of what the loop stores
    ],
)
def test_what_changes_and_what_c_compilers_move_stays(value):
    block = filling(value, target=Z)
    assert only(block) is block


def test_what_a_turn_may_skip_stays():
    block = filling(lambda i: Call(prim.ifelse, (i < M, converted(K), lift(np.uint8(0)))))
    assert only(block) is block
    assert run_block(only(block), {N: 2, K: 99, M: 0, X: [], Y: [1, 1]})[1]["y"].tolist() == [0, 0]


def test_what_comes_after_a_break_stays():
    block = filling(lambda i: converted(K), leave=True)
    assert only(block) is block


def test_names_of_what_it_needs_move_with_it():
    b = Builder(Names(["n", "k"]), constants=(N, K))
    with b.for_("i", 0, N) as i:
        t = b.let("t", Load(X, K) * 2.0)
        b.store(Z, i, Load(X, i) + Call(prim.maximum_, (t, lift(0.5))))
        b.store(Y, i, Call(prim.maximum_, (t, lift(0.5))).cast(np.dtype(np.uint8)))
    text = alike(typed(b.finish()))
    assert text.count("value") == 4
    assert text.index("t: float64") < text.index("for i")


def test_it_changes_nothing_when_run_again():
    block = only(filling(lambda i: converted(K)))
    assert only(block) is block
