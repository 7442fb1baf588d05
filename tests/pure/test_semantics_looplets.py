"""The rules of the paper's figure "Looplet evaluation semantics", one test each,
named after the rule: a looplet, and the assembly that a loop over it becomes."""

import attrs
import pytest
from semantics_support import (
    IDX,
    INDEX,
    ZERO,
    Made,
    N,
    Register,
    X,
    assign,
    has_test,
    is_text,
    loop_over,
    text_of,
    value,
)

from finch_core.ir import primitives as prim
from finch_core.ir.assembly_text import expr_text
from finch_core.ir.dtypes import FLOAT64, INTP
from finch_core.ir.expressions import Access, Buffer, Index, Load, Var, lift
from finch_core.ir.program import (
    Extent,
    Loop,
    Update,
)
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
from finch_core.lower import statements as lowering


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


RULES = {
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
"""The rules of the figure, in its order, and the function that each is here. Where the paper has a
rule for each outcome of a condition, one function emits both (section "Recursive Lowering")."""


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_of_the_figure_has_its_test(rule):
    assert has_test(rule, globals())
