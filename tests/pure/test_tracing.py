"""What can be seen of a compilation: statistics, the trace, and the hooks that observe."""

from types import ModuleType

import numpy as np

from finch_core import Tensor, kernel
from finch_core.plugins import hookimpl, hub
from finch_levels import Dense, Element


def double(y, x):
    y[...] = 0
    for i in _:
        y[i] = 2 * x[i]
    return y


def arguments():
    return Tensor(Dense(Element(0.0))), np.ones(3)


def test_stats_count_calls_and_name_the_stages():
    run = kernel(backend="interpreter")(double)
    for _turn in range(3):
        run(*arguments())
    stats = run.stats()
    assert (stats["calls"], stats["signatures"], stats["from_disk"]) == (3, 1, 0)
    assert {"normalize", "lower", "compile"} <= set(stats["seconds"])


def test_the_trace_prints_every_stage(monkeypatch, capsys):
    monkeypatch.setenv("FINCH_TRACE", "1")
    kernel(backend="interpreter")(double)(*arguments())
    printed = capsys.readouterr().err
    for stage in ("program", "normalized", "assembly", "source"):
        assert f"-- double: {stage}\n" in printed


def test_no_trace_is_printed_unless_asked_for(monkeypatch, capsys):
    monkeypatch.setenv("FINCH_TRACE", "0")
    kernel(backend="interpreter")(double)(*arguments())
    assert capsys.readouterr().err == ""


def test_observers_see_the_stages_in_order():
    seen = []
    plugin = ModuleType("observer")

    @hookimpl
    def finch_after_stage(name, stage, value):
        seen.append((name, stage))

    @hookimpl
    def finch_kernel_built(name, seconds, cached):
        seen.append((name, cached))

    plugin.finch_after_stage = finch_after_stage
    plugin.finch_kernel_built = finch_kernel_built
    hub().register(plugin, "observer")
    try:
        kernel(backend="interpreter")(double)(*arguments())
    finally:
        hub().unregister("observer")
    stages = [("double", s) for s in ("program", "normalized", "assembly", "source")]
    assert [s for s in seen if s[0] == "double"] == [*stages, ("double", False)]


def test_rules_of_a_kernel_are_applied_and_kept_off_the_disk():
    from finch_core.ir.expressions import Literal
    from finch_core.symbolic.simplifier import Rule

    def halve(call):
        return Literal(7.0, float) if any(a == Literal(2, int) for a in call.args) else None

    run = kernel(rules=[Rule("two times anything is seven", halve, ("mul",))])(double)
    assert run(*arguments()).to_numpy().tolist() == [7.0, 7.0, 7.0]
    assert run.lower(*arguments()).key == ""
    assert kernel(double)(*arguments()).to_numpy().tolist() == [2.0, 2.0, 2.0]
