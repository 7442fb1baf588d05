"""A fused function gives what the function gives, whatever it reads besides its arguments."""

from __future__ import annotations

import collections
import enum
import functools
import math
import os
import random
import sys
import time
import types
import typing

import numpy as np
import pytest
from array_support import fa, same

from finch_array.plan import outside as module
from finch_array.plan.outside import NotFollowed, outside
from finch_core import Tensor
from finch_levels import Dense, Element, SparseList

A = np.arange(4.0)


class Scale:
    """An object with an attribute, a slot's worth of state, and a method that reads it."""

    def __init__(self, by):
        self.by = by

    def __call__(self, x):
        return x * self.by

    def times(self, x):
        return x * self.by

    @property
    def twice(self):
        return 2 * self.by


class Slotted:
    __slots__ = ("by",)

    def __init__(self, by):
        self.by = by


class OfClass:
    """A factor of the class, which a function of the class reads."""

    by = 2.0

    @classmethod
    def times(cls, x):
        return x * cls.by


class Inherits(OfClass):
    def more(self, x):
        return super().times(x)


class Meta(type):
    values: typing.ClassVar = [2.0]

    @property
    def by(cls):
        return cls.values[0]


class WithMeta(metaclass=Meta):
    pass


class Lent:
    """A context that reads the factor when it is entered."""

    values: typing.ClassVar = [2.0]

    def __enter__(self):
        return self.values[0]

    def __exit__(self, *_):
        pass


def in_a_context(x):
    with Lent() as by:
        return x * by


def importing(x):
    import settings_of_a_test

    return x * settings_of_a_test.by


def importing_a_name(x):
    from settings_of_a_test import by

    return x * by


def importing_below(x):
    import package_of_a_test.settings

    return x * package_of_a_test.settings.by


def ways():
    """By name: a function of an array, and what changes the factor by which it multiplies."""
    values, table, nested = [2.0], {"by": 2.0}, {"inner": [types.SimpleNamespace(by=2.0)]}
    space, scale, slotted = types.SimpleNamespace(by=2.0), Scale(2.0), Slotted(2.0)
    array, tensor = np.full(1, 2.0), Tensor(Dense(SparseList(Element(0.0))), np.full((1, 1), 2.0))
    module = types.ModuleType("settings_of_a_test")
    module.by = 2.0
    package = types.ModuleType("package_of_a_test")
    package.settings, package.__path__ = module, []
    sys.modules |= {m.__name__: m for m in (module, package)}
    sys.modules["package_of_a_test.settings"] = module
    lazily = types.ModuleType("lazy_settings_of_a_test")
    lazily.values = [2.0]
    exec("def __getattr__(_): return values[0]", vars(lazily))

    def helper(x):
        return x * table["by"]

    return {
        "list": (lambda x: x * values[0], lambda v: values.__setitem__(0, v)),
        "dict": (lambda x: x * table["by"], lambda v: table.update(by=v)),
        "namespace": (lambda x: x * space.by, lambda v: setattr(space, "by", v)),
        "nested": (
            lambda x: x * nested["inner"][0].by, lambda v: setattr(nested["inner"][0], "by", v)
        ),
        "object": (lambda x: x * scale.by, lambda v: setattr(scale, "by", v)),
        "method": (scale.times, lambda v: setattr(scale, "by", v)),
        "property": (lambda x: x * scale.twice / 2, lambda v: setattr(scale, "by", v)),
        "callable": (scale, lambda v: setattr(scale, "by", v)),
        "slots": (lambda x: x * slotted.by, lambda v: setattr(slotted, "by", v)),
        "module": (lambda x: x * module.by, lambda v: setattr(module, "by", v)),
        "attribute of a module's function": (
            lambda x: x * lazily.by, lambda v: lazily.values.__setitem__(0, v)
        ),
        "import": (importing, lambda v: setattr(module, "by", v)),
        "import of a name": (importing_a_name, lambda v: setattr(module, "by", v)),
        "import below a package": (importing_below, lambda v: setattr(module, "by", v)),
        "class": (lambda x: x * OfClass.by, lambda v: setattr(OfClass, "by", v)),
        "function of a class": (
            lambda x: OfClass.times(x), lambda v: setattr(OfClass, "by", v)
        ),
        "inherited": (lambda x: Inherits().more(x), lambda v: setattr(OfClass, "by", v)),
        "class of a class": (
            lambda x: x * WithMeta.by, lambda v: Meta.values.__setitem__(0, v)
        ),
        "context": (in_a_context, lambda v: Lent.values.__setitem__(0, v)),
        "called function": (lambda x: helper(x), lambda v: table.update(by=v)),
        "partial": (functools.partial(lambda f, x: f(x), helper), lambda v: table.update(by=v)),
        "default": (lambda x, k=values: x * k[0], lambda v: values.__setitem__(0, v)),
        "fused": (fa.fused(lambda x: x * values[0]), lambda v: values.__setitem__(0, v)),
        "value of an array": (lambda x: x * array[0], lambda v: array.__setitem__(0, v)),
        "value of a tensor": (
            lambda x: x * float(tensor[0, 0]), lambda v: tensor.__setitem__((0, 0), v)
        ),
    }  # fmt: skip


@pytest.mark.parametrize("name", list(ways()))
def test_what_a_function_reads_is_followed(name):
    function, put = ways()[name]
    scaled = fa.fused(function)
    for value in (2.0, 5.0, 2.0, -1.0):
        put(value)
        same(scaled(A), A * value)


def test_what_an_object_that_is_an_argument_holds_is_followed():
    scale = Scale(2.0)
    scaled = fa.fused(lambda x, by, more: x * by.by + more[0])
    more = [1.0]
    same(scaled(A, scale, more), A * 2 + 1)
    scale.by, more[0] = 3.0, 4.0
    same(scaled(A, scale, more), A * 3 + 4)


def looks():
    """By name: functions that take the values of their argument as they are traced."""
    inner = fa.fused(lambda x: x * 2)
    return {
        "sort": lambda x: fa.sort(x), "concat": lambda x: fa.concat([x, x]),
        "integers": lambda x: x[np.array([1, 2])], "as an array": lambda x: fa.asarray(x) * 2,
        "NumPy": lambda x: np.asarray(x) * 2, "a number": lambda x: x * x.to_numpy().max(),
        "compute": lambda x: fa.compute(x) * 2, "computed": lambda x: fa.compute(x + 1) * 2,
        "format": lambda x: x.to(Dense(Element(0.0))), "buffers": lambda x: x.buffers["1_val"] * 2,
        "copy": lambda x: x.copy(), "fused": lambda x: fa.compute(inner(x)), "none": lambda x: x,
    }  # fmt: skip


def test_what_moves_from_one_list_to_another_is_followed():
    """The values are the same, one after the other."""
    groups = [[], [2.5]]

    @fa.fused
    def grouped(x):
        for k, group in enumerate(groups):
            x = x * group + k if isinstance(group, float) else x * (1 + sum(group)) + k
        return x

    np.testing.assert_array_equal(grouped(A).to_numpy(), A * 3.5 + 1)
    groups[1:1] = [groups[1].pop()]
    np.testing.assert_array_equal(grouped(A).to_numpy(), A * 2.5 + 3)


def test_ranges_that_are_equal_have_other_ends():
    sliced = fa.fused(lambda x, r: x[: r.stop])
    for ends in (range(0, 3, 2), range(0, 4, 2)):
        assert sliced(A, ends).shape == (ends.stop,)


@pytest.mark.parametrize("name", list(looks()))
def test_what_is_computed_while_a_function_is_traced_is_computed_again(name):
    function = looks()[name]
    run, array = fa.fused(function), fa.asarray(A.copy())
    for x in (array, fa.asarray(A[::-1].copy()), array):
        same(run(x), np.asarray(function(x)))
    array[0] = 7.0
    same(run(array), np.asarray(function(array)))


def test_tensors_and_enumerations_inside_of_arguments_are_followed():
    class Kind(enum.Enum):
        BY = [2.0]  # noqa: RUF012

    tensor = fa.asarray(np.array([1.0, 2.0]))
    scaled = fa.fused(lambda x, more, kind: x * float(fa.sum(more[0])) * kind.value[0])
    for value in (2.0, 5.0):
        tensor[0] = Kind.BY.value[0] = value
        same(scaled(A, [tensor], Kind.BY), A * (value + 2) * value)


def test_a_class_that_is_an_argument_is_followed():
    scaled = fa.fused(lambda x, kind: kind.times(x))
    for value in (2.0, 5.0):
        OfClass.by = value
        same(scaled(A, Inherits), A * value)


def test_a_clock_that_is_imported_in_the_function_is_read_in_each_call():
    def function(x):
        from time import perf_counter

        return x * perf_counter()

    run = fa.fused(function)
    assert len({float(run(A)[1]) for _ in range(3)}) == 3


def test_constants_of_equal_value_and_other_type_are_others():
    summed = fa.fused(lambda x, by: x * by[0])
    ints = np.arange(4, dtype=np.int8)
    assert summed(ints, (True,)).dtype == np.int8
    assert summed(ints, (1.0,)).dtype == np.float64


def test_packages_of_other_folders_are_libraries(monkeypatch):
    """As where NumPy is of the system, or of a user: its arrays do not show what they hold."""
    array = np.array([2.0])
    for sites in (module.SITES, ()):
        monkeypatch.setattr(module, "LIBRARIES", ("nowhere",))
        monkeypatch.setattr(module, "SITES", sites)
        module.is_library.cache_clear()
        try:
            assert module.is_library(np.linalg.__name__) == bool(sites)
            with pytest.raises(NotFollowed):
                outside(lambda x: x * array[0])
        finally:
            module.is_library.cache_clear()


def test_random_numbers_are_drawn_in_each_call():
    rng = np.random.default_rng(0)
    drawn = fa.fused(lambda x: x * rng.random())
    assert len({float(fa.sum(drawn(A))) for _ in range(3)}) == 3
    with pytest.raises(NotFollowed):
        outside(drawn.function)


def test_a_function_is_traced_once_where_nothing_changes():
    traced, table, seen = [], {"by": 2.0}, {}

    def function(x):
        traced.append(1)
        seen[len(seen)] = 1
        return x * table["by"]

    scaled = fa.fused(function)
    for _ in range(4):
        same(scaled(A), A * 2)
    assert len(traced) == 1
    table["by"] = 3.0
    for _ in range(2):
        same(scaled(A), A * 3)
    assert len(traced) == 2


def test_the_modules_of_libraries_are_not_walked():
    def function(x):
        return fa.expit(np.sin(x))

    assert len(outside(function).values) <= 4


def test_a_large_container_is_read_in_each_call():
    values = list(range(1000))
    scaled = fa.fused(lambda x: x * values[999])
    for value in (2, 3):
        values[999] = value
        same(scaled(A), A * value)
    with pytest.raises(NotFollowed):
        outside(scaled.function)


def test_chance_clocks_files_and_the_environment_are_read_in_each_call(tmp_path, monkeypatch):
    path, settings = tmp_path / "number.txt", {"by": 1.0}
    get, popped = settings.get, collections.deque(range(2, 90)).popleft
    functions = [
        lambda x: x * random.random(), lambda x: x * random.uniform(0, 1),
        lambda x: x * np.random.rand(), lambda x: x * float(np.random.standard_normal()),
        lambda x: x * time.perf_counter(), lambda x: x * float(os.environ["FINCH_TESTED"]),
        lambda x: x * float(os.getenv("FINCH_TESTED", "0")), lambda x: x * float(path.read_text()),
        lambda x: x * np.loadtxt(path), lambda x: x * get("by"), lambda x: x * popped(),
        lambda x: x * eval("number", {"number": settings["by"]}),
    ]  # fmt: skip
    for number, function in enumerate(functions):
        run, found = fa.fused(function), []
        for turn in range(1, 4):
            path.write_text("1" * turn)
            monkeypatch.setenv("FINCH_TESTED", str(turn))
            settings["by"] = float(turn)
            found.append(float(run(A)[1]))
        assert len(set(found)) == 3, number


def test_what_does_not_change_is_remembered():
    @fa.fused
    def scaled(x):
        return x * math.sin(2) * np.pi + np.exp(1.0) * len([1, 2]) + abs(-3) + np.hypot(3.0, 4.0)

    scaled(A)
    assert len(scaled._known) == 1
