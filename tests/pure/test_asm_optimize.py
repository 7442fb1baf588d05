"""Passes on assembly: what each does, that it keeps the meaning, that it can be switched off."""

import numpy as np
import pytest

from finch_core.interface.abi import FAILED
from finch_core.ir.assembly import Block, For, Merge, Parallel, While
from finch_core.ir.assembly_text import block_text
from finch_core.ir.builder import Builder, Names
from finch_core.ir.dtypes import BOOL, FLOAT64, INTP
from finch_core.ir.expressions import Buffer, Load, Var, lift
from finch_core.ir.typing import typed
from finch_core.optimize import PASSES, optimize
from finch_core.testing.run_block import run_block

PTR, IDX = Buffer("A_ptr", INTP), Buffer("A_idx", INTP)
VAL, X, Y = Buffer("A_val", FLOAT64), Buffer("x_val", FLOAT64), Buffer("y_val", FLOAT64, True)
N, K = Var("n", INTP), Var("k", INTP)
MATRIX = {N: 3, PTR: [0, 2, 2, 3], IDX: [0, 2, 1], VAL: [2.0, 3.0, 4.0]}
ALL = {name for name, _ in PASSES}


@pytest.fixture
def b():
    return Builder(Names(["n", "k"]), constants=(N, K))


def at(buffer, index):
    return Load(buffer, lift(index))


def add(b, buffer, index, value):
    b.store(buffer, index, at(buffer, index) + value)


def only(name, block):
    """``block`` after the pass ``name`` and the removal of dead code."""
    return optimize(block, disabled=ALL - {name, "dead_code"})


def same(block, values, *names):
    """The text after the passes named (default: all); results before and after agree, and legally
    so, as the interpreter checks assembly. Switched off, the passes change nothing."""
    assert optimize(block, disabled=ALL) is block
    new = optimize(block, disabled=ALL - set(names) - {"dead_code"} if names else ())
    before, after = run_block(block, values), run_block(new, values)
    assert before[0] == after[0]
    for name, value in before[1].items():
        np.testing.assert_array_equal(after[1][name], value)
    return block_text(new)


def test_csr_spmv_is_the_textbook_loop(b):
    with b.for_("i", 0, N) as i, b.for_("q", at(PTR, i), at(PTR, i + 1)) as q:
        add(b, Y, i, at(VAL, q) * at(X, at(IDX, q)))
    text = same(typed(b.finish()), {**MATRIX, X: [1, 10, 100], Y: [0, 0, 5]})
    assert (
        text
        == """\
q_many: bool = 0 < n and A_ptr[n] > 1048576
for i in range(0, n):
    mut y_val_i: float64 = y_val[i]
    if q_many:  # unlikely
        prefetch(A_val, A_ptr[i] + 512)
        prefetch(A_idx, A_ptr[i] + 512)
    for q in range(A_ptr[i], A_ptr[i + 1]):  # lanes: add y_val_i
        y_val_i += A_val[q] * x_val[A_idx[q]]
    y_val[i] = y_val_i
"""
    )


def test_csc_spmv_reads_x_once_a_column(b):
    with b.for_("j", 0, N) as j, b.for_("q", at(PTR, j), at(PTR, j + 1)) as q:
        add(b, Y, at(IDX, q), at(VAL, q) * at(X, j))
    text = same(typed(b.finish()), {**MATRIX, X: [1, 10, 100], Y: [0, 0, 5]})
    assert "\nfor j in range(0, n):\n    x_val_j: float64 = x_val[j]\n" in text
    assert "x_val[j]" not in text.split("    for q in")[1]
    assert "y_val[A_idx[q]] += A_val[q] * x_val_j" in text


def test_a_scalar_rises_out_of_all_loops(b):
    b.store(Y, 0, 0.0)
    with b.for_("i", 0, N) as i, b.for_("j", 0, i) as j:
        add(b, Y, 0, at(X, j))
    text = same(typed(b.finish()), {N: 3, X: [1, 2, 3], Y: [7.0]})
    assert text.splitlines()[1] == "mut y_val_0: float64 = y_val[0]"
    assert text.splitlines()[-1] == "y_val[0] = y_val_0"
    assert text.count("y_val[0]") == 3


@pytest.mark.parametrize("n", [0, 2])
def test_a_place_that_may_not_exist_is_guarded(b, n):
    p = b.var("p", K)
    with b.for_("i", 0, N) as i:
        add(b, Y, p, at(X, i))
    b.assign(p, 0)
    block = typed(b.finish())
    text = same(block, {N: n, K: 1 if n else 99, X: [1, 2], Y: [7.0, 8.0]}, "scalar_promotion")
    assert "if 0 < n:\n    mut y_val_p: float64 = y_val[p]\n" in text


@pytest.mark.parametrize("n", [0, 2])
def test_a_while_loop_is_guarded_by_its_condition(b, n):
    p, q = b.var("p", K), b.var("q", 0)
    with b.while_(q < N):
        add(b, Y, p, at(X, q))
        b.assign(q, q + 1)
    b.assign(p, 0)
    block = typed(b.finish())
    text = same(block, {N: n, K: 1 if n else 99, X: [1, 2], Y: [7.0, 8.0]}, "scalar_promotion")
    assert "if q < n:\n    mut y_val_p: float64 = y_val[p]\n    while" in text


def test_what_is_only_accessed_under_a_condition_stays(b):
    with b.for_("i", 0, N) as i, b.if_(i < 0):
        add(b, Y, K, at(X, i))
    block = typed(b.finish())
    same(block, {N: 2, K: 99, X: [1, 2], Y: [7.0]})
    assert optimize(block) is block


def test_unless_it_is_accessed_before_or_after(b):
    with b.for_("i", 0, N) as i, b.if_(i < 1):
        add(b, Y, K, at(X, i))
    b.store(Y, K, at(Y, K) * 2.0)
    text = same(typed(b.finish()), {N: 2, K: 0, X: [1, 2], Y: [7.0]}, "scalar_promotion")
    assert text.startswith("mut y_val_k: float64 = y_val[k]\nfor i")


def test_room_that_comes_later_does_not_count(b):
    with b.for_("i", 0, N) as i, b.if_(i < 0):
        add(b, Y, K, at(X, i))
    b.grow(Y, K + 1)
    b.store(Y, K, 2.0)
    text = same(typed(b.finish()), {N: 2, K: 5, X: [1, 2], Y: [7.0] * 3 + [np.nan] * 0 + [0.0] * 3})
    assert text.startswith("for i")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda b, i: add(b, Y, i, 1.0),
        lambda b, i: b.store(X, i, at(Y, i)),
        lambda b, i: b.grow(Y, 3),
        lambda b, i: b.fill(Y, 0, 2, 0.0),
        lambda b, i: b.move(X, 0, Y, 0, 1),
    ],
)
def test_other_accesses_of_the_buffer_prevent_promotion(b, spoil):
    b.store(Y, 0, 0.0)
    with b.for_("i", 0, N) as i:
        add(b, Y, 0, at(X, i))
        spoil(b, i)
    block = typed(b.finish())
    same(block, {N: 2, X: [1, 2], Y: [7.0, 8.0]})
    assert optimize(block, disabled=ALL - {"scalar_promotion"}) is block


def test_an_index_that_the_loop_changes_is_not_promoted(b):
    p = b.var("p", 0)
    with b.for_("i", 0, N) as i:
        add(b, Y, p, at(X, i))
        b.assign(p, p + 1)
    block = typed(b.finish())
    same(block, {N: 2, X: [1, 2], Y: [7.0, 8.0]})
    assert optimize(block, disabled=ALL - {"scalar_promotion"}) is block


def test_a_failure_finds_what_was_written(b):
    b.store(Y, 0, 0.0)
    with b.for_("i", 0, N) as i:
        add(b, Y, 0, at(X, i))
        with b.if_(i.eq(1)):
            b.fail(1, i)
    block = typed(b.finish())
    text = same(block, {N: 3, X: [1, 2, 4], Y: [7.0]}, "scalar_promotion")
    assert "y_val[0] = y_val_0\n        fail(1, i)" in text
    assert run_block(optimize(block), {N: 3, X: [1, 2, 4], Y: [7.0]})[0] == FAILED + 1


@pytest.mark.parametrize("merges", [False, True])
def test_a_failure_of_a_part_finds_what_was_written(b, merges):
    part = Var("part", INTP)
    b.store(Y, 0, 0.0)
    with b.for_("i", 0, N) as i:
        add(b, Y, 0, at(X, i))
        with b.block() as body:
            with b.if_(part.eq(i)):
                b.fail(1, i)
            if merges:
                with b.block() as last:
                    add(b, Y, 0, 10.0)
                b.emit(Merge(Block(tuple(last))))
        b.emit(Parallel(part, lift(2), Block(tuple(body))))
    block = typed(b.finish())
    text = same(block, {N: 3, X: [1, 2, 4], Y: [7.0]}, "scalar_promotion")
    assert ("y_val_0" in text) is not merges
    for n, code in ((3, FAILED + 1), (0, 0)):
        assert run_block(optimize(block), {N: n, X: [1, 2, 4], Y: [7.0]})[0] == code


def test_a_break_keeps_what_was_added(b):
    b.store(Y, 0, 0.0)
    with b.for_("i", 0, N) as i:
        add(b, Y, 0, at(X, i))
        with b.if_(i.eq(1)):
            b.break_()
    same(typed(b.finish()), {N: 3, X: [1, 2, 4], Y: [7.0]})


# -- flags ------------------------------------------------------------------------------------


def test_a_dirty_bit_in_a_straight_line_vanishes(b):
    dirty = b.var("dirty", False)
    b.store(Y, 0, 1.0)
    b.assign(dirty, True)
    with b.if_(dirty):
        b.store(Y, 1, 2.0)
    text = same(typed(b.finish()), {Y: [0.0, 0.0]}, "boolean_constants")
    assert text == "y_val[0] = 1.0\ny_val[1] = 2.0\n"


@pytest.mark.parametrize("n", [0, 1, 5])
def test_branches_that_disagree_keep_the_test(b, n):
    dirty = b.var("dirty", False)
    with b.if_(N > 3):
        b.assign(dirty, True)
    with b.if_(dirty):
        b.store(Y, 1, 2.0)
    text = same(typed(b.finish()), {N: n, Y: [0.0, 0.0]}, "boolean_constants")
    assert "if dirty:" in text


def test_branches_that_agree_decide_it(b):
    dirty = b.var("dirty", False)
    with b.if_(N > 3):
        b.store(Y, 0, 1.0)
        b.assign(dirty, True)
    with b.else_():
        b.assign(dirty, True)
    with b.if_(dirty.not_()):
        b.store(Y, 1, 2.0)
    text = same(typed(b.finish()), {N: 1, Y: [0.0, 0.0]}, "boolean_constants")
    assert text == "if n > 3:\n    y_val[0] = 1.0\n"


@pytest.mark.parametrize("n", [0, 1, 3])
def test_a_loop_carries_flags_around(b, n):
    seen = b.var("seen", False)
    with b.for_("i", 0, N) as i:
        with b.if_(seen):
            add(b, Y, 0, 1.0)
        b.assign(seen, True)
    with b.if_(seen):
        b.store(Y, 1, 2.0)
    text = same(typed(b.finish()), {N: n, Y: [0.0, 0.0]}, "boolean_constants")
    assert text.count("if seen:") == 2
    assert isinstance(i, Var)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_a_branch_that_breaks_does_not_join(b, n):
    seen = b.var("seen", False)
    with b.for_("i", 0, N) as i:
        mine = b.var("mine", False)
        with b.if_(i > 1):
            b.assign(mine, True)
            b.break_()
        with b.if_(mine):
            b.store(Y, 0, 9.0)
        b.assign(seen, True)
    with b.if_(seen):
        b.store(Y, 1, 2.0)
    text = same(typed(b.finish()), {N: n, Y: [0.0, 0.0]}, "boolean_constants")
    assert "9.0" not in text
    assert "if seen" in text


def test_a_loop_that_is_never_entered_goes(b):
    go = b.var("go", True)
    b.assign(go, False)
    with b.while_(go):
        b.store(Y, 0, 1.0)
    assert same(typed(b.finish()), {Y: [0.0]}, "boolean_constants") == ""


def test_a_loop_on_a_flag_knows_it_inside(b):
    go = b.var("go", N > 0)
    with b.while_(go):
        with b.if_(go):
            add(b, Y, 0, 1.0)
        b.assign(go, at(Y, 0) < 3.0)
    text = same(typed(b.finish()), {N: 1, Y: [0.0]}, "boolean_constants")
    assert "if go" not in text


def test_scopes_that_share_a_name_stay_apart(b):
    flag = b.var("flag", True)
    for value in (1.0, 2.0):
        with b.if_(flag):
            b.emit(typed_let(Var("v", FLOAT64), value))
            add(b, Y, 0, Var("v", FLOAT64))
    same(typed(b.finish()), {Y: [0.0]})


def typed_let(var, value):
    from finch_core.ir.assembly import Let

    return Let(var, lift(value))


# -- invariant loads --------------------------------------------------------------------------


def test_the_end_of_a_range_is_read_once(b):
    with b.for_("i", 0, N) as i:
        p = b.var("p", at(PTR, i))
        with b.while_(p < at(PTR, i + 1)):
            add(b, Y, i, at(VAL, p))
            b.assign(p, p + 1)
    text = same(typed(b.finish()), {**MATRIX, Y: [0, 0, 0]}, "invariant_code_motion")
    assert "    A_ptr_i_1: int64 = A_ptr[i + 1]\n" in text
    assert "while p < A_ptr_i_1:" in text


@pytest.mark.parametrize("n", [0, 3])
def test_loads_of_what_may_not_exist_stay(b, n):
    with b.for_("i", 0, N) as i:
        add(b, Y, i, at(X, K))
    block = typed(b.finish())
    same(block, {N: n, K: 0 if n else 99, X: [5.0], Y: [1.0] * n})
    assert only("invariant_code_motion", block) is block


def test_loads_of_what_is_stored_in_the_loop_stay(b):
    with b.for_("i", 0, N) as i, b.for_("j", 0, N) as j:
        b.store(X, j, at(X, i) + 1.0)
    block = typed(b.finish())
    same(block, {N: 3, X: [1.0, 2.0, 3.0]})
    assert only("invariant_code_motion", block) is block


def test_loads_that_a_turn_may_skip_stay(b):
    with b.for_("i", 0, N) as i, b.for_("j", 0, N) as j:
        with b.if_(j > i):
            b.break_()
        with b.if_((j > 0).and_(at(X, i) > 0.0)):
            add(b, Y, j, at(X, i))
    block = typed(b.finish())
    same(block, {N: 3, X: [1.0, 2.0, 3.0], Y: [0.0] * 3})
    assert only("invariant_code_motion", block) is block


def test_a_named_load_moves_with_its_name(b):
    with b.for_("i", 0, N) as i, b.for_("j", 0, N) as j:
        xi = b.let("xi", at(X, i))
        add(b, Y, j, xi * xi)
    data = {N: 3, X: [1.0, 2.0, 3.0], Y: [0.0] * 3}
    text = same(typed(b.finish()), data, "invariant_code_motion")
    assert "    xi: float64 = x_val[i]\n    for j" in text


# -- dead code --------------------------------------------------------------------------------


def test_what_nothing_reads_goes(b):
    unused = b.var("unused", 0)
    chain = b.let("chain", at(PTR, 0))
    b.let("end", chain + 1)
    with b.for_("i", 0, N):
        b.assign(unused, unused + 1)
    assert same(typed(b.finish()), {N: 2, PTR: [0]}, "dead_code") == ""


def test_what_the_tensor_keeps_stays(b):
    b.assign(K, K + 1)
    assert same(typed(b.finish()), {K: 2}, "dead_code") == "k += 1\n"


def test_aliases_and_constants_are_seen_through(b):
    first = b.var("first", N + 1)
    second = b.let("second", first)
    third = b.var("third", second)
    zero = b.var("zero", 0)
    b.store(PTR, zero, third)
    text = same(typed(b.finish()), {N: 2, PTR: [0]}, "dead_code")
    assert text == "first: int64 = n + 1\nA_ptr[0] = first\n"


def test_a_snapshot_of_what_changes_is_no_alias(b):
    count = b.var("count", N)
    old = b.let("old", count)
    b.assign(count, count + 1)
    b.store(PTR, 0, old)
    b.store(PTR, 1, count)
    same(typed(b.finish()), {N: 2, PTR: [0, 0]}, "dead_code")


def test_functions_that_store_are_kept(b):
    a = Buffer("a", INTP)

    def build(fb, a):
        fb.store(a, 0, 7)
        fb.ret(0)

    def probe(fb, a):
        fb.ret(at(a, 0))

    write = b.function("write", (a,), INTP, build)
    read = b.function("read", (a,), INTP, probe)
    b.let("ignored", b.invoke(write, PTR))
    b.let("unused", b.invoke(read, PTR))
    block = typed(b.finish())
    from finch_core.ir.typing import typed_function

    functions = tuple(map(typed_function, b.functions))
    new = optimize(block)
    assert block_text(new) == "ignored: int64 = write(A_ptr)\n"
    assert run_block(new, {PTR: [0]}, functions)[1]["A_ptr"].tolist() == [7]


def test_nothing_stays_nothing():
    block = Block()
    assert optimize(block) is block


def test_what_is_at_its_best_is_left_as_the_same_object(b):
    with b.for_("i", 0, N) as i:
        b.store(Y, i, 0.0)
    block = typed(b.finish())
    assert optimize(block) is block
    assert isinstance(block.statements[0], For)
    assert not isinstance(block.statements[0], While)
    assert i.dtype == INTP != BOOL
