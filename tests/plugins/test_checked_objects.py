"""What is wrong with an object of a plugin is told when it is registered."""

from __future__ import annotations

import threading
import types
from typing import Any

import attrs
import numpy as np
import pytest
from plugin_support import Field, Order, format_like, plugin, registered

from finch_core import Tensor, _, kernel
from finch_core.errors import FormatError, PluginError
from finch_core.level import Format, Sharing
from finch_core.operators import operator
from finch_core.plugins import Hub
from finch_core.records import evolve
from finch_core.testing import wrapper_names
from finch_levels import Element

METHODS = ("declare", "assemble", "freeze", "thaw", "unfurl", "sizes")


def refused(**hooks: Any) -> str:
    made = Hub()
    with pytest.raises(PluginError) as error:
        made.register(plugin(**hooks), "mine")
    assert not made.report()
    return error.value.message


def refused_format(**members: Any) -> str:
    return refused(finch_level_format=lambda: format_like(**members))


def test_what_is_right_is_taken() -> None:
    made = Hub()
    made.register(plugin(finch_level_format=lambda: format_like()), "mine")
    assert list(made.levels) == ["Mine"]
    assert wrapper_names()  # all that is installed was taken, too


@pytest.mark.parametrize(
    ("method", "function", "wanted"),
    [
        ("assemble", lambda self, ctx, lvl, start: None, "ctx, lvl, start, stop"),
        ("declare", lambda self, ctx, lvl: None, "ctx, lvl, init"),
        ("freeze", lambda self, ctx, lvl, start, stop: None, "ctx, lvl, stop"),
        ("thaw", lambda ctx, lvl, stop: None, "ctx, lvl, stop"),
        ("unfurl", lambda self, ctx, fiber: None, "ctx, fiber, mode, protocol"),
        ("sizes", lambda self, positions, shape: None, "positions, shape, fields"),
        ("blank", lambda self, positions, shape, fields: None, "positions, shape"),
        ("join", lambda self, ctx, lvl, part: None, "ctx, lvl, part, start, count"),
        ("stored_before", lambda self, ctx, stop: None, "ctx, lvl, stop"),
        ("locate", lambda self, position, index: None, "fields, position, index, shape"),
        ("freeze", staticmethod(lambda self, ctx, lvl, stop: None), "ctx, lvl, stop"),
        ("freeze", lambda self, ctx, lvl, stop, *, hard: None, "ctx, lvl, stop"),
    ],
)
def test_a_wrong_signature_is_refused(method: str, function: Any, wanted: str) -> None:
    message = refused_format(**{method: function})
    assert "the level format 'Mine' has a method with the wrong signature: " in message
    assert f"{method}(" in message
    assert f"it is called as {method}({wanted})" in message


@pytest.mark.parametrize(
    "function",
    [
        lambda self, *args: None,
        lambda self, ctx, lvl, stop, more=0: None,
        staticmethod(lambda ctx, lvl, stop: None),
        classmethod(lambda cls, ctx, lvl, stop: None),
        lambda self, ctx, lvl, stop, **options: None,
    ],
)
def test_any_signature_that_can_be_called_is_taken(function: Any) -> None:
    Hub().register(plugin(finch_level_format=lambda: format_like(freeze=function)), "mine")


def test_a_format_takes_what_its_base_has() -> None:
    base = format_like("Base")
    derived = attrs.frozen(type("Derived", (base,), {"name": "Derived"}))
    Hub().register(plugin(finch_level_format=lambda: [base, derived]), "mine")


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"order": "once"}, "has order = 'once': an order is Order.ONCE or Order.ANY"),
        ({"protocols": "walk"}, "has protocols = 'walk': a set of names"),
        ({"protocols": {"folow"}}, "has the protocol 'folow': protocols are 'walk', 'gallop'"),
        ({"name": 5}, "has the name 5"),
        ({"structure": "list"}, "has structure = 'list': a Structure is expected"),
        ({"parallel": Sharing.JOINED}, "has parallel = <Sharing.JOINED: 'joined'>: a set of"),
        ({"parallel": {"joined"}}, "has 'joined' in parallel, which is none of 'Sharing.DISJOINT'"),
        (
            {"parallel": {Sharing.COPIED}, "fields": (Field("ptr", np.int64, "x"),)},
            "has Sharing.COPIED and fields: copies are of the leaf's values alone",
        ),
        ({"fields": Field("ptr", np.int64, "x")}, "has wrong fields: a tuple of"),
        ({"fields": (Field("a", np.int64, "x"),) * 2}, "has two fields that are called 'a'"),
        ({"child": None}, "has no child: its first field is lvl"),
        ({"__hash__": None, "__eq__": lambda a, b: True}, "cannot be hashed"),
    ],
)
def test_what_a_format_says_of_itself_is_checked(members: dict[str, Any], message: str) -> None:
    made = {"name": "Mine", **members}
    assert message in refused(finch_level_format=lambda: type("Mine", (format_like(),), made))


def test_the_algebra_of_an_operator_is_of_dtypes() -> None:
    made = evolve(operator("maximum"), name="greatest", python=(), identity=0.0)
    message = refused(finch_operators=lambda: made)
    assert "the operator 'greatest' has identity = 0.0: a function of a dtype is" in message


def test_properties_are_asked_of_an_example() -> None:
    wrong = property(lambda self: "once")
    assert "has order = 'once'" in refused_format(order=wrong)
    Hub().register(plugin(finch_level_format=lambda: format_like(order=property(by_child))), "a")


def by_child(self: Format) -> Order:
    return Order.ANY if self.child is not None else Order.ONCE


@pytest.mark.parametrize(
    ("name", "dtype", "message"),
    [
        ("ptr", "flot32", "the field 'ptr' has the dtype 'flot32', which is not a dtype"),
        ("ptr", object, "the field 'ptr' has the dtype object, which is not supported"),
        ("ptr", np.longdouble, "the field 'ptr' has the dtype float128, which is not supported"),
        ("a b", np.int64, "a field is called 'a b', which is not an identifier"),
        (3, np.int64, "a field is called 3, which is not an identifier"),
    ],
)
def test_fields_have_a_name_and_a_dtype(name: Any, dtype: Any, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        Field(name, dtype, "what it is")
    fields = property(lambda self: (Field(name, dtype, "what it is"),))
    assert f"the level format 'Mine' has wrong fields: {message}" in refused_format(fields=fields)


def test_a_field_takes_what_numpy_takes_for_a_dtype() -> None:
    assert Field("val", float, "x").dtype is np.dtype(np.float64)
    assert Field("val", "int8", "x").dtype is np.dtype(np.int8)


def test_an_object_is_no_format() -> None:
    Mine = format_like()
    message = refused(finch_level_format=lambda: Mine(Element(0.0)))
    assert "is an object" in message
    assert "the hook gives the class, Mine" in message
    assert "is not a subclass of finch_core.level.Format" in refused(
        finch_scalar=lambda: type("Duck", (), {m: getattr(Mine, m) for m in METHODS})
    )


@pytest.mark.parametrize(
    "hook", ["finch_level_format", "finch_wrapper", "finch_mask", "finch_scalar", "finch_operators"]
)
def test_a_hook_that_gives_nothing_is_refused(hook: str) -> None:
    assert f"{hook}() returns nothing" in refused(**{hook: lambda: None})
    Hub().register(plugin(**{hook: lambda: []}), "none today")


def test_wrappers_masks_and_rules_are_called_as_they_say() -> None:
    wrapper = type("Wrap", (), {"match_access": lambda self, access, scope: None})
    assert "it is called as match_access(access, scope)" in refused(finch_wrapper=lambda: wrapper)
    mask = type("Stripes", (), {"match_condition": staticmethod(lambda call: None)})
    assert "it is called as match_condition(call, scope)" in refused(finch_mask=lambda: mask)
    rule = types.SimpleNamespace(name="halve", apply=lambda op, args: None)
    assert "it is called as apply(call)" in refused(finch_rewrite_rules=lambda: rule)


def test_a_layout_has_one_format() -> None:
    made = Hub()
    made.register(plugin(finch_level_format=lambda: format_like("A", layout="rows")), "first")
    with pytest.raises(PluginError, match=r"the layout 'rows' of .*'B' is that of 'A' of 'first'"):
        made.register(plugin(finch_level_format=lambda: format_like("B", layout="rows")), "second")
    assert made.layout("rows").name == "A"
    twice = [format_like("C", layout="columns"), format_like("D", layout="columns")]
    assert "of this plugin" in refused(finch_level_format=lambda: twice)


@kernel
def total(s, a):
    s[...] = 0
    for i in _:
        s[()] += a[i]
    return s


def test_an_object_is_a_plugin_as_a_module_is() -> None:
    """Kernels are compiled, and kept, with one in the hub of the process."""
    seen = []
    with registered(finch_after_stage=lambda name, stage: seen.append(stage)):
        assert total(Tensor(Element(0.0)), np.ones(3, np.float32)).value == 3
    assert seen[-1] == "source"
    format = format_like("Full")
    with registered(finch_level_format=lambda: format):
        assert total(Tensor(Element(0.0)), Tensor(format(Element(0.0)), np.ones(3))).value == 3


def test_a_plugin_may_be_added_while_a_kernel_is_compiled() -> None:
    """It does not wait for the kernel, which is not kept: it may use what the plugin was before."""
    made = kernel(backend="interpreter")(total.__wrapped__)
    added: list[bool] = []

    def add(name, stage):
        def work():
            with registered("another", finch_level_format=lambda: format_like("Full")):
                added.append(True)

        if not added:
            thread = threading.Thread(target=work, daemon=True)
            thread.start()
            thread.join(20)

    x = np.ones(3)
    with registered(finch_after_stage=add):
        assert made(Tensor(Element(0.0)), x).value == 3
        assert added
        assert made.stats()["signatures"] == 0
        assert made(Tensor(Element(0.0)), x).value == 3
        assert made.stats()["signatures"] == 1
