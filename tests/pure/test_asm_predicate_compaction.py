"""Turns that a test rules out are left out 64 at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finch_core.ir.assembly_text import block_text
from finch_core.ir.builder import Builder, Names
from finch_core.ir.dtypes import BOOL, INTP
from finch_core.ir.expressions import Buffer, Load, Var, lift
from finch_core.ir.typing import typed
from finch_core.optimize import PASSES, optimize
from finch_core.testing.run_block import run_block

SEEN, X, Y = Buffer("seen", BOOL), Buffer("x", INTP), Buffer("y", INTP)
N, M = Var("n", INTP), Var("m", INTP)
ALL = {name for name, _ in PASSES}
SIZE = 200


def sums(*, first=0, test=None, then=None, guarded=True, inner=True, around=False):
    """For each index that was not seen, a sum, and a count of those in ``y[0]``."""
    b = Builder(Names(["n", "m"]), constants=(N, M))

    def loop():
        with b.for_("j", first, N) as j:
            dirty = b.var("dirty", False)
            with b.if_(Load(SEEN, j).not_() if test is None else test(j)):
                if inner:
                    with b.for_("k", 0, M) as k:
                        b.store(Y, j + 1, Load(Y, j + 1) + Load(X, k))
                if then is not None:
                    then(b, j)
                b.assign(dirty, True)
            with b.if_(dirty if guarded else j < M):
                b.store(Y, 0, Load(Y, lift(0)) + 1)

    if around:
        with b.for_("outer", 0, M):
            loop()
    else:
        loop()
    return typed(b.finish())


def only(block):
    return optimize(block, disabled=ALL - {"predicate_compaction"})


def values(n, m=2, seed=0):
    rng = np.random.default_rng(seed)
    return {
        N: n, M: m, SEEN: rng.random(SIZE) < 0.5, X: np.arange(SIZE),
        Y: rng.integers(0, 5, SIZE + 1),
    }  # fmt: skip


def test_predicates_are_computed_before_the_iterations():
    text = block_text(only(sums()))
    assert "active |= uint64(not seen[t]) << uint64(t - first)" in text
    assert "j: int64 = first + int64(ctz(active))" in text
    assert "if not seen" not in text


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([0, 1, 2, 63, 64, 65, 127, 128, 129, 190]),
    st.integers(0, 70),
    st.integers(0, 20),
    st.booleans(),
)
def test_the_meaning_stays(n, first, seed, around):
    block = sums(first=first, around=around)
    before, after = (run_block(b, values(n, seed=seed)) for b in (block, only(block)))
    assert before[0] == after[0]
    np.testing.assert_array_equal(before[1]["y"], after[1]["y"])


def test_the_rest_of_a_condition_is_asked_in_the_turn():
    block = sums(test=lambda j: Load(SEEN, j).not_().and_(Load(X, j) < M))
    text = block_text(only(block))
    assert "uint64(not seen[t])" in text
    assert "if x[j] < m" in text
    before, after = (run_block(b, values(100, m=40)) for b in (block, only(block)))
    np.testing.assert_array_equal(before[1]["y"], after[1]["y"])


def test_a_failure_leaves_what_was_done():
    def check(b, j):
        with b.if_(j >= 70):
            b.fail(1, j)

    block = sums(then=check)
    before, after = (run_block(b, values(150)) for b in (block, only(block)))
    assert before[0] == after[0]
    np.testing.assert_array_equal(before[1]["y"], after[1]["y"])


LEFT = {
    "the turn has no loop": {"inner": False},
    "something is done in every turn": {"guarded": False},
    "the loop changes what is tested": {"then": lambda b, j: b.store(SEEN, j + 1, True)},
    "the loop may be left": {"then": lambda b, j: b.break_()},
    "what is tested is not contiguous": {"test": lambda j: Load(SEEN, Load(X, j))},
    "nothing is loaded": {"test": lambda j: j < M},
    "a short loop within another": {"first": M, "around": True},
}


@pytest.mark.parametrize("why", LEFT)
def test_it_is_left_alone_where(why):
    block = sums(**LEFT[why])
    assert only(block) is block
