"""Settled variables, fills that a loop takes over, and lanes."""

import numpy as np
import pytest

from finch_core.ir import primitives as prim
from finch_core.ir.assembly_text import block_text
from finch_core.ir.builder import Builder, Names
from finch_core.ir.dtypes import FLOAT64, INTP
from finch_core.ir.expressions import Buffer, Load, Var, call, lift
from finch_core.ir.strides import LONG_GATHER
from finch_core.ir.typing import typed
from finch_core.optimize import PASSES, optimize
from finch_core.optimize.vector_reductions import WORTHWHILE
from finch_core.testing.run_block import run_block

X, Y, IDX = Buffer("x", FLOAT64), Buffer("y", FLOAT64, True), Buffer("idx", INTP)
N, M = Var("n", INTP), Var("m", INTP)
ALL = {name for name, _ in PASSES}


@pytest.fixture
def b():
    return Builder(Names(["n", "m"]), constants=(N, M))


def only(name, block):
    return optimize(block, disabled=ALL - {name})


def agree(block, values):
    """``block`` with all passes, after checking that they keep its meaning."""
    new = optimize(block)
    before, after = run_block(block, values), run_block(new, values)
    for name, value in before[1].items():
        np.testing.assert_array_equal(after[1][name], value)
    return block_text(new)


def test_a_variable_assigned_once_is_its_value_from_there(b):
    size = b.var("size", 0)
    b.assign(size, N)
    b.fill(Y, 0, size, 1.0)
    text = block_text(only("copy_propagation", typed(b.finish())))
    assert "fill(y, 0, n, 1.0)" in text


def test_a_variable_assigned_twice_is_not_settled(b):
    size = b.var("size", 0)
    b.assign(size, N)
    b.assign(size, N + 1)
    b.fill(Y, 0, size, 1.0)
    block = typed(b.finish())
    assert only("copy_propagation", block) is block


SAME = """\
y_n0 = n
fill(y, 0, n, 0.0)
for i in range(0, n):
    y_n0 = n
    fill(y, 0, n, 0.0)
fill(y, 0, n, 0.0)
"""


def test_a_variable_that_is_assigned_one_value_in_several_places():
    """As the dimension of a temporary is, where the loop around its declaration was split."""
    b = Builder(Names(["n", "y_n0"]), constants=(N,))
    own = Var("y_n0", INTP)
    b.assign(own, N)
    b.fill(Y, 0, own, 0.0)
    with b.for_("i", 0, N):
        b.assign(own, N)
        b.fill(Y, 0, own, 0.0)
    b.fill(Y, 0, own, 0.0)
    assert block_text(only("copy_propagation", typed(b.finish()))) == SAME
    other = Builder(Names(["n", "y_n0"]), constants=(N,))
    with other.for_("i", 0, N):
        other.fill(Y, 0, own, 0.0)  # of another turn, or from before
        other.assign(own, N)
    block = typed(other.finish())
    assert only("copy_propagation", block) is block


def test_a_loop_that_stores_all_elements_takes_the_fill_over(b):
    b.fill(Y, 0, N, 2.0)
    with b.for_("i", 0, N) as i:
        s = b.var("s", Load(Y, i))
        b.assign(s, s + Load(X, i))
        b.store(Y, i, s)
    text = agree(typed(b.finish()), {N: 3, X: [1.0, 2.0, 3.0], Y: [7.0, 7.0, 7.0]})
    assert "fill" not in text


@pytest.mark.parametrize("spoil", ["failure", "other index", "shorter", "break"])
def test_the_fill_stays_where_an_element_may_keep_it(b, spoil):
    b.fill(Y, 0, N, 2.0)
    with b.for_("i", 0, N - 1 if spoil == "shorter" else N) as i:
        if spoil == "failure":
            with b.if_(Load(X, i) > 1.0):
                b.store(Y, i, 5.0)
            with b.if_(Load(X, i) > 5.0):
                b.fail(1)
        elif spoil == "other index":
            b.store(Y, N - 1 - i, Load(X, i))
        else:
            if spoil == "break":
                with b.if_(Load(X, i) > 1.0):
                    b.break_()
            b.store(Y, i, Load(X, i))
    text = agree(typed(b.finish()), {N: 3, X: [1.0, 2.0, 3.0], Y: [7.0, 7.0, 7.0]})
    assert "fill" in text


def a_part_of_a_stencil(bounded):
    """Rows ``first`` up to ``last``, of which the first and last of all ``n`` are apart."""
    first, last = Var("first", INTP), Var("last", INTP)
    b = Builder(Names(["n", "first", "last"]), constants=(N, first, last))
    begin = b.let("begin", first.max(0) if bounded else first)
    end = b.let("end", last.min(N) if bounded else last)
    b.fill(Y, begin, end, 0.0)
    upper = b.let("upper", end.min(1))
    with b.if_(begin < upper):
        b.store(Y, begin, 1.0)
    inside = b.let("inside", begin.max(upper))
    below = b.let("below", end.min(N - 1))
    with b.for_("i", inside, below) as i:
        b.store(Y, i, 2.0)
    lower = b.let("lower", inside.max(N - 1))
    with b.if_(lower < end):
        b.store(Y, lower, 3.0)
    return typed(b.finish()), first, last


def test_a_part_of_a_stencil_takes_the_fill_over():
    block, first, last = a_part_of_a_stencil(bounded=True)
    for n in range(5):
        for begin in range(-1, n + 1):
            for end in range(begin, n + 2):
                values = {N: n, first: begin, last: end, Y: [7.0] * 8}
                assert "fill" not in agree(block, values)


def test_a_part_that_may_leave_the_range_keeps_the_fill():
    block, first, last = a_part_of_a_stencil(bounded=False)
    assert "fill" in agree(block, {N: 3, first: 0, last: 5, Y: [7.0] * 8})


def test_a_size_that_changes_before_the_fill_is_not_what_it_was():
    b = Builder(Names(["n"]), constants=(N,))
    size = b.var("size", 0)
    b.assign(size, N)
    b.fill(Y, 0, size, 0.0)
    b.store(X, 0, 1.0)
    block = typed(b.finish())
    assert "fill(y, 0, size, 0.0)" in block_text(only("store_forwarding", block))


def summed(b, index, start=0):
    s = b.var("s", 0.0)
    with b.for_("j", start, N) as j:
        b.assign(s, s + Load(X, j) * Load(X, index(j)))
    b.store(Y, 0, s)
    return typed(b.finish())


def test_a_contiguous_sum_gets_lanes(b):
    text = block_text(only("vector_reductions", summed(b, lambda j: j + 3)))
    assert "for j in range(0, n):  # lanes: " in text


def test_a_sum_that_is_known_to_be_short_stays_as_it_is(b):
    s = b.var("s", 0.0)
    for stop in (WORTHWHILE - 1, WORTHWHILE):
        with b.for_("j", 0, stop) as j:
            b.assign(s, s + Load(X, j))
    text = block_text(only("vector_reductions", typed(b.finish())))
    assert text.count("# lanes") == 1


def test_a_sum_through_indices_stays_as_it_is(b):
    block = summed(b, lambda j: Load(IDX, j))
    assert only("vector_reductions", block) is block


def test_a_sum_backwards_stays_as_it_is(b):
    block = summed(b, lambda j: lift(5) - j)
    assert only("vector_reductions", block) is block


@pytest.mark.parametrize("index", [lambda j: Load(IDX, j), lambda j: lift(5) - j, lambda j: j * 2])
def test_a_sum_through_indices_gets_indirect_lanes(b, index):
    text = block_text(only("gather_reductions", summed(b, index)))
    assert "for j in range(0, n):  # lanes: add s" in text


def test_a_contiguous_sum_gets_no_indirect_lanes(b):
    block = summed(b, lambda j: j + 3)
    assert only("gather_reductions", block) is block


def test_a_load_that_may_be_skipped_is_not_made_before(b):
    s = b.var("s", 0.0)
    with b.for_("j", 0, N) as j:
        b.assign(s, s + call(prim.ifelse, Load(IDX, j) < M, Load(X, Load(IDX, j)), 0.0))
    b.store(Y, 0, s)
    block = typed(b.finish())
    assert only("gather_reductions", block) is block


def test_indirect_lanes_pay_later(b):
    s = b.var("s", 0.0)
    for stop in (LONG_GATHER - 1, LONG_GATHER):
        with b.for_("j", 0, stop) as j:
            b.assign(s, s + Load(X, Load(IDX, j)))
    text = block_text(only("gather_reductions", typed(b.finish())))
    assert text.count("# lanes") == 1


@pytest.mark.parametrize("name", ["vector_reductions", "gather_reductions"])
def test_a_loop_that_stores_gets_no_lanes(b, name):
    with b.for_("j", 0, N) as j:
        b.store(Y, j, Load(X, Load(IDX, j)) + Load(X, j))
    block = typed(b.finish())
    assert only(name, block) is block


def stored(b, at=lambda j: j, read=lambda j: j, load=lambda j: Load(X, j), also=lambda s: 0.0):
    """What each iteration stores is summed."""
    s = b.var("s", 0.0)
    with b.for_("j", 0, N) as j:
        t = b.let("t", Load(Y, read(j)) * 2.0 + load(j))
        b.store(Y, at(j), t + also(s))
        b.assign(s, s + t)
    b.store(Z, 0, s)
    return typed(b.finish())


Z = Buffer("z", FLOAT64)


def test_a_sum_of_what_is_stored_gets_lanes(b):
    text = block_text(only("vector_reductions", stored(b)))
    assert "for j in range(0, n):  # lanes: add s" in text


@pytest.mark.parametrize(
    "how",
    [
        {"at": lambda j: j + 1},
        {"read": lambda j: lift(0)},
        {"at": lambda j: j * 2, "read": lambda j: j * 2},
        {"at": lambda j: lift(0), "read": lambda j: lift(0)},
        {"load": lambda j: Load(X, Load(IDX, j))},
        {"also": lambda s: s},
    ],
)
def test_it_gets_none_where_iterations_depend_on_others(b, how):
    block = stored(b, **how)
    assert only("vector_reductions", block) is block
    assert only("gather_reductions", block) is block


def test_a_sum_that_is_read_inside_gets_no_lanes(b):
    s, t = b.var("s", 0.0), b.var("t", 0.0)
    with b.for_("j", 0, N) as j:
        b.assign(s, s + Load(X, j))
        b.assign(t, t + s)
    b.store(Y, 0, t)
    block = typed(b.finish())
    assert only("vector_reductions", block) is block


# -- fills of several dimensions, and in several pieces --------------------------------------


def rows(b, start, stop, store):
    with b.for_("i", start, stop) as i, b.for_("j", 0, M) as j:
        store(i * M + j, j)


def test_a_fill_of_rows_is_taken_over_by_loops_over_them(b):
    b.fill(Y, 0, N * M, 2.0)
    rows(b, 0, N, lambda at, j: b.store(Y, at, Load(Y, at) + Load(X, j)))
    text = agree(typed(b.finish()), {N: 2, M: 3, X: [1.0, 2.0, 3.0], Y: [7.0] * 6})
    assert "fill" not in text


FROM = Var("from_", INTP)


@pytest.mark.parametrize("spoil", ["", "later", "other rows"])
def test_a_fill_of_the_rows_of_a_part_is_taken_over(spoil):
    b = Builder(Names(["n", "m", "from_"]), constants=(N, M, FROM))
    b.fill(Y, FROM * (M + 1 if spoil == "other rows" else M), N * M, 2.0)
    start = FROM + 1 if spoil == "later" else FROM
    rows(b, start, N, lambda at, j: b.store(Y, at, Load(Y, at) + Load(X, j)))
    values = {N: 4, M: 3, FROM: 1, X: [1.0, 2.0, 3.0], Y: [7.0] * 12}
    assert ("fill" in agree(typed(b.finish()), values)) is bool(spoil)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_pieces_without_a_gap_take_a_fill_over(b, n):
    def store(at, j):
        b.store(Y, at, Load(X, j))

    def row(i):
        with b.for_("j", 0, M) as j:
            store(i * M + j, j)

    b.fill(Y, 0, N * M, 2.0)
    first = b.let("first", N.min(1))
    with b.if_(lift(0) < N):
        with b.if_(lift(1) < N):
            row(lift(0))
        with b.else_():
            row(lift(0))
    rows(b, first, N - 1, store)
    last = b.let("last", first.max(N - 1))
    with b.if_(last < N):
        row(last)
    text = agree(typed(b.finish()), {N: n, M: 2, X: [1.0, 2.0], Y: [7.0] * (2 * n)})
    assert "fill" not in text


@pytest.mark.parametrize(
    "spoil", ["gap", "transposed", "other row read", "one branch", "read first", "moving end"]
)
def test_the_fill_of_rows_stays_where_one_may_keep_it(b, spoil):
    b.fill(Y, 0, N * M, 2.0)
    end = b.var("end", N)
    if spoil == "read first":
        b.store(Buffer("z", FLOAT64), 0, Load(Y, lift(0)))
    if spoil == "moving end":
        b.assign(end, N - 1)
    with b.for_("i", 1 if spoil == "gap" else 0, end if spoil == "moving end" else N) as i:
        with b.for_("j", 0, M) as j:
            if spoil == "transposed":
                b.store(Y, j * N + i, Load(X, j))
            elif spoil == "one branch":
                with b.if_(Load(X, j) > 1.5):
                    b.store(Y, i * M + j, 5.0)
            else:
                b.store(Y, i * M + j, Load(X, j))
        if spoil == "other row read":
            b.store(Buffer("z", FLOAT64), 0, Load(Y, N * M - 1))
    values = {N: 2, M: 3, X: [1.0, 2.0, 3.0], Y: [7.0] * 6, Buffer("z", FLOAT64): [0.0]}
    assert "fill" in agree(typed(b.finish()), values)


@pytest.mark.parametrize("loads", [False, True])
def test_a_piece_that_begins_before_the_last_one_ended(b, loads):
    b.fill(Y, 0, N, 2.0)
    with b.if_(M < N):
        with b.for_("i", 0, M) as i:
            b.store(Y, i, Load(X, i))
        with b.for_("i", 0, N) as i:
            b.store(Y, i, Load(X, i) + (Load(Y, i) if loads else 1.0))
    with b.else_(), b.for_("i", 0, N) as i:
        b.store(Y, i, 1.0)
    text = agree(typed(b.finish()), {N: 3, M: 2, X: [1.0, 2.0, 3.0], Y: [7.0] * 3})
    assert ("fill" in text) is loads


def test_both_branches_may_store_an_element(b):
    b.fill(Y, 0, N, 2.0)
    with b.for_("i", 0, N) as i:
        with b.if_(Load(X, i) > 1.5):
            b.store(Y, i, 5.0)
        with b.else_():
            b.store(Y, i, Load(Y, i) + 1.0)
    text = agree(typed(b.finish()), {N: 3, X: [1.0, 2.0, 3.0], Y: [7.0, 7.0, 7.0]})
    assert "fill" not in text
