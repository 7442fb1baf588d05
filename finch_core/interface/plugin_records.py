"""What the hub knows of each plugin: where it comes from, what it registers, or why it failed."""

from __future__ import annotations

from typing import Any

from finch_core.interface.plugin_checks import Contribution
from finch_core.records import frozen

DISTRIBUTION = "finch-python"
"""The distribution that this package is part of."""

BY_HAND = "(registered by hand)"
"""Stands for the distribution of plugins that are not installed."""


@frozen
class Failure:
    """Why a plugin of a distribution is not there; ``claims`` are the names that it registers, as
    far as that is known."""

    name: str
    distribution: str
    version: str
    reason: str
    claims: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{origin(self)}: {self.reason}"

    def concerns(self, name: str) -> bool:
        """Whether it may be why ``name`` is not there."""
        return name in self.claims or name.casefold() == self.name.casefold()


@frozen(eq=False)
class Plugin:
    """A plugin that was taken: where it comes from and what it registers."""

    name: str
    distribution: str
    version: str
    module: Any
    contributed: tuple[Contribution, ...]

    @property
    def rank(self) -> tuple[bool, str]:
        """Its place in tables: plugins of this distribution come first, each by its name."""
        return self.distribution != DISTRIBUTION, self.name


@frozen
class Entry:
    """A line of ``Hub.report``; ``failure`` is empty for a plugin that works."""

    name: str
    distribution: str
    version: str
    registers: tuple[str, ...] = ()
    failure: str = ""


def origin(plugin: Plugin | Failure) -> str:
    """A plugin's name and where it comes from, for a message."""
    if plugin.distribution == BY_HAND:
        return f"{plugin.name!r} {BY_HAND}"
    return f"{plugin.name!r} ({plugin.distribution} {plugin.version})"


_SHOWN = 4
"""The most failures that are named where none is known to matter."""


def failures_told(failures: tuple[Failure, ...], name: str) -> str:
    """What a message on ``name`` says of the plugins that failed: why those did that it may come
    from, and which others did."""
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
    "BY_HAND", "DISTRIBUTION", "Entry", "Failure", "Plugin", "failures_told", "origin",
]  # fmt: skip
