"""The rules of the paper's figures "Basic evaluation semantics" and "Looplet evaluation semantics",
one test each, named after the rule: a looplet, and the assembly that a loop over it becomes."""

import re
from textwrap import dedent

import attrs
import pytest

from finch_core import lowering, rewrite
from finch_core import primitives as prim
from finch_core.assembly import Block
from finch_core.assembly_text import block_text, expr_text
from finch_core.binding import BoundTensor, Constant, TensorLike, bind_level
from finch_core.builder import Names
from finch_core.context import Context
from finch_core.dtypes import FLOAT64, INTP
from finch_core.expressions import Access, Buffer, Index, Literal, Load, Name, Var, lift
from finch_core.level import Mode
from finch_core.looplets import (
    AcceptRun,
    Jumper,
    Lookup,
    Phase,
    Run,
    Sequence,
    Spike,
    Stepper,
    Switch,
    Thunk,
)
from finch_core.looplets.lookup import each_index
from finch_core.notation import (
    Declare,
    Define,
    Extent,
    Freeze,
    Loop,
    Sequential,
    Sieve,
    Thaw,
    Update,
)
from finch_core.simplify import Simplifier
from finch_levels import Dense, Element, SparseList

INDEX, N, S = Index("i"), Var("n", INTP), Var("s", FLOAT64)
X, IDX = Buffer("x", FLOAT64), Buffer("idx", INTP)
ZERO = Constant(Literal(0.0, FLOAT64, structural=True))


@attrs.frozen
class Register(TensorLike):
    """A scalar that updates the variable ``s``."""

    ndim = 0
    dtype = FLOAT64
    fill_value = None

    def update(self, ctx, op, value):
        ctx.assign(S, value if op is None else op_call(op, value))


def op_call(op, value):
    from finch_core.expressions import call

    return call(op, S, value)


@attrs.frozen(eq=False)
class Made(TensorLike):
    """A vector that is whatever looplet it is given."""

    looplet: object
    ndim = 1
    dtype = FLOAT64
    dims = (None,)

    def unfurl(self, ctx, mode, protocol):
        return self.looplet


def value(expr):
    return Constant(expr)


def text_of(stmt, *facts):
    ctx = Context(Names(["n", "s", "q"]), Simplifier(), constants=(N,))
    for fact in facts:
        ctx.prover.know(fact)
    ctx.lower(stmt)
    return block_text(ctx.finish())


def loop_over(looplet, *facts, start=0, stop=N, op=prim.add):
    """``for i in range(start, stop): s += looplet[i]``."""
    body = Update(Access(Register(), ()), op, Access(Made(looplet), (INDEX,)))
    return text_of(Loop(INDEX, Extent(lift(start), lift(stop)), body), *facts)


def is_text(found, wanted):
    assert found == dedent(wanted).strip("\n") + ("\n" if found.endswith("\n") else "")


def stepper(kind=Stepper, tail=ZERO, bound=N, seek="search"):
    """Steps that end with the stored indices, worth ``x[q]``."""
    q = Var("q", INTP)

    def emit_seek(ctx, index):
        ctx.comment(f"{seek} {expr_text(index)}")

    return kind(
        position=q,
        end=Var("q_stop", INTP),
        stop=lambda q: Load(IDX, q) + 1,
        body=lambda ctx, q: Spike(ZERO, value(Load(X, q))),
        seek=emit_seek,
        bound=bound,
        tail=None if tail is None else Run(tail),
        start=lift(0),
    )


# -- looplets -----------------------------------------------------------------------------------


def test_run():
    """The value takes the place of the access; what is then invariant is summed at once."""
    is_text(
        loop_over(Run(value(Load(X, lift(3))))),
        """
        if 0 < n:
            s += x[3] * float64(n)
        """,
    )


def test_run_of_fill_leaves_nothing():
    assert loop_over(Run(ZERO)) == ""


def test_lookup():
    found = loop_over(Lookup(lambda ctx, i: value(Load(X, i))))
    is_text(
        found,
        """
        for i in range(0, n):
            s += x[i]
        """,
    )


def test_lookup_at_a_point_has_no_loop():
    assert (
        loop_over(Lookup(lambda ctx, i: value(Load(X, i))), start=4, stop=5).strip() == "s += x[4]"
    )


def test_accept_run():
    """An accepting run takes what does not vary along the loop once."""
    taken = []

    def accept(ctx, start, stop):
        taken.append((start, stop))
        return Register()

    body = Update(Access(Made(AcceptRun(accept)), (INDEX,)), None, Load(X, lift(0)))
    found = text_of(Loop(INDEX, Extent(lift(0), N), body))
    is_text(
        found,
        """
        if 0 < n:
            s = x[0]
        """,
    )
    assert taken == [(lift(0), N)]


def test_switch():
    """Both rules, *SwitchTrue* and *SwitchFalse*, under a test."""
    flag = Var("n", INTP) > 5
    is_text(
        loop_over(Switch(flag, value(Load(X, lift(0))), value(Load(X, lift(1)))), stop=1),
        """
        if n > 5:
            s += x[0]
        else:
            s += x[1]
        """,
    )


def test_switch_true():
    assert (
        loop_over(Switch(lift(True), value(Load(X, lift(0))), ZERO), stop=1).strip() == "s += x[0]"
    )


def test_switch_false():
    assert loop_over(Switch(lift(False), value(Load(X, lift(0))), ZERO), stop=1) == ""


def test_thunk():
    """Preamble, body, epilogue."""

    def code(ctx):
        ctx.comment("preamble")
        yield value(Load(X, lift(0)))
        ctx.comment("epilogue")

    lines = loop_over(Thunk(code), stop=1).splitlines()
    assert [line.strip() for line in lines] == ["# preamble", "s += x[0]", "# epilogue"]


def test_thunk_that_nothing_needs_is_not_run():
    def code(ctx):
        raise AssertionError("not needed")
        yield ZERO

    part = Sequence((Phase(lift(0), Thunk(code)), Phase(None, ZERO)))
    assert loop_over(part, N >= 0) == ""


def test_phase():
    """The loop's extent is intersected with the phase's."""
    k = Var("k", INTP)
    phase = Sequence((Phase(k, Lookup(lambda ctx, i: value(Load(X, i)))), Phase(None, ZERO)))
    is_text(
        loop_over(phase),
        """
        i_stop: int64 = min(n, k)
        for i in range(0, i_stop):
            s += x[i]
        i_start: int64 = max(0, k)
        """,
    )


def test_phase_that_is_known_to_fit_is_not_clamped():
    k = Var("n", INTP) - 1
    phase = Sequence((Phase(k, Lookup(lambda ctx, i: value(Load(X, i)))), Phase(None, ZERO)))
    assert "range(0, n - 1)" in loop_over(phase)


def test_sequence():
    """One loop a phase, in order."""
    parts = Sequence(
        (Phase(lift(1), value(Load(X, lift(7)))), Phase(None, value(Load(X, lift(8)))))
    )
    is_text(
        loop_over(parts, N > 1),
        """
        s += x[7]
        s += x[8] * float64(n - 1)
        """,
    )


def test_sequence_at_a_point_is_a_test():
    k = Var("k", INTP)
    parts = Sequence((Phase(k, value(Load(X, lift(7)))), Phase(None, ZERO)))
    is_text(
        loop_over(parts, start=3, stop=4),
        """
        if 3 < k:
            s += x[7]
        """,
    )


def test_spike():
    """A run up to the last index, and a value there."""
    found = loop_over(Spike(value(Load(X, lift(0))), value(Load(X, lift(1)))), N > 1)
    is_text(
        found,
        """
        s += x[0] * float64(n - 1)
        s += x[1]
        """,
    )


def test_stepper_seek():
    """A loop that begins elsewhere than the stepper stands seeks first."""
    assert "# search 5" in loop_over(stepper(), start=5)
    assert "#" not in loop_over(stepper(), start=0)


def test_stepper_next():
    """A lone stepper that covers the loop is a counted loop over its steps."""
    found = loop_over(stepper())
    is_text(
        found,
        """
        mut i_reached: int64 = 0
        for q_2 in range(q, q_stop):
            i: int64 = idx[q_2]
            s += x[q_2]
            i_reached = i + 1
        """,
    )


def test_stepper_next_in_part_of_its_extent():
    """A loop that may end before the steps do takes those that fit."""
    found = loop_over(stepper(bound=Var("m", INTP)))
    is_text(
        found,
        """
        mut i_reached: int64 = 0
        while q < q_stop and idx[q] < n:
            i: int64 = idx[q]
            s += x[q]
            i_reached = i + 1
            q += 1
        """,
    )


def two(kind):
    """A product of two step structures."""
    first = stepper(kind)
    other = attrs.evolve(
        first,
        position=Var("p", INTP),
        end=Var("p_stop", INTP),
        stop=lambda p: Load(Buffer("jdx", INTP), p) + 1,
        body=lambda ctx, p: Spike(ZERO, value(Load(Buffer("y", FLOAT64), p))),
    )
    product = Access(Made(first), (INDEX,)) * Access(Made(other), (INDEX,))
    body = Update(Access(Register(), ()), prim.add, product)
    return text_of(Loop(INDEX, Extent(lift(0), N), body), N >= 0)


def test_two_steppers_merge_in_one_loop_with_three_branches():
    found = two(Stepper)
    assert found.count("while") == 1
    assert found.count("s += x[q] * y[p]") == 1
    assert found.count("q += 1") == 1
    assert found.count("p += 1") == 2


def test_jumper():
    """Of two jumpers the longer stride leads: the step is the larger of the two ends."""
    found = two(Jumper)
    assert "max(" in found
    assert found.count("while") == 1


def test_simplify():
    """Multiplying by a fill of zero is what makes a product of a run vanish."""
    product = Access(Made(Run(ZERO)), (INDEX,)) * Access(
        Made(Lookup(lambda c, i: value(Load(X, i)))), (INDEX,)
    )
    body = Update(Access(Register(), ()), prim.add, product)
    assert text_of(Loop(INDEX, Extent(lift(0), N), body)) == ""


# -- statements ---------------------------------------------------------------------------------


def assign(expr, op=None):
    return Update(Access(Register(), ()), op, expr)


def test_loop():
    is_text(
        text_of(Loop(INDEX, Extent(lift(0), N), assign(Load(X, INDEX)))),
        """
        for i in range(0, n):
            s = x[i]
        """,
    )


def test_loop_that_repeats_an_assignment_runs_it_once():
    is_text(
        text_of(Loop(INDEX, Extent(lift(0), N), assign(Load(X, lift(0))))),
        """
        if 0 < n:
            s = x[0]
        """,
    )


def test_define():
    d = Name("d", FLOAT64)
    is_text(
        text_of(Define(d, Load(X, lift(0)) + 1.0, assign(d * d))),
        """
        d: float64 = x[0] + 1.0
        s = d * d
        """,
    )


def test_define_of_a_constant_is_that_constant():
    d = Name("d", FLOAT64)
    assert text_of(Define(d, Literal(2.0, FLOAT64), assign(d * d))).strip() == "s = 4.0"


def test_block():
    is_text(
        text_of(Sequential((assign(Load(X, lift(0))), assign(Load(X, lift(1)), prim.add)))),
        """
        s = x[0]
        s += x[1]
        """,
    )


def test_sieve_true():
    assert text_of(Sieve(lift(True), assign(Load(X, lift(0))))).strip() == "s = x[0]"


def test_sieve_false():
    assert text_of(Sieve(lift(False), assign(Load(X, lift(0))))) == ""


def test_sieve_on_what_is_not_known_is_a_test():
    is_text(
        text_of(Sieve(N > 2, assign(Load(X, lift(0))), assign(Load(X, lift(1))))),
        """
        if n > 2:
            s = x[0]
        else:
            s = x[1]
        """,
    )


def test_sieve_on_what_the_loops_imply_is_no_test():
    assert text_of(Sieve(N > 2, assign(Load(X, lift(0)))), N > 5).strip() == "s = x[0]"


def test_assign():
    assert text_of(assign(Load(X, lift(0)))).strip() == "s = x[0]"
    assert text_of(assign(Load(X, lift(0)), prim.mul)).strip() == "s *= x[0]"


def test_literal():
    assert text_of(assign(Literal(2.5, FLOAT64))).strip() == "s = 2.5"


def test_variable():
    """A ``let`` variable is the variable of the kernel that it was bound to."""
    d = Name("d", FLOAT64)
    found = text_of(Define(d, Load(X, lift(0)), assign(d + d)))
    assert found.splitlines()[1].strip() == "s = d + d"


def test_value():
    """What the looplets brought in of the target language is left as it is."""
    assert text_of(assign(Load(X, N - 1))).strip() == "s = x[n - 1]"


def test_call():
    assert text_of(assign((N + 1) * 2)).strip() == "s = (n + 1) * 2"


def test_index():
    """An index is the variable of its loop, or the one index that the loop has."""
    body = assign(Load(X, INDEX + 1))
    assert "s = x[i + 1]" in text_of(Loop(INDEX, Extent(lift(0), N), body))
    assert text_of(Loop(INDEX, Extent(lift(4), lift(5)), body)).strip() == "s = x[5]"


def test_access():
    """A scalar that is read unwraps to an expression."""
    assert text_of(assign(Access(value(Load(X, lift(3))), ()))).strip() == "s = x[3]"


LIST = SparseList(Element(0.0))


def bound(format):
    names = Names(["n", "s"])
    return BoundTensor("A", format, bind_level(format, "A", names)), names


def life_cycle(*steps, format=LIST):
    """The assembly of each of several statements about one tensor."""
    tensor, names = bound(format)
    ctx = Context(names, Simplifier(), constants=(N,))
    found = []
    for step in steps:
        with ctx.block() as body:
            ctx.lower(step(tensor))
        found.append(block_text(Block(tuple(body))))
    return found


def declare(tensor):
    return Declare(tensor, Literal(0.0, FLOAT64), (Extent(lift(0), N),) * tensor.format.ndim)


def test_declare():
    """The tensor takes its dimensions and is left empty, in update mode."""
    is_text(
        life_cycle(declare)[0],
        """
        A_n0 = n
        grow(A0_ptr, 1)
        A0_ptr[0] = 0
        mut A0_stored: int64 = 0
        mut A0_room: int64 = 0
        grow(A0_ptr, 2)
        A0_ptr[1] = 0
        """,
    )


def test_freeze():
    """The updates end: counts become where each fiber begins."""
    is_text(
        life_cycle(declare, Freeze, format=Dense(LIST))[1],
        """
        mut A1_ptr_sum: int64 = 0
        for p in range(1, A_n0 + 1):
            A1_ptr_sum += A1_ptr[p]
            A1_ptr[p] = A1_ptr_sum
        """,
    )


def test_thaw():
    """Updates go on behind what is stored; a failure would freeze the tensor first."""
    found = life_cycle(declare, Freeze, Thaw)[2]
    assert "mut A0_stored_2: int64 = A0_ptr[1]" in found
    tensor, names = bound(LIST)
    ctx = Context(names, Simplifier(), constants=(N,))
    ctx.lower(Thaw(tensor))
    assert ctx.thawed == (tensor,)
    ctx.lower(Freeze(tensor))
    assert ctx.thawed == ()


def test_unfurl():
    """Accesses of the loop's index become looplets: one for each tensor and mode, others wait."""
    asked = []

    @attrs.frozen(eq=False)
    class Asked(Made):
        def unfurl(self, ctx, mode, protocol):
            asked.append((self, mode))
            return self.looplet

    first = Asked(Lookup(lambda ctx, i: value(Load(X, i))))
    later = Asked(Run(value(Load(X, lift(0)))))
    j = Index("j")
    product = Access(first, (INDEX,)) * Access(first, (INDEX,))
    inner = Loop(j, Extent(lift(0), lift(1)), assign(product * Access(later, (j,)), prim.add))
    is_text(
        text_of(Loop(INDEX, Extent(lift(0), N), inner)),
        """
        for i in range(0, n):
            s += x[i] * x[i] * x[0]
        """,
    )
    assert asked == [(first, Mode.READ), (later, Mode.READ)]


RULES = {
    "Define": lowering._define,
    "Literal": lowering.evaluate,
    "Variable": rewrite.substitute_name,
    "Call": lowering.evaluate,
    "Index": rewrite.substitute_index,
    "Simplify": Simplifier.expr_rule,
    "Block": lowering._sequential,
    "SieveTrue": lowering._sieve,
    "SieveFalse": lowering._sieve,
    "Access": lowering._scalar,
    "Assign": lowering._update,
    "Value": lowering.evaluate,
    "Declare": lowering._declare,
    "Freeze": lowering._freeze,
    "Thaw": lowering._thaw,
    "Unfurl": lowering._loop,
    "Run": Run.lower,
    "Lookup": Lookup.lower,
    "AcceptRun": AcceptRun.lower,
    "SwitchTrue": Switch.lower,
    "SwitchFalse": Switch.lower,
    "Phase": Phase.lower,
    "Thunk": Thunk.lower,
    "Sequence": Sequence.lower,
    "Spike": Spike.lower,
    "StepperSeek": Stepper.synchronize,
    "StepperNext": Stepper.advance,
    "Loop": each_index,
}
"""The rules of both figures, in their order, and the function that each is here. Where the paper
has a rule for each outcome of a condition, one function emits both (section "Recursive
Lowering")."""


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_of_the_figures_has_its_test(rule):
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", rule).lower()
    assert callable(globals()[f"test_{name}"])
