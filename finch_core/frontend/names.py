"""Names: what is bound inside a kernel, and what a free name means in the function's own world."""

from __future__ import annotations

import builtins
from types import FunctionType
from typing import Any

import attrs

from finch_core.errors import Span
from finch_core.frontend.functions import SYNTAX
from finch_core.ir.expressions import Expr
from finch_core.records import define, frozen


class _Unbound:
    def __repr__(self) -> str:
        return "UNBOUND"


UNBOUND = _Unbound()
"""What ``lookup`` gives for a name that has no value."""


def lookup(function: FunctionType, name: str) -> Any:
    """The value of a free name of ``function`` now: closure, globals, builtins, then the
    language's own names; ``UNBOUND`` if there is none."""
    code = function.__code__
    if name in code.co_freevars and function.__closure__ is not None:
        try:
            return function.__closure__[code.co_freevars.index(name)].cell_contents
        except ValueError:  # the enclosing function has not assigned it yet
            return UNBOUND
    for scope in (function.__globals__, vars(builtins), SYNTAX):
        if name in scope:
            return scope[name]
    return UNBOUND


def namespace(function: FunctionType) -> dict[str, Any]:
    """All names that an expression of ``function`` sees beside its own variables."""
    names = {**SYNTAX, **function.__globals__}
    for name in function.__code__.co_freevars:
        value = lookup(function, name)
        if value is not UNBOUND:
            names[name] = value
    return names


@frozen
class Binding:
    """What a name stands for inside a kernel.

    ``kind`` is ``index``, ``variable``, ``parameter`` or ``local``; ``value`` is the expression for
    an index, a variable, or a parameter of an inlined function.
    """

    kind: str
    span: Span | None
    value: Expr | None = None


SHOWN = {
    "index": "a loop index",
    "variable": "a variable",
    "parameter": "a parameter",
    "local": "a tensor of this kernel",
}


@define
class Scope:
    """The names bound so far in a block and around it."""

    parent: Scope | None = None
    names: dict[str, Binding] = attrs.field(factory=dict)

    def find(self, name: str) -> Binding | None:
        if name in self.names:
            return self.names[name]
        return None if self.parent is None else self.parent.find(name)

    def inner(self) -> Scope:
        """A scope for a block below this one."""
        return Scope(self)
