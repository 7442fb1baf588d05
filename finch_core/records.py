"""Record classes: those of ``attrs``, built when they are used.

``attrs`` writes and compiles the methods of each class where the class is defined: 40 of the 70 ms
that it took to import this package, most of them for classes that the process made no object of.
Here a class gets its slots at once; its ``__init__`` is written when the first object is made, and
the other methods are shared.

To a type checker the names of this module are those of ``attrs``, and they do the same. A class
that asks for more than this package does (``attrs.field``, other options) is built by ``attrs``, of
whose classes these may be bases; ``attrs.fields`` and ``attrs.evolve`` take both.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from operator import attrgetter
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType
from typing import TYPE_CHECKING, Any

from finch_core.record_fields import NOTHING, AttrsFields, Field, holder_of

if TYPE_CHECKING:  # checkers know these
    from attrs import define as define
    from attrs import evolve as evolve
    from attrs import field as field
    from attrs import fields as fields
    from attrs import frozen as frozen
    from attrs import has as has
else:

    def frozen(cls: type | None = None, **options: Any) -> Any:
        """``attrs.frozen``: a class with slots, whose objects do not change."""
        return _decorated(cls, True, options)

    def define(cls: type | None = None, **options: Any) -> Any:
        """``attrs.define``: a class with slots."""
        return _decorated(cls, False, options)

    def field(**options: Any) -> Any:
        """``attrs.field``: what is said of a field; the options are those of ``Field``."""
        return Field(**options)

    def fields(cls: type) -> tuple[Any, ...]:
        """The fields of a record class, or of a class of ``attrs``; ``TypeError`` for others."""
        for base in cls.__mro__:
            for name in ("__record_fields__", "__attrs_attrs__"):
                if name in vars(base):
                    return vars(base)[name]
        raise TypeError(f"{cls.__name__} is no record class")

    def has(cls: type) -> bool:
        """Whether ``fields`` has an answer for a class."""
        return any("__attrs_attrs__" in vars(base) for base in cls.__mro__)

    def evolve(record: Any, /, **changes: Any) -> Any:
        """A copy of a record with other values of some fields."""
        cls = record.__class__
        for name, alias in _parameters(cls):
            if alias not in changes:
                changes[alias] = getattr(record, name)
        return cls(**changes)


@cache
def replacing(cls: Any, *names: str) -> Callable[..., Any]:
    """A function that, given an object of ``cls`` and values of the fields ``names``, gives a copy
    with these: ``evolve`` where they are known to be valid. They are neither converted nor checked,
    which takes most of its time."""
    every = fields(cls)

    def evolved(record: Any, *values: Any) -> Any:
        return evolve(record, **_by_alias(cls, names, values))

    plain = "__record_fields__" in vars(cls) and not hasattr(cls, "_hash_kept")
    if not plain or not all(f.init for f in every):
        return evolved
    given = {f"put_{f.name}": getattr(cls, f.name).__set__ for f in every}
    given |= {"new": object.__new__, "cls": cls, "evolved": evolved}
    values = {f.name: f.name if f.name in names else f"record.{f.name}" for f in every}
    puts = "".join(f"    put_{name}(made, {value})\n" for name, value in values.items())
    given_names = ", ".join(names)
    lines = [f"def replace(record, {given_names}):"]
    if cls.__dictoffset__:  # what it holds besides may depend on the fields
        lines += ["    if record.__dict__:", f"        return evolved(record, {given_names})"]
    exec("\n".join((*lines, "    made = new(cls)", f"{puts}    return made\n")), given)
    made: Callable[..., Any] = given["replace"]
    return made


def _by_alias(cls: Any, names: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    """The values of fields by what ``__init__`` calls these."""
    aliases = {f.name: f.alias for f in fields(cls)}
    return {aliases[name]: value for name, value in zip(names, values, strict=True)}


# -- classes ------------------------------------------------------------------------------


def _decorated(cls: type | None, frozen: bool, options: dict[str, Any]) -> Any:
    if cls is None:
        return lambda cls: _decorated(cls, frozen, options)
    if options.keys() <= _OPTIONS and not any(map(_is_of_attrs, vars(cls).values())):
        return _record(cls, frozen, **options)
    import attrs

    return (attrs.frozen if frozen else attrs.define)(cls, **options)


_OPTIONS = {"eq", "repr", "order", "unsafe_hash", "cache_hash", "slots"}


def _is_of_attrs(value: object) -> bool:
    """Whether ``attrs.field`` made this."""
    return type(value).__module__ == "attr._make"


def _record(
    cls: type,
    frozen: bool,
    *,
    eq: bool = True,
    repr: bool = True,
    order: bool = False,
    unsafe_hash: bool = False,
    cache_hash: bool = False,
    slots: bool = True,
) -> type:
    """``cls`` as a record class. There is no ``order``."""
    own = dict(vars(cls))
    mine = tuple(_own_fields(cls))
    names = {f.name for f in mine}
    every = (*_inherited_fields(cls, names), *mine)
    new = {"__record_fields__": every, "__attrs_attrs__": AttrsFields()}
    new["__match_args__"] = tuple(f.name for f in every if f.init and not f.kw_only)
    new["__init__"] = _Initializer(frozen, cache_hash)
    if repr:
        new["__repr__"] = _repr
    if frozen:
        new["__setattr__"] = new["__delattr__"] = _refuse
    eq = eq and "__eq__" not in own
    if eq:
        new["__eq__"] = _eq_of_expressions if hasattr(cls, "_unlike") else _eq
    if own.get("__hash__") is None and (eq or unsafe_hash):
        own.pop("__hash__", None)  # Python sets None beside an ``__eq__``
        hashes = frozen or unsafe_hash
        new["__hash__"] = None if not hashes else _kept_hash if cache_hash else _hash
    new = {name: value for name, value in new.items() if name not in own}
    if slots:
        return _slotted(cls, own, new, names, cache_hash)
    for name in names & own.keys():
        delattr(cls, name)
    for name, value in new.items():
        setattr(cls, name, value)
    return cls


def _own_fields(cls: type) -> Iterator[Field]:
    """The fields that the body of a class declares."""
    for name, annotation in cls.__annotations__.items():
        if not str(annotation).startswith(("ClassVar", "typing.ClassVar")):
            value = vars(cls).get(name, NOTHING)
            yield (value if isinstance(value, Field) else Field(default=value)).named(name)


def _inherited_fields(cls: type, own: set[str]) -> list[Field]:
    """The fields of the bases, those of the farthest first; the nearest declaration counts."""
    found: dict[str, Field] = {}
    for base in cls.__mro__[1:]:
        if "__record_fields__" in vars(base) or "__attrs_attrs__" in vars(base):
            new = {f.name: f for f in fields(base) if f.name not in own and f.name not in found}
            found = new | found
    return [f if isinstance(f, Field) else Field.from_attrs(f) for f in found.values()]


def _slotted(
    cls: type, own: dict[str, Any], new: dict[str, Any], names: set[str], kept: bool
) -> type:
    """The class again, with slots, and without the values that declared its fields."""
    for name in (*names, "__dict__", "__weakref__"):
        own.pop(name, None)
    slots = []
    wanted = [n for n in cls.__annotations__ if n in names]
    wanted += ["__dict__"] if any(isinstance(v, cached_property) for v in own.values()) else []
    wanted += ["_hash_kept"] if kept else []
    for name in (*wanted, "__weakref__"):
        member = _member(cls, name)
        if member is None:
            slots.append(name)
        elif name in names:
            own[name] = member
    own |= {"__slots__": tuple(slots), "__qualname__": cls.__qualname__}
    metaclass: Any = type(cls)
    made = metaclass(cls.__name__, cls.__bases__, {**_STATE, **own, **new})
    for value in own.values():
        if type(value) is not FunctionType or value.__closure__ is not None:
            _see_class(value, cls, made)
    return made  # type: ignore[no-any-return]


_MEMBERS = (MemberDescriptorType, GetSetDescriptorType)


def _member(cls: type, name: str) -> Any:
    """The slot that a base has for a name."""
    for base in cls.__mro__[1:]:
        if isinstance(found := vars(base).get(name), _MEMBERS):
            return found
    return None


def _see_class(value: Any, old: type, new: type) -> None:
    """Let the method ``value`` find the class that it belongs to (``super()``)."""
    if isinstance(value, property):
        for part in (value.fget, value.fset, value.fdel):
            _see_class(part, old, new)
        return
    if isinstance(value, cached_property):
        value = value.func
    function = getattr(value, "__wrapped__", getattr(value, "__func__", value))
    for cell in getattr(function, "__closure__", None) or ():
        try:
            if cell.cell_contents is old:
                cell.cell_contents = new
        except ValueError:  # an empty cell
            continue


# -- objects ------------------------------------------------------------------------------


_FEW = 8
"""Objects of a class that are set field by field: compiling takes as long as ten of them."""


class _Initializer:
    """``__init__`` of a class: written when it is looked up at the class, or for the objects after
    the first ``_FEW``."""

    def __init__(self, frozen: bool, kept: bool) -> None:
        self.frozen = frozen
        self.kept = kept
        self.made = 0
        self.places: list[str] | None = None
        self.written: Any = None

    def __get__(self, record: Any, cls: type) -> Any:
        holder: Any = holder_of(cls, "__init__", self)
        if holder is not None:
            self.made += 1
            if record is not None and self.made <= _FEW:
                return lambda *args, **kwargs: self.set(holder, record, args, kwargs)
            self.written = holder.__init__ = _initializer(holder, self.frozen, self.kept)
        return self.written.__get__(record, cls)

    def set(self, cls: type, record: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Do what ``__init__`` does."""
        every = fields(cls)
        if self.places is None:
            self.places = [f.alias for f in every if f.init and not f.kw_only]
        given = dict(zip(self.places, args))  # noqa: B905
        known = len(given) == len(args) and given.keys().isdisjoint(kwargs)
        given.update(kwargs)
        for f in every:
            value = given.pop(f.alias, NOTHING) if f.init else NOTHING
            if value is NOTHING:
                if f.factory is not None:
                    value = f.factory(record) if f.takes_self else f.factory()
                elif f.initial is not NOTHING:
                    value = f.initial
                elif f.init:
                    known = False
                    break
                else:
                    continue
            _assign(record, f.name, value if f.converter is None else f.converter(value))
            if f.validator is not None:
                f.validator(record, f, getattr(record, f.name))
        if given or not known:  # Python's own words for what is wrong
            _initializer(cls, False, False)(record, *args, **kwargs)
        if self.kept:
            _assign(record, "_hash_kept", None)
        if (post := getattr(record, "__attrs_post_init__", None)) is not None:
            post()


_assign = object.__setattr__


def _initializer(cls: type, frozen: bool, kept: bool) -> Any:
    """The function that sets the fields of ``cls``, each in its slot."""
    given: dict[str, Any] = {"NOTHING": NOTHING}
    heads: list[str] = []
    named: list[str] = []
    body: list[str] = []
    for f in fields(cls):
        value = f.alias if f.init else f"_default_{f.name}"
        given[f"_default_{f.name}"] = NOTHING if f.factory else f.initial
        given[f"_factory_{f.name}"] = f.factory
        if f.factory is not None:
            made = f"_factory_{f.name}({'self' if f.takes_self else ''})"
            value = f"{made} if {value} is NOTHING else {value}" if f.init else made
        elif f.initial is NOTHING and not f.init:
            continue
        if f.init:
            head = f"{f.alias}=_default_{f.name}" if f.optional else f.alias
            (named if f.kw_only else heads).append(head)
        if f.converter is not None:
            given[f"_convert_{f.name}"] = f.converter
            value = f"_convert_{f.name}({value})"
        body.append(_setting(cls, f.name, value, given, frozen))
        if f.validator is not None:
            given[f"_validate_{f.name}"], given[f"_field_{f.name}"] = f.validator, f
            body.append(f"_validate_{f.name}(self, _field_{f.name}, self.{f.name})")
    if kept:
        body.append(_setting(cls, "_hash_kept", "None", given, frozen))
    if hasattr(cls, "__attrs_post_init__"):
        body.append("self.__attrs_post_init__()")
    head = ", ".join(("self", *heads, *(("*", *named) if named else ())))
    text = f"def __init__({head}):\n    " + "\n    ".join(body or ["pass"])
    exec(compile(text, f"<the fields of {cls.__qualname__}>", "exec"), given)
    made = given["__init__"]
    made.__module__, made.__qualname__ = cls.__module__, f"{cls.__qualname__}.__init__"
    made.__annotations__ = {f.alias: _annotation(cls, f.name) for f in fields(cls) if f.init}
    made.__annotations__["return"] = None
    return made


def _setting(cls: Any, name: str, value: str, given: dict[str, Any], frozen: bool) -> str:
    """The statement that sets a field, past what keeps records from changing."""
    if not frozen:
        return f"self.{name} = {value}"
    given[f"_set_{name}"] = getattr(cls, name).__set__
    return f"_set_{name}(self, {value})"


def _annotation(cls: type, name: str) -> Any:
    return next(
        base.__annotations__[name] for base in cls.__mro__[:-1] if name in base.__annotations__
    )


def _refuse(self: Any, name: str, value: Any = None) -> None:
    from attrs.exceptions import FrozenInstanceError

    raise FrozenInstanceError


@reprlib.recursive_repr()
def _repr(self: Any) -> str:
    shown = (f.name for f in fields(type(self)) if f.repr)
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
    return hash((cls, _hashed(cls)(self)))


def _kept_hash(self: Any) -> int:
    found: int | None = self._hash_kept
    if found is None:
        found = _hash(self)
        type(self)._hash_kept.__set__(self, found)
    return found


def _state(self: Any) -> dict[str, Any]:
    """What ``pickle`` and ``copy`` take of a record."""
    return {f.name: getattr(self, f.name) for f in fields(type(self)) if hasattr(self, f.name)}


def _set_state(self: Any, state: dict[str, Any]) -> None:
    cls = type(self)
    for name, value in state.items():
        getattr(cls, name).__set__(self, value)
    if hasattr(cls, "_hash_kept"):
        cls._hash_kept.__set__(self, None)


_STATE = {"__getstate__": _state, "__setstate__": _set_state}


@cache
def _values(cls: Any) -> Callable[[Any], Any]:
    """What gives the values of an object's compared fields."""
    return _getter([f.name for f in fields(cls) if f.eq])


@cache
def _hashed(cls: Any) -> Callable[[Any], Any]:
    """What gives the values of an object's hashed fields."""
    return _getter([f.name for f in fields(cls) if (f.eq if f.hash is None else f.hash)])


def _getter(names: list[str]) -> Callable[[Any], Any]:
    return attrgetter(*names) if names else lambda self: ()


@cache
def _parameters(cls: Any) -> tuple[tuple[str, str], ...]:
    """The fields that ``__init__`` takes, and under which names."""
    return tuple((f.name, f.alias) for f in fields(cls) if f.init)
