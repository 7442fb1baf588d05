"""Tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from finch_core.show.marks import element, escaped

_CELL = "text-align:left;padding:2px 12px 2px 0;border:0"


def table(caption: str, rows: Iterable[tuple[Any, Any]]) -> str:
    """Two columns: what it is, and how much."""
    lines = "".join(
        element(
            "tr",
            element("th", escaped(name), scope="row", style=_CELL)
            + element("td", escaped(value) or " ", style=_CELL),
        )
        for name, value in rows
    )
    head = element("caption", escaped(caption), style="text-align:left;padding:0 0 4px")
    return element("table", head + lines, style="border-collapse:collapse")


def stats_html(name: str, stats: Mapping[str, Any]) -> str:
    """The statistics of a kernel (``Kernel.stats``) as a table: counts, then seconds by stage."""
    rows: list[tuple[Any, Any]] = []
    for key, value in stats.items():
        if isinstance(value, Mapping):
            rows += [(f"{key}: {part}", _shown(number)) for part, number in value.items()]
        else:
            rows.append((key, _shown(value)))
    return table(f"kernel {name}", rows)


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


__all__ = ["stats_html", "table"]
