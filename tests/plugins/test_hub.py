"""The hub on plugins registered by hand: what is taken, what is refused, and how it is told."""

from __future__ import annotations

import threading
import types
from typing import Any

import attrs
import pytest

from finch_core.errors import PluginError
from finch_core.ir.primitives import absolute
from finch_core.level import Format, check_child
from finch_core.operators import operator, operators
from finch_core.plugins import Hub, hookimpl, hub


class Level:
    def declare(self, ctx, lvl, init): ...
    def assemble(self, ctx, lvl, start, stop): ...
    def freeze(self, ctx, lvl, stop): ...
    def thaw(self, ctx, lvl, stop): ...
    def unfurl(self, ctx, fiber, mode, protocol): ...
    def sizes(self, positions, shape, fields): ...


def plugin(**hooks: Any) -> types.SimpleNamespace:
    return types.SimpleNamespace(**{name: hookimpl(function) for name, function in hooks.items()})


def level(name: str, without: str = "", **members: Any) -> type:
    body = {k: v for k, v in vars(Level).items() if k != without and not k.startswith("__")}
    body |= {"lvl": attrs.field(converter=check_child), "__annotations__": {"lvl": Format}}
    return attrs.frozen(type(name, (Format,), body | members))


def test_a_registered_format_is_found_by_name_and_layout() -> None:
    made = Hub()
    Column = level("Column", layout="columns")
    made.register(plugin(finch_level_format=lambda: Column), "column")
    assert made.level("Column") is Column
    assert dict(made.levels) == {"Column": Column}
    assert made.layout("columns") is Column
    assert [(e.name, e.registers, e.failure) for e in made.report()] == [
        ("column", ("Column",), "")
    ]


def test_a_hook_may_return_several_objects() -> None:
    made = Hub()
    both = [level("A"), level("B")]
    made.register(plugin(finch_level_format=lambda: both), "both")
    assert sorted(made.levels) == ["A", "B"]


def test_code_without_a_version_shares_no_cache_with_other_processes() -> None:
    one, other = Hub(), Hub()
    assert one.fingerprint() == other.fingerprint()
    for made in (one, other):
        made.register(plugin(finch_after_stage=lambda stage: None), "observer")
    assert one.fingerprint() == other.fingerprint()
    for made in (one, other):
        made.register(plugin(finch_level_format=lambda: level("A")), "a")
    assert one.fingerprint() != other.fingerprint()


def test_unregistering_removes_everything_and_is_told_by_the_generation() -> None:
    made = Hub()
    made.register(plugin(finch_level_format=lambda: level("A")), "a")
    before = made.generation
    made.unregister("a")
    assert not made.levels
    assert made.generation != before
    with pytest.raises(PluginError, match="there is no plugin 'a'"):
        made.unregister("a")


def test_a_blocked_plugin_is_removed_and_not_taken_again() -> None:
    made = Hub()
    module = plugin(finch_level_format=lambda: level("A"))
    made.register(module, "a")
    made.block("a")
    assert not made.levels
    with pytest.raises(PluginError, match="it is blocked"):
        made.register(module, "a")


@pytest.mark.parametrize("method", ["declare", "assemble", "freeze", "thaw", "sizes"])
def test_a_format_that_lacks_a_method_is_refused(method: str) -> None:
    made = Hub()
    lacking = level("Lacking", without=method)
    with pytest.raises(
        PluginError, match=f"the level format 'Lacking' lacks the method '{method}'"
    ):
        made.register(plugin(finch_level_format=lambda: lacking), "lacking")
    assert not made.report()


def test_a_format_needs_unfurl_or_unwrap() -> None:
    lacking = level("Lacking", without="unfurl")
    with pytest.raises(PluginError, match="lacks the method 'unfurl or unwrap'"):
        Hub().register(plugin(finch_level_format=lambda: lacking), "lacking")


def test_a_format_that_does_not_thaw_needs_no_thaw() -> None:
    once = level("Once", without="thaw", thaws=False)
    made = Hub()
    made.register(plugin(finch_level_format=lambda: once), "once")
    assert "Once" in made.levels


def test_methods_of_the_base_class_do_not_count() -> None:
    class Bare(Format):
        pass

    with pytest.raises(PluginError, match="lacks the methods 'declare', 'assemble', 'freeze'"):
        Hub().register(plugin(finch_level_format=lambda: Bare), "bare")


def test_a_wrong_signature_is_refused() -> None:
    with pytest.raises(PluginError, match="a hook has the wrong signature.*stag"):
        Hub().register(plugin(finch_after_stage=lambda stag: None), "wrong")


def test_a_parameter_with_a_default_is_refused() -> None:
    with pytest.raises(PluginError, match="the parameter 'stage' of 'finch_after_stage'"):
        Hub().register(plugin(finch_after_stage=lambda stage="": None), "defaulted")


def test_a_misspelt_hook_is_refused_with_the_right_spelling() -> None:
    with pytest.raises(PluginError, match="'finch_wraper'; did you mean 'finch_wrapper'"):
        Hub().register(plugin(finch_wraper=lambda: []), "misspelt")


def test_a_plugin_without_hooks_is_refused() -> None:
    with pytest.raises(PluginError, match="no function of it is marked with hookimpl"):
        Hub().register(types.SimpleNamespace(finch_wrapper=lambda: []), "unmarked")


def test_a_hook_that_raises_is_refused() -> None:
    def failing():
        raise OSError("no such disk")

    with pytest.raises(PluginError, match=r"finch_mask\(\) failed: OSError: no such disk"):
        Hub().register(plugin(finch_mask=failing), "failing")


def test_a_taken_name_is_refused_and_its_owner_keeps_it() -> None:
    made = Hub()
    first = level("Same")
    made.register(plugin(finch_level_format=lambda: first), "first")
    with pytest.raises(PluginError, match="the level format 'Same' is taken by 'first'"):
        made.register(plugin(finch_level_format=lambda: level("Same")), "second")
    assert made.level("Same") is first
    with pytest.raises(PluginError, match="the plugin name is taken by 'first'"):
        made.register(plugin(finch_level_format=lambda: level("Other")), "first")


def test_an_unknown_name_lists_what_is_installed() -> None:
    made = Hub()
    made.register(plugin(finch_wrapper=lambda: [abs]), "absolute")
    with pytest.raises(PluginError, match="there is no wrapper 'shuffle'\n.*installed: abs"):
        made.wrapper("shuffle")


def test_scalars_and_rules_are_taken() -> None:
    made = Hub()
    leaf = level("Counter")
    rule = types.SimpleNamespace(name="halve", apply=lambda call: None)
    made.register(plugin(finch_scalar=lambda: leaf, finch_rewrite_rules=lambda: [rule]), "both")
    assert made.scalar("Counter") is leaf
    assert made.rules == (rule,)


def test_a_rule_needs_apply() -> None:
    rule = types.SimpleNamespace(name="halve")
    with pytest.raises(PluginError, match="the rewrite rule 'halve' lacks the method 'apply'"):
        Hub().register(plugin(finch_rewrite_rules=lambda: rule), "rule")


def test_operators_come_and_go_with_their_plugin() -> None:
    double = attrs.evolve(absolute, name="double_for_test", python=())
    made = Hub()
    made.register(plugin(finch_operators=lambda: double), "double")
    assert operator("double_for_test") is double
    assert made.operators == (double,)
    made.unregister("double")
    assert double not in operators()


def test_an_operator_of_a_known_name_is_refused() -> None:
    other = attrs.evolve(absolute, python=())
    with pytest.raises(PluginError, match="the operator 'abs' exists already"):
        Hub().register(plugin(finch_operators=lambda: other), "other")
    assert operator("abs") is absolute


def test_observers_are_all_called() -> None:
    made, seen = Hub(), []

    def observer(tag):
        return lambda name, stage: seen.append((tag, name, stage))

    made.register(plugin(finch_after_stage=observer("a")), "a")
    made.register(plugin(finch_after_stage=observer("b")), "b")
    made.after_stage("spmv", "assembly", object())
    assert sorted(seen) == [("a", "spmv", "assembly"), ("b", "spmv", "assembly")]


def test_an_observer_that_raises_is_named() -> None:
    made = Hub()

    def failing(name, seconds, cached):
        raise ValueError("no clock")

    made.register(plugin(finch_kernel_built=failing), "clock")
    with pytest.raises(PluginError, match="finch_kernel_built failed: ValueError: no clock") as e:
        made.kernel_built("spmv", {"python": 0.1}, False)
    assert "'clock'" in e.value.hint


def test_the_hub_of_the_process_is_one_in_all_threads() -> None:
    found: list[Hub] = []
    threads = [threading.Thread(target=lambda: found.append(hub())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len({id(h) for h in found}) == 1


def test_nothing_installed_is_told() -> None:
    with pytest.raises(PluginError, match="no plugins are installed"):
        Hub.discover([])
