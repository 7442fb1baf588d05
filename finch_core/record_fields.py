"""The fields of record classes (``records``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

NOTHING: Any = type("NOTHING", (), {"__repr__": lambda self: "NOTHING"})()
"""The default of a field that has none."""


class Field:
    """A field of a record class.

    ``default`` or ``factory``, a function without arguments, give its value where the call does
    not; ``converter`` is applied to it, and ``validator(record, field, value)`` raises if it is not
    valid. ``init``: whether ``__init__`` takes it, under the name ``alias`` (the field's without
    leading underscores) and by name only if ``kw_only``. ``eq``, ``hash`` (None: as ``eq``) and
    ``repr``: whether these regard it.
    """

    __slots__ = (
        "alias",
        "converter",
        "eq",
        "factory",
        "hash",
        "init",
        "initial",
        "kw_only",
        "name",
        "repr",
        "takes_self",
        "validator",
    )  # fmt: skip

    def __init__(
        self,
        *,
        default: Any = NOTHING,
        factory: Callable[[], Any] | None = None,
        converter: Callable[[Any], Any] | None = None,
        validator: Callable[[Any, Any, Any], None] | None = None,
        eq: bool = True,
        hash: bool | None = None,
        repr: bool = True,
        init: bool = True,
        kw_only: bool = False,
        alias: str | None = None,
    ) -> None:
        self.name = ""
        self.initial = default
        self.factory: Callable[..., Any] | None = factory
        self.takes_self = False
        self.converter = converter
        self.validator = validator
        self.eq = eq
        self.hash = eq if hash is None else hash
        self.repr = repr
        self.init = init
        self.kw_only = kw_only
        self.alias = alias

    def default(self, method: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Decorator: the field's default is what ``method`` makes of the fields before it."""
        self.factory, self.takes_self = method, True
        return method

    def named(self, name: str) -> Field:
        self.name = name
        self.alias = self.alias or name.lstrip("_")
        return self

    @property
    def optional(self) -> bool:
        """Whether there is a default."""
        return self.initial is not NOTHING or self.factory is not None

    def for_attrs(self) -> Any:
        """The field as one of ``attrs``."""
        import attrs

        options = {name: getattr(self, name) for name in _SAME_IN_ATTRS}
        if self.factory is not None:
            factory: Any = attrs.Factory
            options["default"] = factory(self.factory, self.takes_self)
        elif self.initial is not NOTHING:
            options["default"] = self.initial
        return attrs.field(**options)

    @classmethod
    def from_attrs(cls, attribute: Any) -> Field:
        """A field of a class of ``attrs``."""
        self = cls(**{name: getattr(attribute, name) for name in _SAME_IN_ATTRS})
        made = attribute.default
        if (factory := getattr(made, "factory", None)) is not None:
            self.factory, self.takes_self = factory, made.takes_self
        elif type(made).__name__ != "_Nothing":
            self.initial = made
        return self.named(attribute.name)


_SAME_IN_ATTRS = ("converter", "validator", "eq", "hash", "repr", "init", "kw_only", "alias")


def holder_of(cls: type, name: str, value: object) -> type | None:
    """The base of ``cls`` that has ``value`` under ``name``; None if a thread has replaced it since
    it was looked up."""
    return next((base for base in cls.__mro__ if vars(base).get(name) is value), None)


class AttrsFields:
    """``__attrs_attrs__``: the fields as ``attrs`` describes them, made when it asks."""

    def __init__(self) -> None:
        self.made: Any = None

    def __get__(self, record: Any, cls: type) -> Any:
        holder: Any = holder_of(cls, "__attrs_attrs__", self)
        if holder is not None:
            import attrs

            declared = {f.name: f.for_attrs() for f in holder.__record_fields__}
            body = {"__annotations__": dict.fromkeys(declared, Any), **declared}
            like: Any = type(holder.__name__, (), body)
            self.made = attrs.fields(attrs.define(like))
            holder.__attrs_attrs__ = self.made
        return self.made
