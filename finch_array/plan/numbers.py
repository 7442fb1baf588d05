"""Numbers that a fused function computes from numbers among its arguments.

Python computes them, before the plan runs: ``c * c`` of a float is one, which leaves arrays of
float32 what they are, and at 0, infinities and NaN, where fills differ, there is another plan.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from finch_array.operands import NUMBERS, told
from finch_array.plan import graph
from finch_core.records import frozen

OPERATORS = tuple("add sub mul truediv floordiv mod pow".split())
UNARY = ("neg", "pos", "abs")


class Reckoned(graph.Source):
    """A number: ``function`` of ``parts``, sources of numbers and numbers."""

    __slots__ = ("function", "parts")

    def __init__(self, function: Callable[..., Any], parts: tuple[Any, ...], value: Any) -> None:
        super().__init__(value)
        self.function, self.parts = function, parts


def varies(number: Any) -> bool:
    """Whether a plan holds for other numbers of this type: not for 0, and what is infinite or 0 in
    a float32, at which fills are others."""
    if number.__class__ is float and 1e-30 < abs(number) < 1e30:  # as nearly all are
        return True
    if isinstance(number, (bool, np.bool_)) or number == 0:
        return False
    if isinstance(number, (int, np.integer)):
        return True
    if not isinstance(number, (float, complex, np.inexact)):
        return False
    with np.errstate(over="ignore", under="ignore"):
        narrow = np.complex64(number)
    return bool(np.isfinite(narrow) and narrow != 0)


def reckoned(function: Callable[..., Any], parts: tuple[Any, ...]) -> graph.Source | Any:
    """The node of ``function`` of numbers and sources of numbers, or its value, where that does not
    vary. Raises what the function does."""
    value = function(*[x.array if isinstance(x, graph.Source) else x for x in parts])
    if not isinstance(value, NUMBERS) or not varies(value):
        return value
    return Reckoned(function, parts, value)


def number_of(operand: Any) -> Any:
    """A number, or the source of one, that is an operand; None for others."""
    if isinstance(operand, NUMBERS):
        return operand
    node = getattr(operand, "lazy_node", None)
    return node if isinstance(node, graph.Source) and isinstance(node.array, NUMBERS) else None


@frozen(eq=False)
class Recipe:
    """How a number is computed from the arrays of a call: ``parts`` are their places, recipes and
    sources of constants."""

    function: Callable[..., Any]
    parts: tuple[Any, ...]
    kind: Any

    @classmethod
    def of(cls, node: graph.Node, places: Mapping[graph.Node, int]) -> Any:
        """What gives a source, given the places of those that are arguments: a place, a recipe, or
        the source itself."""
        if node in places:
            return places[node]
        if not isinstance(node, Reckoned):
            return node
        parts = tuple([
            cls.of(x if isinstance(x, graph.Source) else graph.source(x), places)
            for x in node.parts
        ])  # fmt: skip
        return cls(node.function, parts, told(node.array)[0])

    def value(self, arrays: list[Any]) -> Any:
        """The number. Raises ``Varied`` where another plan is needed for it."""
        given = [
            arrays[x] if x.__class__ is int else
            x.value(arrays) if x.__class__ is Recipe else x.array
            for x in self.parts
        ]  # fmt: skip
        value = self.function(*given)
        if not isinstance(value, NUMBERS) or told(value)[0] != self.kind or not varies(value):
            raise Varied
        return value


class Varied(Exception):
    """A number is one for which a plan does not hold."""


def _reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    def reflected(a: Any, b: Any) -> Any:
        return function(b, a)

    return reflected


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(operator, name) for name in (*OPERATORS, *UNARY)},
    **{f"r{name}": _reflected(getattr(operator, name)) for name in OPERATORS},
}
"""The operators of numbers, by the names of their methods."""

__all__ = ["FUNCTIONS", "Recipe", "Reckoned", "Varied", "number_of", "reckoned", "varies"]
