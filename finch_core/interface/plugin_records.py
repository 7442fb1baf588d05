"""Records of plugins: origin, registered objects, or the reason of failure."""

from __future__ import annotations

from typing import Any

from finch_core.interface.plugin_checks import Contribution
from finch_core.records import frozen

DISTRIBUTION = "finch-python"
"""The distribution that this package is part of."""

BY_HAND = "(registered by hand)"
"""The distribution of plugins that are registered by a call, not installed."""


@frozen
class Failure:
    """Why a plugin of a distribution failed; ``claims`` are the names that it would register, as
    far as they are known."""

    name: str
    distribution: str
    version: str
    reason: str
    claims: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{origin(self)}: {self.reason}"

    def concerns(self, name: str) -> bool:
        """Whether this failure may be the reason why ``name`` is not registered."""
        return name in self.claims or name.casefold() == self.name.casefold()


@frozen(eq=False)
class Plugin:
    """An accepted plugin: its origin and the objects that it registers."""

    name: str
    distribution: str
    version: str
    module: Any
    contributed: tuple[Contribution, ...]

    @property
    def rank(self) -> tuple[bool, str]:
        """Its sort key in tables: plugins of this distribution first, each by name."""
        return self.distribution != DISTRIBUTION, self.name


@frozen
class PluginReport:
    """A line of ``Hub.report``; ``failure`` is empty for a plugin that works."""

    name: str
    distribution: str
    version: str
    registers: tuple[str, ...] = ()
    failure: str = ""


def origin(plugin: Plugin | Failure) -> str:
    """A plugin's name and origin, for a message."""
    if plugin.distribution == BY_HAND:
        return f"{plugin.name!r} {BY_HAND}"
    return f"{plugin.name!r} ({plugin.distribution} {plugin.version})"


_SHOWN = 4
"""The largest number of failures named in a message if none is known to be related."""


def failures_told(failures: tuple[Failure, ...], name: str) -> str:
    """The part of a message about ``name`` that lists failed plugins.

    It gives the reason for those that may have registered ``name``, and names the others.
    """
    related = [f for f in failures if f.concerns(name)]
    others = [f for f in failures if f not in related]
    text = "; failed: " + "; ".join(map(str, related)) if related else ""
    if others:
        names = [repr(f.name) for f in others[:_SHOWN]]
        if len(others) > _SHOWN:
            names.append(f"{len(others) - _SHOWN} more")
        text += f"; failed{' too' if related else ''}: {', '.join(names)}, and"
        text += " python -m finch_core plugins says why"
    return text


__all__ = [
    "BY_HAND", "DISTRIBUTION", "PluginReport", "Failure", "Plugin", "failures_told", "origin",
]  # fmt: skip
