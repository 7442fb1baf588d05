"""``attrs`` classes that cost less to import.

``attrs`` writes and compiles the text of the methods of each class, which took a third of the time
to import this package. The classes of this module share their comparison, hash and ``repr``, which
are ordinary methods; the fields of a class are looked up when it is first compared.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:  # checkers know these two
    from attrs import define as define
    from attrs import frozen as frozen
else:

    def frozen(cls: type | None = None, *, eq: bool = True, **options: Any) -> Any:
        """``attrs.frozen``, with the comparison, hash and ``repr`` of this module."""
        return _class(attrs.frozen, cls, eq, options)

    def define(cls: type | None = None, *, eq: bool = True, **options: Any) -> Any:
        """``attrs.define``, with the comparison and ``repr`` of this module."""
        return _class(attrs.define, cls, eq, options)


def _class(decorator: Any, cls: type | None, eq: bool, options: dict[str, Any]) -> Any:
    if cls is None:
        return lambda cls: _class(decorator, cls, eq, options)
    own = vars(cls)
    made = decorator(cls, eq=False, repr=False, **options)
    if "__repr__" not in own:
        made.__repr__ = _repr
    if eq and "__eq__" not in own:
        made.__eq__ = _eq_of_expressions if hasattr(made, "_unlike") else _eq
        if "__hash__" not in own:
            made.__hash__ = _hash if decorator is attrs.frozen else None
    return made


@reprlib.recursive_repr()
def _repr(self: Any) -> str:
    shown = (a.name for a in attrs.fields(type(self)) if a.repr)
    name = type(self).__qualname__.rsplit(">.", 1)[-1]
    return f"{name}({', '.join(f'{n}={getattr(self, n)!r}' for n in shown)})"


def _eq(self: Any, other: object) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    cls: Any = type(self)
    values = _values(cls)
    return values(self) == values(other)


def _eq_of_expressions(self: Any, other: object) -> Any:
    """``_eq`` for classes that say what comes of a comparison with another class."""
    if other.__class__ is not self.__class__:
        return self._unlike(other)
    cls: Any = type(self)
    values = _values(cls)
    return values(self) == values(other)


def _hash(self: Any) -> int:
    cls: Any = type(self)
    return hash((cls, _values(cls)(self)))


@cache
def _values(cls: Any) -> Callable[[Any], Any]:
    """What gives the values of an object's compared fields."""
    names = [a.name for a in attrs.fields(cls) if a.eq]
    return attrgetter(*names) if names else lambda self: ()
