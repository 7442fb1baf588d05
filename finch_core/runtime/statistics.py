"""What a kernel tells about its calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from finch_core.interface.display import drawn


class Statistics(dict[str, Any]):
    """Statistics by name, of the kernel ``name``; notebooks show them as a table."""

    def __init__(self, name: str, **values: Any) -> None:
        super().__init__(values)
        self.name = name

    @classmethod
    def of(cls, name: str, specializations: Sequence[Any]) -> Statistics:
        """What ``Kernel.stats`` gives of these specialisations."""
        seconds: dict[str, float] = {}
        for specialized in specializations:
            for stage, value in specialized.lowered.seconds.items():
                seconds[stage] = seconds.get(stage, 0.0) + value
        return cls(
            name,
            calls=sum(specialized.calls for specialized in specializations),
            signatures=len(specializations),
            from_disk=sum(specialized.lowered.cached for specialized in specializations),
            seconds=seconds,
        )

    def _repr_html_(self) -> str | None:
        return drawn("stats_html", self.name, self)


__all__ = ["Statistics"]
