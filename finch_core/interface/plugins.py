"""The plugin hub: finds level formats, scalars, wrappers, masks, operators and rewrite rules.

A plugin is a module (or object) with functions marked ``@hookimpl``, listed in its distribution
under the entry-point group ``finch.plugins``; built-in plugins are found in the same way.
Discovery happens at the first ``hub()``. A plugin that does not load, or breaks the contract,
is recorded as a ``Failure`` and does not affect others; the failure is reported when its name
is looked up. Plugins of this distribution come first, and a name that is taken stays with its
owner: a second claim is refused.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import pluggy

from finch_core.errors import PluginError, quote
from finch_core.interface.discovery import EntryPoint, installed
from finch_core.interface.hookspecs import PROJECT
from finch_core.interface.plugin_checks import (
    REQUIRED,
    Contribution,
    RejectedError,
    check_claims,
    contributions,
    describe,
    hooks_of,
    manager,
    modules_of,
    observes,
)
from finch_core.interface.plugin_records import (
    BY_HAND,
    DISTRIBUTION,
    Failure,
    Plugin,
    PluginReport,
    origin,
)
from finch_core.interface.plugin_tables import PluginTables
from finch_core.interface.versions import version_objection, version_objection_in_file
from finch_core.ir import operators as registry
from finch_core.ir.owners import own
from finch_core.ir.stored_dtypes import load_with, register_dtype, unregister_dtype
from finch_core.locks import Lock, importing, on_fork
from finch_core.records import evolve

GROUP = "finch.plugins"
"""The entry-point group of plugins."""

hookimpl = pluggy.HookimplMarker(PROJECT)
"""Marks the functions of a plugin that implement hooks."""


_REMEDY = "docs/hooks.md has what each hook takes; where a name is taken, block(name) gives it up"


_dependents: list[Callable[[], None]] = []


def when_plugins_change(forget: Callable[[], None]) -> None:
    """Call ``forget`` whenever a plugin is added to the hub of the process, or removed: what it
    keeps may have been made with what the plugins were before."""
    _dependents.append(forget)


class Hub(PluginTables):
    """The plugins that were found, by kind and name. Thread-safe."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = Lock()
        self._observers: pluggy.PluginManager | None = None
        self._blocked: frozenset[str] = frozenset()
        self._nonce = os.urandom(8).hex()
        self.generation = 0
        """Changes whenever a plugin is added or removed, to invalidate caches."""

    @classmethod
    def discover(cls, entries: Iterable[EntryPoint] | None = None) -> Hub:
        """A hub with all installed plugins (or those of ``entries``).

        Raises ``PluginError`` where there are none at all: the package is not installed.
        """
        found = _sorted(installed(GROUP) if entries is None else entries)
        if not found:
            raise PluginError(
                f"no plugins are installed, not even those of {DISTRIBUTION} itself",
                hint="install the package, also to work on it: pip install -e .",
            )
        made = cls()
        for entry in found:
            made._load(entry)
        made._refresh()
        return made

    # -- what is there ----------------------------------------------------------------------

    def report(self) -> tuple[PluginReport, ...]:
        """All plugins by name, including those that failed."""
        taken = [
            PluginReport(p.name, p.distribution, p.version, tuple(c.name for c in p.contributed))
            for p in self._plugins.values()
        ]
        failed = [
            PluginReport(f.name, f.distribution, f.version, (), f.reason) for f in self._failures
        ]
        return tuple(sorted(taken + failed, key=lambda e: (e.name, e.distribution)))

    def modules(self) -> tuple[ModuleType, ...]:
        """The modules with the plugins' code: of an object, those of its hooks."""
        return tuple(m for p in self._plugins.values() for m in modules_of(p.module))

    def fingerprint(self) -> str:
        """The plugins and their versions as text, for keys of caches that outlive the process.

        The version of a plugin registered by a call does not identify its code; if such a
        plugin contributes anything, the fingerprint is unique to this process.
        """
        plugins = sorted(self._plugins.values(), key=lambda p: p.name)
        known = [f"{p.name}={p.distribution} {p.version}" for p in plugins]
        if any(p.distribution == BY_HAND and p.contributed for p in plugins):
            known.append(f"{self._nonce} {self.generation}")
        return ";".join(known)

    # -- changing it ------------------------------------------------------------------------

    def register(self, module: Any, name: str) -> None:
        """Add a plugin that is not installed, under ``name``.

        Raises ``PluginError``, and adds nothing, if it breaks the contract or claims a taken
        name.
        """
        with self._lock:
            failure = self._add(module, name, BY_HAND, "0")
            if failure is not None:
                found = evolve(failure, name=name)
                raise PluginError(f"the plugin {found}", hint=_REMEDY)
            self._refresh()

    def unregister(self, name: str) -> None:
        """Remove a plugin and everything that it registered. Raises ``PluginError`` if there is
        none."""
        with self._lock:
            if name not in self._plugins:
                raise PluginError(f"there is no plugin {name!r}", hint=self._installed("", name))
            plugin = self._plugins.pop(name)
            if self._observers is not None and self._observers.has_plugin(plugin.name):
                self._observers.unregister(name=plugin.name)
            for item in plugin.contributed:
                _own(item, "")
                if item.kind == "operator":
                    registry.unregister(item.object)
                if item.kind == "dtype":
                    unregister_dtype(item.object)
            self._refresh()

    def reject(self, kind: str, name: str, reason: str) -> None:
        """Remove the plugin that registered an object, as one that failed: what is found out only
        where the object is used. Raises ``PluginError`` for a plugin that was added by a call."""
        with self._lock:
            for plugin in tuple(self._plugins.values()):
                if any((c.kind, c.name) == (kind, name) for c in plugin.contributed):
                    said = f"the {kind} {name!r} {reason}"
                    found = Failure(plugin.name, plugin.distribution, plugin.version, said, (name,))
                    self.unregister(plugin.name)
                    self._failures += (found,)
                    if plugin.distribution == BY_HAND:
                        raise PluginError(f"the plugin {found}", hint=_REMEDY)

    def block(self, name: str) -> None:
        """Remove the plugin of this name, if there is one, and refuse this name from now on."""
        with self._lock:
            self._blocked |= {name}
            self._failures = tuple(f for f in self._failures if f.name != name)
            if name in self._plugins:
                self.unregister(name)

    # -- observers --------------------------------------------------------------------------

    def after_stage(self, name: str, stage: str, value: object) -> None:
        """Call the observers: ``stage`` of kernel ``name`` produced ``value``."""
        self._notify("finch_after_stage", name=name, stage=stage, value=value)

    def kernel_built(self, name: str, seconds: dict[str, float], cached: bool) -> None:
        """Call the observers: kernel ``name`` is ready."""
        self._notify("finch_kernel_built", name=name, seconds=seconds, cached=cached)

    def _notify(self, hook: str, **arguments: Any) -> None:
        if self._observers is None:
            return
        caller = getattr(self._observers.hook, hook)
        impls = caller.get_hookimpls()
        if not impls:
            return
        try:
            caller(**arguments)
        except Exception as error:
            names = [origin(self._plugins[i.plugin_name]) for i in impls]
            raise PluginError(
                f"an observer of {hook} failed: {describe(error)}",
                hint=f"{hook} is observed by {', '.join(names)}",
            ) from error

    # -- inside -----------------------------------------------------------------------------

    def _load(self, entry: EntryPoint) -> None:
        if entry.name in self._blocked:
            return
        try:
            module = entry.load()
        # a plugin may also raise SystemExit while it is imported
        except (Exception, SystemExit) as error:
            reason = (
                version_objection_in_file(entry.module) or f"it does not load: {describe(error)}"
            )
            failure: Failure | None = Failure(entry.name, *entry.origin, reason)
        else:
            failure = self._add(module, entry.name, *entry.origin)
        if failure is not None:
            self._failures += (failure,)

    def _add(self, module: Any, name: str, distribution: str, version: str) -> Failure | None:
        """Accept a plugin as a whole, or return the failure."""
        claims: tuple[str, ...] = ()
        try:
            self._check_name(name, module)
            _check_version(module)
            hooks = hooks_of(module)
            found = contributions(hooks)
            claims = tuple(item.name for item in found)
            for item in found:
                self._check_taken(item, found)
        except RejectedError as error:
            named = (error.name,) if error.name else ()
            return Failure(name, distribution, version, str(error), claims or named)
        plugin = Plugin(name, distribution, version, module, found)
        for item in found:
            _own(item, origin(plugin))
            if item.kind == "operator":
                registry.register(item.object)
            if item.kind == "dtype":
                register_dtype(item.object)
        if observes(hooks):
            self._observers = self._observers or manager()
            self._observers.register(hooks, name)
        self._plugins[name] = plugin
        return None

    def _check_name(self, name: str, module: Any) -> None:
        if name in self._blocked:
            raise RejectedError("it is blocked")
        if name in self._plugins:
            raise RejectedError(f"the plugin name is taken by {origin(self._plugins[name])}")
        for plugin in self._plugins.values():
            if plugin.module is module:
                raise RejectedError(f"it is the same module as the plugin {origin(plugin)}")

    def _check_taken(self, item: Contribution, found: tuple[Contribution, ...]) -> None:
        """Refuse a name, or what else one alone may have, if another object of the kind has it."""
        if [(c.kind, c.name) for c in found].count((item.kind, item.name)) > 1:
            raise RejectedError(f"it registers the {item.kind} {item.name!r} twice", item.name)
        for other in found:
            if other is not item:
                check_claims(item, other, "this plugin")
        for plugin in self._plugins.values():
            for other in plugin.contributed:
                if (other.kind, other.name) == (item.kind, item.name):
                    why = f"the {item.kind} {item.name!r} is taken by {origin(plugin)}"
                    raise RejectedError(why, item.name)
                check_claims(item, other, origin(plugin))

    def _refresh(self) -> None:
        """Publish new tables: readers hold no lock, so tables are replaced, never changed."""
        self._publish()
        self.generation += 1
        if self is _hub:
            for forget in tuple(_dependents):
                forget()


def _own(item: Contribution, owner: str) -> None:
    """Tell whose an object is, and the operators of a dtype, which are not registered."""
    own(item.object, owner)
    if item.kind == "dtype":
        for op in (item.object.decode, item.object.encode):
            if op is not None and op.definition is not None:
                own(op, owner)


def _check_version(module: Any) -> None:
    objection = version_objection(module)
    if objection:
        raise RejectedError(objection)


def _sorted(entries: Iterable[EntryPoint]) -> list[EntryPoint]:
    """Entry points of this distribution first, so that its names are not taken; then by name."""
    return sorted(entries, key=lambda e: (e.distribution != DISTRIBUTION, e.name, e.origin))


_lock = Lock()
_hub: Hub | None = None
_building = False


def hub() -> Hub:
    """The hub of this process, with the installed plugins; discovered at the first call.

    Raises ``PluginError`` if no plugin is installed, and if a plugin calls it while it is being
    loaded.
    """
    return _hub if _hub is not None else _discover()


def _discover() -> Hub:
    global _hub, _building
    with _lock, importing:
        if _building:
            raise PluginError("a plugin asks for the hub while the hub loads it")
        if _hub is None:
            _building = True
            try:
                _hub = Hub.discover()
            finally:
                _building = False
        return _hub


def _forked() -> None:
    """Reset the lock in a child process, where no other thread is making the hub."""
    global _building
    _building = False


on_fork(_forked)
load_with(hub)


def required_methods(kind: str) -> str:
    """The methods that objects of ``kind`` must have, for messages and documentation."""
    return quote(" or ".join(group) for group in REQUIRED[kind])
