"""The objects that plugins registered, by kind and name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from finch_core.errors import PluginError, quote
from finch_core.interface.assembly_passes import AssemblyPass
from finch_core.interface.conversion_calls import guarded
from finch_core.interface.conversions import Conversion
from finch_core.interface.file_formats import FileFormat
from finch_core.interface.plugin_checks import REQUIRED
from finch_core.interface.plugin_records import Failure, Plugin, failures_told, origin
from finch_core.ir.stored_dtypes import StoredDtype

MOST_CLASSES = 256
"""The most classes of objects for which the conversions that may take them are remembered."""


class PluginTables:
    """Looks up what the plugins of a hub registered; the hub publishes new tables when these
    change."""

    def __init__(self) -> None:
        self._plugins: dict[str, Plugin] = {}
        self._failures: tuple[Failure, ...] = ()
        self._by_kind: Mapping[str, Mapping[str, Any]] = {}
        self._conversions: tuple[Conversion, ...] = ()
        self._candidates: dict[type, tuple[Conversion, ...]] = {}
        self._layouts: dict[str, Any] = {}

    def _publish(self) -> None:
        """Make the tables anew: readers hold no lock, so tables are replaced, never changed."""
        tables: dict[str, dict[str, Any]] = {kind: {} for kind in REQUIRED}
        for plugin in sorted(self._plugins.values(), key=lambda p: p.rank):
            for item in plugin.contributed:
                tables[item.kind][item.name] = item.object
        tables["conversion"] = {
            name: guarded(found, self.owner("conversion", name))
            for name, found in tables["conversion"].items()
        }
        self._by_kind = {kind: MappingProxyType(table) for kind, table in tables.items()}
        self._layouts = {}
        conversions = tables["conversion"].values()
        self._conversions = tuple(sorted(conversions, key=lambda c: c.fallback))
        self._candidates = {}

    @property
    def levels(self) -> Mapping[str, Any]:
        """Level formats by name."""
        return self._kind("level format")

    @property
    def wrappers(self) -> Mapping[str, Any]:
        """Wrappers by name."""
        return self._kind("wrapper")

    @property
    def masks(self) -> Mapping[str, Any]:
        """Masks by name."""
        return self._kind("mask")

    @property
    def scalars(self) -> Mapping[str, Any]:
        """Kinds of scalars by name."""
        return self._kind("scalar")

    @property
    def operators(self) -> tuple[Any, ...]:
        """Operators that plugins added (``finch_core.operators`` has them all)."""
        return tuple(self._kind("operator").values())

    @property
    def rules(self) -> tuple[Any, ...]:
        """Rewrite rules that plugins added, this distribution's first, then by plugin name."""
        return tuple(self._kind("rewrite rule").values())

    @property
    def array_namespaces(self) -> Mapping[str, Any]:
        """The namespaces of array functions by name, this distribution's first."""
        return self._kind("array namespace")

    @property
    def displays(self) -> Mapping[str, Any]:
        """What draws tensors and kernels, by name, this distribution's first."""
        return self._kind("display")

    def conversion_of(self, value: Any) -> Conversion | None:
        """The conversion that takes ``value``; None where there is none, and for arrays and
        numbers of NumPy, which need none."""
        if isinstance(value, (np.ndarray, np.generic)):
            return None
        candidates = self._candidates
        known = candidates.get(type(value))
        if known is None:
            known = tuple([c for c in self._conversions if c.may_take(type(value))])
            if len(candidates) >= MOST_CLASSES:
                candidates.clear()
            candidates[type(value)] = known
        for c in known:
            if c.takes(value):
                return c
        return None

    @property
    def file_formats(self) -> Mapping[str, FileFormat]:
        """File formats by name."""
        return self._kind("file format")

    @property
    def assembly_passes(self) -> Mapping[str, AssemblyPass]:
        """Passes over assembly that plugins added, by name (``finch_core.optimize`` has all)."""
        return self._kind("assembly pass")

    @property
    def dtypes(self) -> Mapping[str, StoredDtype]:
        """Dtypes that are stored as one that backends have, by name."""
        return self._kind("dtype")

    def owner(self, kind: str, name: str) -> str:
        """The plugin that registered an object, with its distribution, for messages.

        Raises ``PluginError`` if there is none of that kind and name.
        """
        for plugin in self._plugins.values():
            if any((c.kind, c.name) == (kind, name) for c in plugin.contributed):
                return origin(plugin)
        raise PluginError(f"there is no {kind} {name!r}", hint=self._installed(kind, name))

    def conversion(self, name: str) -> Conversion:
        """The conversion of this name; raises ``PluginError``."""
        found: Conversion = self._look_up("conversion", name)
        return found

    def level(self, name: str) -> Any:
        """The level format of this name; raises ``PluginError``."""
        return self._look_up("level format", name)

    def wrapper(self, name: str) -> Any:
        """The wrapper of this name; raises ``PluginError``."""
        return self._look_up("wrapper", name)

    def mask(self, name: str) -> Any:
        """The mask of this name; raises ``PluginError``."""
        return self._look_up("mask", name)

    def scalar(self, name: str) -> Any:
        """The kind of scalar of this name; raises ``PluginError``."""
        return self._look_up("scalar", name)

    def layout(self, layout: str) -> Any:
        """The level format whose attribute ``layout`` is ``dense``, ``compressed`` (sorted
        coordinates) or ``values`` (the leaf).

        The core makes formats by it without naming one. Raises ``PluginError`` unless there is
        exactly one.
        """
        layouts = self._layouts
        known = layouts.get(layout)
        if known is not None:
            return known
        found = [(n, f) for n, f in self.levels.items() if getattr(f, "layout", "") == layout]
        if len(found) != 1:
            claims = f"it is claimed by {quote(n for n, _ in found)}" if found else "there is none"
            raise PluginError(
                f"one level format with layout {layout!r} is expected; {claims}",
                hint=self._installed("level format", layout),
            )
        layouts[layout] = found[0][1]
        return found[0][1]

    def _kind(self, kind: str) -> Mapping[str, Any]:
        return self._by_kind.get(kind, MappingProxyType({}))

    def _look_up(self, kind: str, name: str) -> Any:
        found = self._kind(kind)
        if name in found:
            return found[name]
        failed = next((f for f in self._failures if f.name == name), None)
        why = f"there is no {kind} {name!r}" if failed is None else f"the plugin {failed}"
        raise PluginError(why, hint=self._installed(kind, name))

    def _installed(self, kind: str, name: str) -> str:
        known = sorted(self._kind(kind) if kind else self._plugins)
        text = f"installed: {', '.join(known) or 'none'}"
        return text + failures_told(self._failures, name)


__all__ = ["PluginTables"]
