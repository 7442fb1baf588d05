"""Checks of a plugin before the hub accepts it; they raise ``RejectedError`` with the reason."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any

import pluggy

from finch_core.errors import quote
from finch_core.interface import hookspecs
from finch_core.interface.level import Format
from finch_core.interface.plugin_objects import objection
from finch_core.ir.close_names import nearest
from finch_core.ir.operators import Operator, operator_for, operators
from finch_core.records import frozen

REGISTERING: Mapping[str, str] = MappingProxyType(
    {
        "finch_level_format": "level format",
        "finch_wrapper": "wrapper",
        "finch_mask": "mask",
        "finch_scalar": "scalar",
        "finch_operators": "operator",
        "finch_rewrite_rules": "rewrite rule",
        "finch_conversion": "conversion",
        "finch_file_format": "file format",
        "finch_array_namespace": "array namespace",
        "finch_assembly_passes": "assembly pass",
        "finch_dtypes": "dtype",
        "finch_display": "display",
    }
)
"""The hooks that return objects, and the kind of object that each returns."""

_LEVEL = (
    ("declare",),
    ("assemble",),
    ("freeze",),
    ("thaw",),
    ("unfurl", "unwrap"),
    ("sizes",),
)

REQUIRED: Mapping[str, tuple[tuple[str, ...], ...]] = MappingProxyType(
    {
        "level format": _LEVEL,
        "wrapper": (("match_access", "__call__"),),
        "mask": (("match_condition", "unfurl", "__call__"),),
        "scalar": _LEVEL,
        "operator": (("evaluate",), ("typing",)),
        "rewrite rule": (("apply",),),
        "conversion": (("take",), ("give",)),
        "file format": (("load", "save"),),
        "array namespace": (("load",),),
        "assembly pass": (("run",),),
        "dtype": (("covers",),),
        "display": (("load",),),
    }
)
"""The methods that objects of each kind must have; of each group, at least one.

Paper, Table "The five functions that define a level": a leaf has ``unwrap`` in place of
``unfurl``. Methods merely inherited from ``Format`` do not count, and a format with ``thaws =
False`` needs no ``thaw``.
"""


class RejectedError(Exception):
    """The reason why a plugin is rejected; ``name`` is that of the object at fault, if there is
    one."""

    def __init__(self, reason: str, name: str = "") -> None:
        self.name = name
        super().__init__(reason)


@frozen(eq=False)
class Contribution:
    """One object that a plugin registers."""

    kind: str
    name: str
    object: Any

    @property
    def claims(self) -> Mapping[str, str]:
        """What one object of its kind alone may have, each with the reason, for a message."""
        if self.kind == "file format":
            why = "one format alone may have an ending"
            return {f"the ending {ending!r}": why for ending in self.object.endings}
        layout = getattr(self.object, "layout", "") if self.kind == "level format" else ""
        if not (isinstance(layout, str) and layout):
            return {}
        why = "it says which format the core makes, so one alone may have it; "
        return {f"the layout {layout!r}": why + 'set layout = ""'}


def check_claims(item: Contribution, other: Contribution, owner: str) -> None:
    """Refuse ``item`` if it claims what ``other``, which belongs to ``owner``, has."""
    if item.kind != other.kind:
        return
    for claim, why in item.claims.items():
        if claim in other.claims:
            of = f"of the {item.kind} {item.name!r} is that of {other.name!r} of {owner}"
            raise RejectedError(f"{claim} {of}: {why}", item.name)


class Hooks:
    """The hook implementations of a module, and nothing else.

    pluggy inspects every attribute of a plugin, and a module has many.
    """

    def __init__(self, module: ModuleType) -> None:
        functions = {n: f for n, f in vars(module).items() if isinstance(f, FunctionType)}
        self._marked = [name for name, f in functions.items() if hasattr(f, _MARK)]
        self.__dict__.update({name: functions[name] for name in self._marked})
        self.__name__ = module.__name__

    def __dir__(self) -> list[str]:
        return self._marked


def hooks_of(plugin: Any) -> Any:
    """``plugin`` in the form that is passed to pluggy."""
    return Hooks(plugin) if isinstance(plugin, ModuleType) else plugin


def modules_of(plugin: Any) -> tuple[ModuleType, ...]:
    """The modules with the code of ``plugin``: its own, or those of an object's class and hooks."""
    if isinstance(plugin, ModuleType):
        return (plugin,)
    members = (getattr(plugin, name, None) for name in dir(plugin) if name.startswith("finch_"))
    names = {getattr(found, "__module__", None) for found in (type(plugin), plugin, *members)}
    found = (sys.modules.get(name) for name in sorted(filter(None, names)))
    return tuple(module for module in found if module is not None)


def manager() -> pluggy.PluginManager:
    """A pluggy manager that knows the hooks."""
    made = pluggy.PluginManager(hookspecs.PROJECT)
    made.add_hookspecs(hookspecs)
    return made


def contributions(plugin: Any) -> tuple[Contribution, ...]:
    """The objects that ``plugin`` registers. Raises ``RejectedError`` if it breaks the contract."""
    found = _returned_by_plain_hooks(plugin)
    if found is None:
        found = _collected(plugin)
    for item in found:
        _check_object(item)
    return found


def _returned_by_plain_hooks(plugin: Any) -> tuple[Contribution, ...] | None:
    """What a module registers whose hooks are functions without parameters and options; None for
    others, which pluggy calls. Most are of this kind, and pluggy takes ten times as long."""
    if not isinstance(plugin, Hooks):
        return None
    hooks = [(name, getattr(plugin, name)) for name in dir(plugin)]
    if not hooks or any(name not in REGISTERING or not _is_plain(f) for name, f in hooks):
        return None
    return tuple(c for name, hook in hooks for c in _given(name, partial(_alone, hook), 1))


def _alone(hook: Callable[[], Any]) -> list[Any]:
    return [hook()]


def _is_plain(hook: FunctionType) -> bool:
    code = hook.__code__
    takes = code.co_argcount or code.co_kwonlyargcount or code.co_flags & _TAKES_MORE
    return not takes and not any(getattr(hook, _MARK).values())


_MARK = hookspecs.PROJECT + "_impl"
"""The attribute that pluggy's marker sets on a function."""
_TAKES_MORE = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS | inspect.CO_COROUTINE


def observes(plugin: Any) -> bool:
    """Whether a plugin, in the form of ``hooks_of``, has hooks beside those that register."""
    return not isinstance(plugin, Hooks) or any(name not in REGISTERING for name in dir(plugin))


def _collected(plugin: Any) -> tuple[Contribution, ...]:
    probe = _probe()
    try:
        probe.register(plugin)
    except pluggy.PluginValidationError as error:
        _probe.cache_clear()
        raise RejectedError(f"a hook has the wrong signature: {_one_line(error)}") from error
    try:
        callers = probe.get_hookcallers(plugin) or []
        if not callers:
            raise RejectedError("it registers nothing: no function of it is marked with hookimpl")
        for caller in callers:
            _check_hook(caller)
        return tuple(c for caller in callers for c in _returned(caller))
    finally:
        probe.unregister(plugin)


@cache
def _probe() -> pluggy.PluginManager:
    """A manager for one plugin at a time, to collect what it registers."""
    return manager()


def _check_hook(caller: pluggy.HookCaller) -> None:
    """Refuse misspelt hooks, and parameters with defaults: pluggy before 1.7 does not pass
    those."""
    if not caller.has_spec():
        meant = nearest(caller.name, _known_hooks()) or f"hooks are {quote(_known_hooks())}"
        raise RejectedError(f"there is no hook {caller.name!r}; {meant}")
    for impl in caller.get_hookimpls():
        if isinstance(impl.function, FunctionType) and _has_no_defaults(impl.function):
            continue
        for parameter in inspect.signature(impl.function).parameters.values():
            if parameter.default is not parameter.empty:
                raise RejectedError(
                    f"a hook has the wrong signature: the parameter {parameter.name!r} of "
                    f"{caller.name!r} has a default"
                )


def _has_no_defaults(function: FunctionType) -> bool:
    return function.__defaults__ is None and function.__kwdefaults__ is None


def _known_hooks() -> list[str]:
    return sorted(n for n in vars(hookspecs) if n.startswith(hookspecs.PROJECT + "_"))


def _returned(caller: pluggy.HookCaller) -> Iterator[Contribution]:
    if caller.name in REGISTERING:
        yield from _given(caller.name, caller, len(caller.get_hookimpls()))


def _given(hook: str, call: Callable[[], list[Any]], count: int) -> Iterator[Contribution]:
    """What ``count`` implementations of a hook give."""
    kind = REGISTERING[hook]
    try:
        results = [result for result in call() if result is not None]
    except (Exception, SystemExit) as error:
        raise RejectedError(f"{hook}() failed: {describe(error)}") from error
    if len(results) < count:
        raise RejectedError(f"{hook}() returns nothing; it must return a {kind} or a list of them")
    for result in results:
        for item in result if isinstance(result, (list, tuple)) else [result]:
            yield Contribution(kind, name_of(item), item)


def name_of(item: Any) -> str:
    """The name an object is registered under: its ``name`` if that is a string, or ``__name__``."""
    for attribute in ("name", "__name__"):
        name = getattr(item, attribute, None)
        if isinstance(name, str) and name:
            return name
    raise RejectedError(f"{item!r} has no name")


def _check_object(item: Contribution) -> None:
    """Refuse an object that lacks a method, or is not of the kind as which it is registered."""
    abstract: set[str] = set(getattr(item.object, "__abstractmethods__", ()))
    groups = [g for g in REQUIRED[item.kind] if not _excused(item.object, g)]
    missing = [" or ".join(g) for g in groups if not any(_has(item.object, m) for m in g)]
    missing += sorted(abstract - {m for group in groups for m in group})
    if missing:
        methods = "the method" if len(missing) == 1 else "the methods"
        why = f"the {item.kind} {item.name!r} lacks {methods} {quote(missing)}"
        raise RejectedError(why, item.name)
    wrong = objection(item.kind, item.name, item.object)
    if wrong:
        raise RejectedError(wrong, item.name)
    if item.kind == "operator":
        _check_operator(item.object)


def _has(item: Any, method: str) -> bool:
    """Whether ``item`` has a method that is its own, not the placeholder of the base class."""
    found = getattr(item, method, None)
    if found is None or method in getattr(item, "__abstractmethods__", ()):
        return False
    return callable(found) and found is not getattr(Format, method, None)


def _excused(item: Any, group: tuple[str, ...]) -> bool:
    return group == ("thaw",) and not getattr(item, "thaws", True)


def _check_operator(op: Operator) -> None:
    """Refuse an operator whose name or function is taken (built-in operators are in the same
    registry), and an algebra that is given by values: it depends on dtypes."""
    for part in ("identity", "annihilator", "left_annihilator"):
        given = getattr(op, part, None)
        if given is not None and not callable(given):
            why = f"has {part} = {given!r}: a function of a dtype is expected"
            hint = "such as lambda dtype: dtype.type(0); define_operator takes values, too"
            raise RejectedError(f"the operator {op.name!r} {why}, {hint}", op.name)
    if any(known.name == op.name and known is not op for known in operators()):
        raise RejectedError(f"the operator {op.name!r} exists already", op.name)
    for function in op.python:
        known = operator_for(function)
        if known is not None and known is not op:
            raise RejectedError(f"{function!r} already means the operator {known.name!r}", op.name)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())


def describe(error: BaseException) -> str:
    """An exception in one line: its class and message."""
    return f"{type(error).__name__}: {_one_line(error)}".rstrip(": ")
