"""What a kernel tells about its calls."""

from __future__ import annotations

from typing import Any


class Statistics(dict[str, Any]):
    """Statistics by name, of the kernel ``name``; notebooks show them as a table."""

    def __init__(self, name: str, **values: Any) -> None:
        super().__init__(values)
        self.name = name

    def _repr_html_(self) -> str | None:
        from finch_core.interface.display import drawn

        return drawn("stats_html", self.name, self)


__all__ = ["Statistics"]
