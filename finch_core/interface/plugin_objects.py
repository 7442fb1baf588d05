"""Checks of a plugin's objects: the signatures of their methods and the attributes of formats.

Each check gives the reason why an object is refused, or an empty text.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from types import FunctionType, MappingProxyType
from typing import Any

import numpy as np

from finch_core.errors import FinchError, quote
from finch_core.interface.abilities import PROTOCOLS, Order, Sharing
from finch_core.interface.assembly_passes import AssemblyPass
from finch_core.interface.conversions import Conversion
from finch_core.interface.file_formats import FileFormat
from finch_core.interface.level import Format
from finch_core.interface.storage import Field, field_of_values
from finch_core.interface.structure import Structure
from finch_core.ir.dtypes import BOOL, FLOAT64
from finch_core.ir.operators import Operator
from finch_core.ir.primitives import PRIMITIVES
from finch_core.ir.stored_dtypes import StoredDtype
from finch_core.records import frozen

_FORMAT = {
    "declare": "ctx lvl init",
    "assemble": "ctx lvl start stop",
    "reset": "ctx lvl start stop",
    "freeze": "ctx lvl stop",
    "thaw": "ctx lvl stop",
    "unfurl": "ctx fiber mode protocol",
    "unwrap": "ctx fiber mode op value",
    "cases": "ctx fiber",
    "settled": "ctx fiber op dtype",
    "sizes": "positions shape fields",
    "entries": "positions shape fields below",
    "validate": "positions shape fields",
    "validate_contents": "positions shape fields",
    "blank": "positions shape",
    "join": "ctx lvl part start count",
    "extend": "ctx lvl part",
    "position_from": "ctx fiber index",
    "stored_before": "ctx lvl stop",
    "alike": "ctx lvl other stop",
    "locate": "fields position index shape",
}

SIGNATURES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "level format": _FORMAT,
        "scalar": _FORMAT,
        "wrapper": {"match_access": "access scope", "examples": "view"},
        "mask": {"match_condition": "call scope", "match_access": "access scope"},
        "rewrite rule": {"apply": "call"},
        "assembly pass": {"run": "block names"},
        "dtype": {"covers": "dtype"},
        "conversion": {"take": "object", "give": "tensor"},
        "file format": {"load": "path", "save": "tensor path"},
    }
)
"""The methods that the compiler calls on objects of each kind, with the arguments it passes."""

_RECORDS: Mapping[str, tuple[Any, str]] = MappingProxyType(
    {
        "assembly pass": (
            AssemblyPass,
            "finch_core.interface.assembly_passes.AssemblyPass",
        ),
        "dtype": (StoredDtype, "finch_core.ir.stored_dtypes.StoredDtype"),
        "conversion": (Conversion, "finch_core.interface.conversions.Conversion"),
        "file format": (FileFormat, "finch_core.io.FileFormat"),
    }
)
"""The classes whose instances are registered, with their public names."""

_OF_INSTANCES = ("level format", "scalar")
"""The kinds of which classes are registered and methods are called on instances."""


def objection(kind: str, name: str, item: Any) -> str:
    """Why ``item``, called ``name``, is refused as an object of ``kind``; else an empty text."""
    checks: list[str] = []
    if kind in _OF_INSTANCES:
        checks = [_not_a_class(item)]
    if kind in _RECORDS:
        checks = [_of_record(kind, item)]
    if not any(checks):
        checks += [_wrong_signatures(kind, item)]
        if kind in _OF_INSTANCES:
            checks += _of_format(item)
    found = next(filter(None, checks), "")
    return f"the {kind} {name!r} {found}" if found else ""


def _not_a_class(item: Any) -> str:
    if isinstance(item, Format):
        return f"is an object, {item!r}: the hook gives the class, {type(item).__name__}"
    if not (isinstance(item, type) and issubclass(item, Format)):
        return "is not a subclass of finch_core.level.Format"
    return ""


def _of_record(kind: str, item: Any) -> str:
    expected, path = _RECORDS[kind]
    if not isinstance(item, expected):
        return f"is {item!r}, not a {path}"
    found: str = item.objection
    return found or (_of_dtype(item) if kind == "dtype" else "")


def _of_dtype(row: StoredDtype) -> str:
    """What is wrong with the operators of a dtype; else an empty text."""
    if row.decode is None:
        return ""
    pair = (row.storage, row.computed)
    return _wrong("decode", row.decode, *pair) or _wrong("encode", row.encode, *pair[::-1])


def _wrong(name: str, op: Any, source: np.dtype[Any], target: np.dtype[Any]) -> str:
    """What is wrong with ``decode`` or ``encode``; else an empty text."""
    if not isinstance(op, Operator):
        return f"has {name} = {op!r}: an Operator of one operand"
    if op.definition is None and op.name not in PRIMITIVES:
        return f"has {name} = {op.name!r}, which has no definition: backends know primitives alone"
    try:
        wanted, result = op.typing((source,))
    except Exception as error:
        return f"has {name} = {op.name!r}, whose typing fails: {type(error).__name__}: {error}"
    if tuple(wanted) != (source,) or result != target:
        given = ", ".join(map(str, wanted))
        return (
            f"has {name} = {op.name!r}, which takes {given} to {result}: it takes {source} to "
            f"{target}"
        )
    return ""


# -- signatures ---------------------------------------------------------------------------------


def _wrong_signatures(kind: str, item: Any) -> str:
    for method, parameters in SIGNATURES.get(kind, {}).items():
        wanted = parameters.split()
        found = _unlike(item, method, len(wanted), kind in _OF_INSTANCES)
        if found:
            return (
                f"has a method with the wrong signature: {method}{found}; "
                f"it is called as {method}({', '.join(wanted)})"
            )
    return ""


def _unlike(item: Any, method: str, count: int, bound: bool) -> str:
    """The parameters of a method that cannot be called with ``count`` arguments, else an empty
    text.

    ``bound``: it is called on an instance of the class ``item``.
    """
    found = _attribute(item, method)
    if isinstance(item, type) and isinstance(found, FunctionType):
        count += bound
        if _accepts(found, count):
            return ""
    elif isinstance(found, (staticmethod, classmethod)) or not isinstance(item, type):
        found = getattr(item, method, None)
        if isinstance(found, FunctionType) and _accepts(found, count):
            return ""
    if not callable(found):
        return ""
    try:
        signature = inspect.signature(found)
    except (TypeError, ValueError):  # code without an inspectable signature
        return ""
    try:
        signature.bind(*range(count))
    except TypeError:
        return str(signature)
    return ""


def _accepts(function: FunctionType, count: int) -> bool:
    """Whether a function's code object alone shows that it takes ``count`` arguments."""
    code = function.__code__
    if code.co_kwonlyargcount or hasattr(function, "__wrapped__"):
        return False
    required = code.co_argcount - len(function.__defaults__ or ())
    more = bool(code.co_flags & inspect.CO_VARARGS)
    return required <= count and (count <= code.co_argcount or more)


def _attribute(item: Any, name: str) -> Any:
    """The unbound attribute of a class; None for other objects."""
    classes = item.__mro__ if isinstance(item, type) else ()
    return next((vars(c)[name] for c in classes if name in vars(c)), None)


# -- attributes of formats ----------------------------------------------------------------------


def _of_format(item: type[Format]) -> Iterator[str]:
    made = example(item)
    yield _wrong_name(item)
    yield _wrong_order(_said(item, made, "order"))
    yield _wrong_protocols(_said(item, made, "protocols"))
    yield _wrong_structure(_said(item, made, "structure"))
    yield _wrong_sharing(_said(item, made, "parallel"), made)
    yield _wrong_values(item, made, _said(item, made, "passes_values"))
    if made is not None:
        yield _wrong_child(made)
        yield _wrong_fields(made)


def _said(item: type[Format], made: Format | None, name: str) -> Any:
    """An attribute of a class or of an instance of it; None where it is not known."""
    found = getattr(item, name, None)
    if hasattr(found, "__get__"):  # a property or an attrs field
        return None if made is None else getattr(made, name, None)
    return found


def _wrong_name(item: type[Format]) -> str:
    name = getattr(item, "name", "")
    if isinstance(name, str) or hasattr(name, "__get__"):
        return ""
    return f"has the name {name!r}: a name is a string"


def _wrong_order(order: Any) -> str:
    if order is None or isinstance(order, Order):
        return ""
    known = " or ".join(map(str, Order))
    return f"has order = {order!r}: an order is {known} (finch_core.level)"


def _wrong_protocols(protocols: Any) -> str:
    if protocols is None:
        return ""
    if isinstance(protocols, str) or not isinstance(protocols, Iterable):
        return f"has protocols = {protocols!r}: a set of names, such as frozenset({{'walk'}})"
    unknown = sorted(repr(name) for name in protocols if name not in PROTOCOLS)
    if unknown:
        return f"has the protocol {unknown[0]}: protocols are {quote(PROTOCOLS)}"
    return ""


def _wrong_structure(structure: Any) -> str:
    if structure is None or isinstance(structure, Structure):
        return ""
    return f"has structure = {structure!r}: a Structure is expected (finch_core.level)"


def _wrong_sharing(sharing: Any, made: Format | None) -> str:
    if sharing is None:
        return ""
    known = quote(f"Sharing.{one.name}" for one in Sharing)
    if isinstance(sharing, (str, Sharing)) or not isinstance(sharing, Iterable):
        return f"has parallel = {sharing!r}: a set of {known} (finch_core.level)"
    unknown = [repr(one) for one in sharing if not isinstance(one, Sharing)]
    if unknown:
        return f"has {unknown[0]} in parallel, which is none of {known}"
    if Sharing.COPIED in sharing and made is not None and not made.is_leaf and made.fields:
        return "has Sharing.COPIED and fields: copies are of the leaf's values alone"
    return ""


def _wrong_values(item: type[Format], made: Format | None, passes: Any) -> str:
    if passes is None or (passes is False or made is None):
        return ""
    if passes is not True:
        return f"has passes_values = {passes!r}: True or False is expected"
    other = None if made.is_leaf else example(item, BOOL)
    name = None if other is None else field_of_values(made, other)
    return "" if name is None else f"passes values, and its field {name!r} has their dtype"


def _wrong_child(made: Format) -> str:
    try:
        hash(made)
    except TypeError:
        return "cannot be hashed: make its class with attrs.frozen"
    if not made.is_leaf and made.child is None:
        return "has no child: its first field is lvl, the format of its subfibers"
    return ""


def _wrong_fields(made: Format) -> str:
    try:
        fields = made.fields
    except FinchError as error:
        return f"has wrong fields: {error.message}"
    except Exception:  # the class may not take the child that is tried
        return ""
    if not isinstance(fields, (tuple, list)) or not all(isinstance(f, Field) for f in fields):
        return f"has wrong fields: a tuple of finch_core.level.Field is expected, not {fields!r}"
    names = [field.name for field in fields]
    twice = [name for name in names if names.count(name) > 1]
    return f"has two fields that are called {twice[0]!r}" if twice else ""


def example(item: type[Format], dtype: np.dtype[Any] = FLOAT64) -> Format | None:
    """An instance of this class, over a leaf of this dtype; None if it takes arguments other than
    a child, or another child."""
    try:
        return item() if item.is_leaf else item(_Leaf(dtype))  # type: ignore[call-arg]
    except Exception:
        return None


@frozen
class _Leaf(Format):
    """A leaf that stores nothing, as the child of levels that are checked."""

    type: np.dtype[Any]

    name = "leaf"
    is_leaf = True

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.type

    @property
    def fill_value(self) -> Any:
        return self.type.type(0)


__all__ = ["SIGNATURES", "example", "objection"]
