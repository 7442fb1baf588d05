"""Levels that take leaves alone, and levels whose parameters limit what they hold."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from plugin_support import format_like

from finch_array import structures
from finch_core import Tensor, kernel
from finch_core.errors import FormatError, PluginError
from finch_core.interface.capacity import only_first, stored
from finch_core.interface.plugin_calls import described
from finch_core.interface.tensorlike import Constant
from finch_core.level import Format, Structure, check_leaf
from finch_core.looplets import Lookup
from finch_core.testing.formats import admit, nest
from finch_core.testing.programs import dot
from finch_levels import Dense, Element, Scalar


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FINCH_CACHE_DIR", str(tmp_path))


def doubled(self: Any, ctx: Any, fiber: Any) -> Lookup:
    """What is stored, twice."""
    base = fiber.pos * fiber.lvl.shape
    return Lookup(lambda ctx, i: Constant(fiber.subfiber(base + i).read(ctx) * 2.0))


def total(s, a):
    s[...] = 0
    for i in range(2):
        for j in range(3):
            s[()] += a[i, j]
    return s


def test_the_level_that_reads_what_is_no_leaf_is_named() -> None:
    tensor = Tensor(format_like(read=doubled)(Dense(Element(0.0))), np.ones((2, 3)))
    with pytest.raises(PluginError) as error:
        kernel(backend="interpreter")(total)(Scalar(0.0), tensor)
    assert error.value.message == (
        "a looplet of the level format 'Mine' reads the value of a subfiber, which is a fiber of "
        f"{described(Dense)}, and no leaf"
    )
    assert error.value.hint == (
        "it yields the subfiber; a level that takes leaves alone has lvl converted by check_leaf"
    )


def over_leaves() -> Any:
    return format_like(
        read=doubled,
        lvl=attrs.field(converter=check_leaf),
        __annotations__={"lvl": Format},
    )


def test_levels_take_leaves_alone() -> None:
    kind = over_leaves()
    tensor = Tensor(kind(Element(0.0)), np.arange(4.0))
    assert kernel(backend="interpreter")(dot)(Scalar(0.0), tensor, np.ones(4)).value == 12
    with pytest.raises(FormatError) as error:
        kind(Dense(Element(0.0)))
    assert str(error.value) == (
        "the level takes leaves alone, and Dense is none"
        "\n  hint: use it as the innermost level, over Element"
    )
    with pytest.raises(FormatError):
        kind(3)


def test_suites_nest_nothing_in_levels_over_leaves() -> None:
    kind = over_leaves()
    assert isinstance(nest([Dense, kind], Element(0.0)), Dense)
    for level in (kind, lambda lvl: kind(lvl)):
        with pytest.raises(pytest.skip.Exception):
            nest([level, Dense], Element(0.0))
    with pytest.raises(FormatError):
        nest([Dense], Scalar(0.0).format)


def first(self: Any, fiber: Any, fill: Any) -> Any:
    """As many as the format's parameter says."""
    there = stored(fiber, fill)
    return there & (np.cumsum(there) <= self.width)


@pytest.mark.parametrize(
    "limit",
    [first, property(lambda self: functools.partial(first, self))],
    ids=["method", "property"],
)
def test_limits_depend_on_parameters(limit: Any) -> None:
    kind = format_like(
        limit=limit,
        width=2,
        __annotations__={"lvl": Format, "width": int},
    )
    data = np.arange(5.0)
    for width in (1, 3):
        kept = admit(kind(Element(0.0), width), data)
        assert kept.tolist() == [k if k <= width else 0 for k in range(5)]


def test_results_get_no_level_with_a_limit() -> None:
    """Which may not hold them."""
    kind = format_like(limit=first, width=2, __annotations__={"lvl": Format, "width": int})
    level = kind(Element(0.0), 2)
    for format in (level, attrs.evolve(level, width=3)):
        assert structures.level_for(Structure(), [format], Element(0.0)).name == "SparseList"


@pytest.mark.parametrize("limit", [only_first, staticmethod(only_first)], ids=["plain", "static"])
def test_limits_of_classes_are_as_before(limit: Any) -> None:
    kept = admit(format_like(limit=limit)(Element(0.0)), np.arange(5.0))
    assert kept.tolist() == [0, 1, 0, 0, 0]
