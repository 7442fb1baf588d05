"""What a function reads besides its arguments: followed, so that a remembered plan is not stale.

Names of globals, closures, defaults, imports and a method's object are followed into lists, dicts,
objects, classes and the functions that are called; modules by the attributes that the function
names.
"""

from __future__ import annotations

import builtins
import dis
import functools
import sys
import sysconfig
import types
from collections.abc import Callable, Container, Iterator, Mapping
from enum import Enum
from importlib.util import resolve_name
from itertools import accumulate
from operator import is_
from pathlib import Path
from typing import Any

import numpy as np

from finch_array.operands import NUMBERS, told
from finch_core.records import frozen

FOLLOWED = 200
"""The most values that are followed."""

ATOMS = frozenset((
    int, float, complex, bool, str, bytes, type(None), type(...), type(NotImplemented),
    range, slice, np.ufunc, types.MethodDescriptorType, property,
    types.CodeType, types.WrapperDescriptorType, types.GetSetDescriptorType,
    types.MemberDescriptorType,
))  # fmt: skip
"""Types of values that do not change."""

OWN = ("finch_array", "finch_core", "finch_levels", "finch_wrappers")
BY_CLASS_STATEMENT = 1 << 9
"""The flag of types that ``class`` makes; C extensions may set it, too."""
CHANGING = frozenset((
    "_datetime", "_io", "_random", "datetime", "io", "numpy.random", "os", "pathlib", "posix", "nt",
    "random", "secrets", "shelve", "socket", "subprocess", "sys", "tempfile", "time", "uuid",
))  # fmt: skip
"""Modules whose functions and classes give other values each time: clocks, files, chance."""

READERS = frozenset((np.load, np.loadtxt, np.genfromtxt, np.fromfile, np.memmap))
"""Functions of NumPy that read files."""

UNKNOWN = frozenset("eval exec globals input locals open vars __import__".split())
"""Functions of Python that read what cannot be found out here."""

LIBRARIES = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib"))

SITES = ("site-packages", "dist-packages")


class NotFollowed(Exception):
    """A function reads what cannot be followed: arrays, and objects that do not show what they
    hold."""


@frozen(eq=False)
class Outside:
    """The values that a function depends on: equal where they are identical. ``held``: of each
    container that is followed, how its contents are found, and what they were."""

    values: tuple[Any, ...]
    held: tuple[tuple[Any, Callable[[Any], list[Any]], list[Any]], ...]
    ids: tuple[int, ...]
    hash: int

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Outside) and self.ids == other.ids)

    def __hash__(self) -> int:
        return self.hash

    def changed(self) -> list[Any]:
        """The containers that hold something else by now."""
        return [
            value for value, contents, known in self.held
            if not all(map(is_, found := contents(value), known)) or len(found) != len(known)
        ]  # fmt: skip


def outside(value: Any, ignored: Container[int] = (), last: Outside | None = None) -> Outside:
    """What a function or an object reads. What is in the containers ``ignored``, by id, is not
    followed. ``last`` is returned where nothing has changed since. Raises ``NotFollowed``."""
    if last is not None and not last.changed():
        return last
    values, stack, held = [], [value], {}
    lengths: list[int] = []
    while stack:
        value = stack.pop()
        values.append(value)
        if id(value) in held or id(value) in ignored:
            continue
        if is_changing(value):
            raise NotFollowed
        if value.__class__ in ATOMS:
            continue
        contents = contents_of(value)
        if contents is not None:
            inside = contents(value)
            held[id(value)] = value, contents, inside
            lengths.append(len(inside))  # what one list held may be in another
            stack += inside
            if len(values) + len(stack) > FOLLOWED:
                raise NotFollowed
    ids = (*map(id, values), *lengths)
    return Outside(tuple(values), tuple(held.values()), ids, hash(ids))


def constant(value: Any) -> Any:
    """What a plan is found by of an argument that is no array: equal for equal constants. Raises
    ``NotFollowed``."""
    kind = value.__class__
    if isinstance(value, NUMBERS):
        return told(value)
    if kind in (tuple, list):
        return kind, tuple(map(constant, value))
    if kind is dict:
        return kind, tuple(value), tuple(map(constant, value.values()))
    if kind is range:  # equal ones may have other ends
        return kind, value.start, value.stop, value.step
    if kind in ATOMS or isinstance(value, np.dtype):
        return kind, value
    if isinstance(value, Enum) and value.value.__class__ in ATOMS:
        return kind, value
    if is_library(kind.__module__, OWN) and not hasattr(value, "shape"):
        return kind, value
    return kind, outside(value)


def is_changing(value: Any) -> bool:
    """Whether a module, class or function gives other values each time."""
    if not isinstance(value, _NAMED):
        return False
    name: Any = value.__name__ if isinstance(value, types.ModuleType) else value.__module__
    if not isinstance(name, str):
        return False
    return any(map(CHANGING.__contains__, (name, name.rpartition(".")[0]))) or (
        isinstance(value, (types.FunctionType, type)) and value in READERS
    )


_NAMED = (types.ModuleType, type, types.FunctionType, types.BuiltinFunctionType)


def contents_of(value: Any) -> Callable[[Any], list[Any]] | None:
    """How what a value holds is found; None if it holds nothing that changes."""
    kind = value.__class__
    found = CONTAINERS.get(kind)
    if found is not None:
        return None if kind is types.FunctionType and is_library(value.__module__) else found
    if isinstance(value, type):
        return None if is_library(value.__module__) else _of_class
    if kind is types.ModuleType or isinstance(value, (np.dtype, np.generic)):
        return None
    if hasattr(value, "__wrapped__"):
        return lambda x: [x.__wrapped__]
    if is_library(kind.__module__, OWN) and not hasattr(value, "shape"):
        return None
    own = kind.__flags__ & BY_CLASS_STATEMENT  # else Python does not see what its objects hold
    if (is_library(kind.__module__) or not own) and kind is not types.SimpleNamespace:
        raise NotFollowed
    return _of_object


def _of_function(function: Any) -> list[Any]:
    """The globals, closure and defaults of a function."""
    code, own = function.__code__, function.__globals__
    read, names, imported = names_of(code)
    if any(name in UNKNOWN and name not in own for name in read):
        raise NotFollowed
    found = [code, *[own[name] for name in read if name in own]]
    found += [sys.modules.get(name) for name in _absolute(imported, own)]
    if function.__defaults__ is not None:
        found += function.__defaults__
    if function.__kwdefaults__ is not None:
        found += function.__kwdefaults__.values()
    for cell in function.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:  # it is not assigned yet
            found.append(None)
    done = set()
    for x in found:  # grows by what is in modules, modules too
        if x.__class__ is types.ModuleType and id(x) not in done:
            done.add(id(x))
            inside = vars(x)
            if is_library(x.__name__):
                found += _of_library(x, names)
            else:
                found += [inside[name] for name in (*names, "__getattr__") if name in inside]
    return found


def _absolute(imported: tuple[tuple[int, str], ...], own: Mapping[str, Any]) -> Iterator[str]:
    """The modules that a function imports, and the packages that they are in."""
    for level, name in imported:
        try:
            parts = resolve_name("." * level + name, own.get("__package__")).split(".")
        except ImportError:  # as the function will say
            continue
        yield from accumulate(parts, "{}.{}".format)


@functools.lru_cache(4096)
def _of_library(module: Any, names: tuple[str, ...]) -> tuple[Any, ...]:
    """What a library has under some names, and may give other values each time: modules, and
    functions that are bound to objects."""
    offered = {*vars(module), *getattr(module, "__all__", ())}
    found = [getattr(module, name, None) for name in names if name in offered]
    kinds = types.ModuleType, types.BuiltinFunctionType, types.MethodType
    return tuple([x for x in found if isinstance(x, kinds) or is_changing(x)])


CONTAINERS: dict[type, Callable[[Any], list[Any]]] = {
    types.FunctionType: _of_function,
    types.MethodType: lambda x: [x.__func__, x.__self__],
    types.BuiltinFunctionType: lambda x: [x.__self__],
    functools.partial: lambda x: [x.func, x.args, x.keywords],
    list: list, tuple: list, set: list, frozenset: list,
    dict: lambda x: [*x, *x.values()],
}  # fmt: skip


def _of_object(value: Any) -> list[Any]:
    """The attributes of an object, and the functions and attributes of its class."""
    found = [*getattr(value, "__dict__", {}).values()]
    for base in value.__class__.__mro__:
        if is_library(base.__module__):
            continue
        slots = base.__dict__.get("__slots__", ())
        found += [
            getattr(value, name, None) for name in (slots if slots.__class__ is tuple else (slots,))
        ]
    return found + _of_class(value.__class__)


def _of_class(value: Any) -> list[Any]:
    """The functions and attributes of a class, of those that it inherits from, and its own
    class."""
    found = [] if value.__class__ is type else [value.__class__]
    for base in value.__mro__:
        if is_library(base.__module__):
            continue
        for name, part in base.__dict__.items():
            if part.__class__ is property:
                found.append(part.fget)
            elif part.__class__ is types.FunctionType or not (
                name.startswith("__") or name == "_abc_impl"
            ):
                found.append(part)
    return found


@functools.lru_cache(4096)
def names_of(
    code: types.CodeType,
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[int, str], ...]]:
    """The global names that code reads, all names, of attributes too, and the modules that it
    imports, with the levels of relative imports; with those of functions inside of it."""
    instructions = [x for x in dis.get_instructions(code) if x.opname != "EXTENDED_ARG"]
    read = {x.argval for x in instructions if x.opname == "LOAD_NAME" or "GLOBAL" in x.opname}
    imported = {
        (level.argval, x.argval) for level, x in zip(instructions, instructions[2:], strict=False)
        if x.opname == "IMPORT_NAME"
    }  # fmt: skip
    names = set(code.co_names)
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            inner = names_of(part)
            read.update(inner[0])
            names.update(inner[1])
            imported.update(inner[2])
    return tuple(sorted(read)), tuple(sorted(names)), tuple(sorted(imported))


@functools.cache
def is_library(module: str, names: tuple[str, ...] = (*OWN, builtins.__name__)) -> bool:
    """Whether a module is of an installed package, whose functions and classes do not change."""
    if not module or module.partition(".")[0] in names:
        return bool(module)
    if names is OWN or module == "__main__":
        return False
    path = getattr(sys.modules.get(module), "__file__", None) or ""
    if module in sys.builtin_module_names or path.startswith(LIBRARIES):
        return True
    return any(part in SITES for part in Path(path).parts)  # of other environments, or of a user


__all__ = ["NotFollowed", "Outside", "constant", "outside"]
