"""``attrs`` classes that cost less to import: what few processes need is made when it is needed.

A third of the time to import this package went into text of methods that ``attrs`` writes and
compiles, one class at a time: the comparison, hash and ``repr`` of classes that a process whose
kernels are on disk never compares nor prints. Here a class writes its comparison when it is first
compared: the same code, as fast from the second time on.
"""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:  # checkers know these two
    from attrs import define as define
    from attrs import frozen as frozen
else:

    def frozen(cls: type | None = None, *, eq: bool = True, **options: Any) -> Any:
        """``attrs.frozen``, with comparison, hash and ``repr`` made when they are first used."""
        return _class(attrs.frozen, cls, eq, options)

    def define(cls: type | None = None, *, eq: bool = True, **options: Any) -> Any:
        """``attrs.define``, with comparison and ``repr`` made when they are first used."""
        return _class(attrs.define, cls, eq, options)


def _class(decorator: Any, cls: type | None, eq: bool, options: dict[str, Any]) -> Any:
    if cls is None:
        return lambda cls: _class(decorator, cls, eq, options)
    own = vars(cls)
    made = decorator(cls, eq=False, repr=False, **options)
    if "__repr__" not in own:
        made.__repr__ = _repr
    if eq and "__eq__" not in own:
        _compare(made)
        if "__hash__" not in own:
            if decorator is attrs.frozen:
                _hash(made)
            else:
                made.__hash__ = None
    return made


@reprlib.recursive_repr()
def _repr(self: Any) -> str:
    shown = (a.name for a in attrs.fields(type(self)) if a.repr)
    name = type(self).__qualname__.rsplit(">.", 1)[-1]
    return f"{name}({', '.join(f'{n}={getattr(self, n)!r}' for n in shown)})"


def _compare(cls: Any) -> None:
    def first(self: Any, other: object) -> Any:
        same = " and ".join(f"self.{name} == other.{name}" for name in _compared(cls)) or "True"
        kind = "other.__class__ is self.__class__"
        cls.__eq__ = eval(f"lambda self, other: ({same}) if {kind} else NotImplemented")
        return cls.__eq__(self, other)

    cls.__eq__ = first


def _hash(cls: Any) -> None:
    def first(self: Any) -> int:
        values = "".join(f", self.{name}" for name in _compared(cls))
        cls.__hash__ = eval(f"lambda self: hash(({hash(cls)}{values},))")
        return hash(self)

    cls.__hash__ = first


def _compared(cls: Any) -> list[str]:
    return [a.name for a in attrs.fields(cls) if a.eq]
