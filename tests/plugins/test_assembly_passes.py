"""Passes over assembly are added by plugins: in order, verified, switched off by name."""

from __future__ import annotations

import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import attrs
import numpy as np
import pytest

from finch_core import PluginError, Tensor, _, kernel
from finch_core.interface.assembly_passes import AssemblyPass
from finch_core.ir.assembly import Block, Let, Store
from finch_core.ir.dtypes import FLOAT64, INTP
from finch_core.ir.expressions import Buffer, Literal, Var, lift
from finch_core.optimize import PASSES, pipeline
from finch_core.plugins import hookimpl, hub
from finch_core.testing import AssemblyPassSuite
from finch_levels import Dense, Element, SparseList

A = Buffer("a", INTP)


def nothing(block: Any, names: Any) -> Any:
    return block


def marked(block: Any, names: Any) -> Any:
    """Add a variable that nothing reads, once."""
    if any(isinstance(s, Let) and s.var.name.startswith("marked") for s in block.statements):
        return block
    mark = Let(Var(names.fresh("marked"), INTP), Literal(7, INTP))
    return attrs.evolve(block, statements=(mark, *block.statements))


@contextmanager
def added(*passes: Any, name: str = "mine") -> Iterator[None]:
    hook = hookimpl(lambda: list(passes))
    hub().register(types.SimpleNamespace(finch_assembly_passes=hook), name)
    try:
        yield
    finally:
        if name in [entry.name for entry in hub().report() if not entry.failure]:
            hub().unregister(name)


def doubled(y, x):
    for i in _:
        y[i] = 2 * x[i]


def text_of(**options: Any) -> str:
    made = kernel(**options)(doubled)
    y = np.zeros(3)
    made(y, np.ones(3))
    assert y.tolist() == [2, 2, 2]
    text: str = made.lower(y, np.ones(3)).as_text("assembly")
    return text


def test_a_pass_of_a_plugin_runs_and_is_switched_off_by_name() -> None:
    with added(AssemblyPass("marked", marked)):
        assert "marked" in text_of()
        assert "marked" not in text_of(disabled={"marked"})
        assert "marked" not in text_of(disabled="marked")
    assert "marked" not in text_of()


def test_kernels_that_assign_sizes_and_grow_are_legal_behind_a_pass() -> None:
    with added(AssemblyPass("marked", marked)):
        made = Tensor(Dense(SparseList(Element(0.0))), np.eye(3))
        text = kernel(doubled_rows).lower(Tensor(made.format), made).as_text("assembly")
        assert "marked" in text
        assert kernel(doubled_rows)(Tensor(made.format), made).to_numpy()[1, 1] == 2


def doubled_rows(c, a):
    c[...] = 0
    for i, j in _:
        c[i, j] = 2 * a[i, j]
    return c


def test_a_pass_that_reassociates_is_left_out_of_strict_kernels() -> None:
    with added(AssemblyPass("marked", marked, reassociates=True)):
        assert "marked" in text_of()
        assert "marked" not in text_of(strict=True)


def test_passes_stand_behind_those_that_they_follow() -> None:
    first = AssemblyPass("first", nothing, ("second", "dead_fills"))
    second = AssemblyPass("second", nothing, ("dead_code",))
    with added(first, second):
        names = [row.name for row in pipeline()]
    last = max(k for k, name in enumerate(names) if name == "dead_code")
    assert names[last + 1 : last + 3] == ["second", "first"]
    assert [n for n in names if n not in ("first", "second")] == [n for n, _ in PASSES]


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (AssemblyPass("lost", nothing, ("inlining",)), "'lost' comes after 'inlining', but passes"),
        (AssemblyPass("dead_code", nothing), "'dead_code' has the name of a built-in pass"),
    ],
)
def test_a_pass_without_a_place_fails_alone(row: AssemblyPass, why: str) -> None:
    """A plugin that a call has added is told at once; the next kernel does without."""
    with added(row, name=f"astray_{row.name}"):
        with pytest.raises(PluginError, match=why):
            text_of()
        text_of()
        (entry,) = (e for e in hub().report() if e.name == f"astray_{row.name}")
        assert why in entry.failure
    hub().block(f"astray_{row.name}")


def failing(block: Any, names: Any) -> Any:
    raise KeyError("x")


def illegal(block: Any, names: Any) -> Any:
    unknown = Store(Buffer("nowhere", FLOAT64), lift(0), Literal(1.0, FLOAT64))
    return attrs.evolve(block, statements=(*block.statements, unknown))


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (failing, "failed: KeyError: 'x'"),
        (lambda block, names: None, "returned None, not a Block"),
        (illegal, r"made illegal assembly: (.|\n)*nowhere"),
    ],
)
def test_a_mistake_in_a_pass_names_it_and_the_remedy(run: Any, why: str) -> None:
    told = rf"the assembly pass 'wrong' of 'mine' \(registered by hand\) {why}"
    with added(AssemblyPass("wrong", run)):
        with pytest.raises(PluginError, match=told) as caught:
            text_of()
        assert "kernel(disabled={'wrong'})" in caught.value.hint
        text_of(disabled={"wrong"})


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (AssemblyPass("x", nothing, "dead_code"), "after = 'dead_code': a tuple"),  # type: ignore[arg-type]
        (AssemblyPass("x", nothing, ("x",)), "comes after itself"),
        (AssemblyPass("x", lambda block: block), r"called as run\(block, names\)"),  # type: ignore[misc, arg-type]
        (types.SimpleNamespace(name="x", run=nothing), "not a finch_core.interface.assembly_pass"),
    ],
)
def test_what_is_no_pass_is_refused(wrong: Any, why: str) -> None:
    with pytest.raises(PluginError, match=why), added(wrong):
        pass


class TestSuite(AssemblyPassSuite):
    name = "marked"
    blocks = ((Block((Store(A, Literal(0, INTP), Literal(1, INTP)),)), {A: [0]}),)

    @pytest.fixture(autouse=True)
    def _registered(self) -> Iterator[None]:
        with added(AssemblyPass("marked", marked)):
            yield
