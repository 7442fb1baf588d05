"""The objects that a program depended on when it was parsed, and whether they are unchanged.

Functions are inlined, and formats and operators made, when a kernel is parsed; Python would
look their names up at each call. If a name is rebound, or a function given another body, the
program must be parsed again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from finch_core.interface.inline_cache import ABSENT
from finch_core.records import define, field

_PARTS = ("__code__", "__defaults__", "__kwdefaults__")
"""The attributes that determine the meaning of a function and of its call."""
MANY = 32
"""How often a program is looked up before what it depends on is compared by compiled code."""


@define(eq=False)
class Seen:
    """The names and attributes that were looked up, and the objects that were found."""

    names: dict[tuple[int, str], tuple[Mapping[str, Any], str, Any]] = field(factory=dict)
    attributes: dict[tuple[int, str], tuple[Any, str, Any]] = field(factory=dict)
    texts: dict[FunctionType, tuple[str, ...]] = field(factory=dict)
    """The source lines of each function that was read."""
    _asked: int = 0
    _compiled: Callable[[], bool] | None = None

    def name(self, function: FunctionType, name: str) -> None:
        """Record what a free name of ``function`` is bound to at present."""
        code = function.__code__
        if name in code.co_freevars and function.__closure__ is not None:
            self.attribute(function.__closure__[code.co_freevars.index(name)], "cell_contents")
            return
        scope = function.__globals__  # a name that is unbound now may be bound later
        self.names[id(scope), name] = scope, name, scope.get(name, ABSENT)

    def attribute(self, owner: Any, name: str) -> None:
        """Record the present value of an attribute."""
        self.attributes[id(owner), name] = owner, name, _attribute(owner, name)

    def function(self, function: FunctionType, lines: tuple[str, ...]) -> None:
        """Record a function whose source ``lines`` were read."""
        self.texts[function] = lines
        for part in _PARTS:
            self.attribute(function, part)

    def include(self, other: Seen) -> None:
        """Add all records of ``other``."""
        self.names |= other.names
        self.attributes |= other.attributes
        self.texts |= other.texts

    @property
    def surroundings(self) -> bool:
        """Whether anything besides the function itself was recorded."""
        return bool(self.names) or len(self.texts) > 1

    def holds(self) -> bool:
        """Whether everything that was recorded is unchanged."""
        self._asked += 1
        if self._asked < MANY:
            return self._holds()
        if self._compiled is None:
            self._compiled = self._comparison()
        try:
            return self._compiled()
        except (AttributeError, ValueError):
            return self._holds()

    def _holds(self) -> bool:
        for scope, name, value in self.names.values():
            if scope.get(name, ABSENT) is not value:
                return False
        for owner, name, value in self.attributes.values():
            if _attribute(owner, name) is not value:
                return False
        return True

    def _comparison(self) -> Callable[[], bool]:
        """``_holds`` as one expression: every call of a kernel asks. It raises what attributes
        raise."""
        known: dict[str, Any] = {"absent": ABSENT}
        tests = []
        for k, (scope, name, value) in enumerate(self.names.values()):
            known |= {f"get{k}": scope.get, f"value{k}": value}
            tests.append(f"get{k}({name!r}, absent) is value{k}")
        for k, (owner, name, value) in enumerate(self.attributes.values()):
            known |= {f"owner{k}": owner, f"was{k}": value}
            tests.append(f"owner{k}.{name} is was{k}")
        # parameters with defaults are local variables
        parameters = ", ".join(f"{name}={name}" for name in known)
        compared: Callable[[], bool] = eval(
            f"lambda {parameters}: {' and '.join(tests) or True}", known
        )
        return compared


def _attribute(owner: Any, name: str) -> Any:
    try:
        return getattr(owner, name)
    except (AttributeError, ValueError):  # a cell that is empty
        return ABSENT
