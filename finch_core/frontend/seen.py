"""What a program took from its surroundings when it was parsed, and whether that still holds.

Functions are inlined, formats and operators made, when a kernel is parsed; Python would look their
names up at each call. A name that is bound anew, or a function that is given another body, makes
the program that was parsed another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType
from typing import Any

import attrs

from finch_core.records import define

_ABSENT = object()
_PARTS = ("__code__", "__defaults__", "__kwdefaults__")
"""What the text of a function, and its call, mean."""


@define(eq=False)
class Seen:
    """The names that were looked up, the attributes that were read, and what was found."""

    names: dict[tuple[int, str], tuple[Mapping[str, Any], str, Any]] = attrs.field(factory=dict)
    attributes: dict[tuple[int, str], tuple[Any, str, Any]] = attrs.field(factory=dict)
    texts: dict[FunctionType, tuple[str, ...]] = attrs.field(factory=dict)
    """The lines of each function that was read."""

    def name(self, function: FunctionType, name: str) -> None:
        """Note what a free name of ``function`` is bound to now."""
        code = function.__code__
        if name in code.co_freevars and function.__closure__ is not None:
            self.attribute(function.__closure__[code.co_freevars.index(name)], "cell_contents")
            return
        scope = function.__globals__  # a name that is not there may come to be
        self.names[id(scope), name] = scope, name, scope.get(name, _ABSENT)

    def attribute(self, owner: Any, name: str) -> None:
        """Note what an attribute is now."""
        self.attributes[id(owner), name] = owner, name, _attribute(owner, name)

    def function(self, function: FunctionType, lines: tuple[str, ...]) -> None:
        """Note a function whose ``lines`` were read."""
        self.texts[function] = lines
        for part in _PARTS:
            self.attribute(function, part)

    def include(self, other: Seen) -> None:
        """Note all that another has noted."""
        self.names |= other.names
        self.attributes |= other.attributes
        self.texts |= other.texts

    @property
    def surroundings(self) -> bool:
        """Whether anything was noted beside the function itself."""
        return bool(self.names) or len(self.texts) > 1

    def holds(self) -> bool:
        """Whether all is as it was."""
        for scope, name, value in self.names.values():
            if scope.get(name, _ABSENT) is not value:
                return False
        for owner, name, value in self.attributes.values():
            if _attribute(owner, name) is not value:
                return False
        return True


def _attribute(owner: Any, name: str) -> Any:
    try:
        return getattr(owner, name)
    except (AttributeError, ValueError):  # a cell that is empty
        return _ABSENT
