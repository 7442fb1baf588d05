"""The builder emits what it reads like, and nothing that would do nothing."""

import numpy as np
import pytest

from finch_core.ir.assembly import Assign, Block, Break, For, If, Let, Return, Store, While
from finch_core.ir.builder import Builder, Names
from finch_core.ir.expressions import FALSE, TRUE, Buffer, Call, Literal, Var

INT = np.dtype(np.int64)
F64 = np.dtype(np.float64)
X = Buffer("x", F64)
N = Var("n", INT)


@pytest.fixture
def b():
    return Builder(Names(), constants=(N,))


def test_names_count_up_and_avoid_words_of_c():
    names = Names(["taken"])
    got = [names.fresh(base) for base in ["q", "q", "q_2", "q", "for", "taken", "for"]]
    assert got == ["q", "q_2", "q_2_2", "q_3", "for_", "taken_2", "for__2"]


def test_a_literal_or_constant_is_not_copied(b):
    assert b.let("k", 3) == Literal(3, int)
    assert b.let("m", N) is N
    q = b.let("q", N + 1)
    assert b.let("r", q) is q
    assert b.finish() == Block((Let(Var("q", INT), N + 1),))


def test_a_mutable_variable_is_copied(b):
    s = b.var("s", 0)
    t = b.let("t", s)
    assert (s, t) == (Var("s", INT), Var("t", INT))
    assert b.finish().statements[1] == Let(t, s)


def test_weak_numbers_become_int64_and_float64(b):
    assert b.var("s", 0.0).dtype == F64
    assert b.var("t", 0, np.dtype(np.int8)).dtype == np.dtype(np.int8)


def test_loops_and_branches(b):
    with b.for_("i", 0, N) as i:
        with b.if_(i < 3):
            b.store(X, i, 1.0)
        with b.else_():
            b.break_()
    loop = For(
        i,
        Literal(0, int),
        N,
        Block((If(i < 3, Block((Store(X, i, Literal(1.0, float)),)), Block((Break(),))),)),
    )
    assert b.finish() == Block((loop,))


@pytest.mark.parametrize(("cond", "kept"), [(TRUE, 1), (FALSE, 2), (1, 1), (0, 2)])
def test_a_literal_condition_leaves_one_branch(b, cond, kept):
    s = b.var("s", 0)
    with b.if_(cond):
        b.assign(s, 1)
    with b.else_():
        b.assign(s, 2)
    assert b.finish().statements[1:] == (Assign(s, Literal(kept, int)),)


def test_empty_things_vanish(b):
    with b.if_(N < 1):
        pass
    with b.for_("i", 0, N), b.if_(N < 2):
        pass
    with b.while_(N < 3):
        pass
    with b.for_("i", 3, 3) as i:
        b.store(X, i, 0.0)
    with b.while_(FALSE):
        b.store(X, 0, 0.0)
    assert not b.finish()


def test_an_empty_branch_negates_the_condition(b):
    with b.if_(N < 1):
        pass
    with b.else_():
        b.break_()
    (statement,) = b.finish().statements
    assert statement == If(N >= 1, Block((Break(),)))


def test_a_collected_block_is_emitted_on_request(b):
    with b.block() as nothing:
        pass
    with b.block() as something, b.while_(N < 1):
        b.break_()
    assert not nothing
    b.extend(something)
    assert b.finish() == Block((While(N < 1, Block((Break(),))),))


def test_else_without_if_is_refused(b):
    with b.if_(N < 1):
        b.break_()
    b.comment("between")
    with pytest.raises(ValueError, match="directly follow"), b.else_():
        pass


def test_functions_are_built_once_and_after_those_they_call(b):
    a = Var("a", INT)
    built = []

    def twice(fb, a):
        built.append("twice")
        fb.ret(a + a)

    def four(fb, a):
        inner = fb.function("twice", (a,), INT, twice)
        half = fb.let("half", fb.invoke(inner, a))
        fb.ret(fb.invoke(inner, half))

    first = b.function("four", (a,), INT, four)
    again = b.function("four", (a,), INT, four)
    assert first is again
    assert built == ["twice"]
    assert [f.name for f in b.functions] == ["twice", "four"]
    assert b.functions[0].body == Block((Return(a + a),))


def test_a_condition_that_is_no_bool_is_compared_with_zero(b):
    with b.while_(N):
        b.break_()
    (loop,) = b.finish().statements
    assert isinstance(loop.cond, Call)
    assert loop.cond == N.ne(0)
