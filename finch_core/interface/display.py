"""Pictures of tensors and of kernels, which a plugin provides and the core finds by the hub.

The core draws nothing. A plugin returns a ``Display`` from the hook ``finch_display``; notebooks
reach it by ``_repr_html_`` of tensors, and users by ``kernel.explore``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from finch_core.errors import PluginError
from finch_core.interface.plugins import hub
from finch_core.records import frozen

KIND = "display"


@frozen
class Display:
    """What draws: ``load()`` imports and returns it at the first use.

    It has ``tensor_html(tensor)``, ``stats_html(name, stats)`` and ``plan_html(nodes)`` (names,
    what they are, notes, and the names that each reads), which return HTML for notebooks, and
    ``explore(lowered, path)``, which writes a page about a kernel that ``kernel.lower`` has
    specialised (``path`` None: to a file with its name) and returns the path.
    """

    name: str
    load: Callable[[], Any]


def display() -> Any:
    """The display of the first plugin that provides one, this distribution's first; None if there
    is none."""
    offered = hub().displays
    return next(iter(offered.values())).load() if offered else None


def drawn(method: str, *args: Any) -> str | None:
    """What a method of the display makes of ``args``; None where that fails: a notebook then shows
    the ``repr``."""
    try:
        found = display()
        return None if found is None else str(getattr(found, method)(*args))
    except Exception:  # a picture is never the reason why a cell fails
        return None


def explored(lowered: Any, path: Any) -> Any:
    """``explore`` of the display. Raises ``PluginError`` if there is no display."""
    found = display()
    if found is None:
        raise PluginError(
            "kernels cannot be explored: no plugin provides a display",
            hint="finch_core.show does; it may be blocked (python -m finch_core plugins)",
        )
    return found.explore(lowered, path)


__all__ = ["Display", "display", "drawn", "explored"]
