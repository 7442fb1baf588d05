"""Tensors and kernels find what draws them by the hook ``finch_display``."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from finch_core import PluginError, Tensor, _, kernel
from finch_core.interface.display import Display, display
from finch_core.plugins import hookimpl, hub
from finch_levels import Element, SparseList


def vector() -> Tensor:
    return Tensor(SparseList(Element(0.0)), np.array([0.0, 2.0, 0.0]))


@kernel
def ones(y):  # type: ignore[no-untyped-def]
    for i in _:
        y[i] = 1


class Words:
    """A display that draws in words, and fails at scalars."""

    @staticmethod
    def tensor_html(tensor: Any) -> str:
        if not tensor.ndim:
            raise RuntimeError("no ink")
        return f"<i>{tensor.ndim}</i>"

    @staticmethod
    def stats_html(name: str, stats: Any) -> str:
        return f"<i>{name} {sorted(stats)[0]}</i>"

    @staticmethod
    def explore(lowered: Any, path: Any) -> Any:
        return lowered.program.name, path


@pytest.fixture
def own() -> Iterator[Any]:
    """Without the display of this distribution."""
    own = next(p for p in hub()._plugins.values() if p.name == "show").module
    hub().unregister("show")
    yield own
    hub().register(own, "show")


@pytest.fixture
def words(own: Any) -> Iterator[None]:
    plugin = types.SimpleNamespace(finch_display=hookimpl(lambda: Display("words", lambda: Words)))
    hub().register(plugin, "words")
    yield
    hub().unregister("words")


@pytest.mark.usefixtures("words")
def test_a_plugin_draws() -> None:
    assert display() is Words
    assert vector()._repr_html_() == "<i>1</i>"
    assert ones.stats()._repr_html_() == "<i>ones calls</i>"
    assert ones.explore(np.zeros(3), path="p.html") == ("ones", "p.html")
    assert ones.explore(y=np.zeros(3)) == ("ones", None)


@pytest.mark.usefixtures("words")
def test_a_display_that_fails_leaves_the_repr() -> None:
    assert Tensor(Element(0.0))._repr_html_() is None


@pytest.mark.usefixtures("own")
def test_without_a_display_there_are_no_pictures() -> None:
    assert vector()._repr_html_() is None
    with pytest.raises(PluginError, match="no plugin provides a display"):
        ones.explore(np.zeros(3))
