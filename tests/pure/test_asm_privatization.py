"""Whole numbers that scatter over few elements may be added to copies of them."""

import numpy as np
import pytest

from finch_core.ir.assembly_text import block_text
from finch_core.ir.builder import Builder, Names
from finch_core.ir.dtypes import FLOAT64, INTP
from finch_core.ir.expressions import Buffer, Load, Var, lift
from finch_core.ir.typing import typed
from finch_core.optimize import PASSES, optimize
from finch_core.testing.run_block import run_block

GREY, WIDE = Buffer("grey", np.dtype(np.uint8)), Buffer("wide", INTP)
BINS, SUMS = Buffer("bins", INTP), Buffer("sums", FLOAT64)
N = Var("n", INTP)
ALL = {name for name, _ in PASSES}


def only(block):
    return optimize(block, disabled=ALL - {"privatization"})


def counting(index=None, bins=BINS, then=None, times=N):
    """How many values there are of each, in rows of three."""
    b = Builder(Names(["n"]), constants=(N,))
    with b.for_("y", 0, times) as y, b.for_("x", 0, 3) as x:
        at = Load(GREY, y * 3 + x).cast(INTP) // 16 if index is None else index(y, x)
        at = b.let("at", at)
        b.store(bins, at, Load(bins, at) + 1)
        if then is not None:
            then(b, at)
    return typed(b.finish())


def test_the_outermost_loop_permits_banks_where_it_is_long():
    text = block_text(only(counting()))
    assert text.startswith("if n * 3 >= 16:\n    for y in range(0, n):  # banks: bins[0:16]\n")
    assert text.count("for y in") == 2


def test_no_test_is_made_of_turns_that_are_known():
    assert block_text(only(counting(times=lift(20)))).startswith("for y in range(0, 20):  # banks")
    block = counting(times=lift(4))
    assert block_text(only(block)) == block_text(block)


@pytest.mark.parametrize("n", [0, 1, 20])
def test_the_meaning_stays(n):
    grey = np.random.default_rng(0).integers(0, 256, 60)
    values = {N: n, GREY: grey, BINS: np.arange(16)}
    block = counting()
    before, after = (run_block(b, values)[1]["bins"] for b in (block, only(block)))
    np.testing.assert_array_equal(before, after)


LEFT = {
    "the sums are floats": {"bins": SUMS},
    "the index may be anything": {"index": lambda y, x: Load(WIDE, y * 3 + x)},
    "the index may be negative": {"index": lambda y, x: Load(GREY, x).cast(INTP) // 16 - 1},
    "the index is no data": {"index": lambda y, x: (x % 2).cast(INTP)},
    "the elements are read": {"then": lambda b, at: b.store(WIDE, at, Load(BINS, at))},
    "the elements are set": {"then": lambda b, at: b.store(BINS, at, 0)},
    "all are sorted": {"then": lambda b, at: b.sort(BINS, 0, 3)},
    "they are moved": {"then": lambda b, at: b.move(WIDE, 0, BINS, 0, 3)},
    "the loop may fail": {"then": lambda b, at: b.fail(1)},
    "an element adds another": {
        "then": lambda b, at: b.store(BINS, at, Load(BINS, at) + Load(BINS, at * 0))
    },
    "an element is taken from": {"then": lambda b, at: b.store(BINS, at, 5 - Load(BINS, at))},
}


@pytest.mark.parametrize("why", LEFT)
def test_it_is_left_alone_where(why):
    block = counting(**LEFT[why])
    assert block_text(only(block)) == block_text(block)
