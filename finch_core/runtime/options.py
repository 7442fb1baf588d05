"""How a kernel is compiled: what its maker may choose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from finch_core.records import frozen

if TYPE_CHECKING:
    from finch_core.symbolic.simplifier import Rule


@frozen
class Options:
    """How a kernel is compiled: the options of ``kernel``, and ``disabled``, names of rules of
    lowering, of passes over assembly and of optimisations of the backend to switch off. Disabling
    changes run times, never results; tests and ``bench/passes.py`` use it. A name that nothing has
    is refused when the kernel is lowered."""

    strict: bool = False
    backend: str | None = None
    rules: tuple[Rule, ...] = ()
    disabled: frozenset[str] = frozenset()
    least_work: int = 1 << 16
    """The work of a part of a parallel loop, at least: some ten microseconds. Tests take less."""

    def key(self) -> str:
        """A text that differs between different options; ``rules`` and ``backend`` left out."""
        return f"strict={self.strict} disabled={sorted(self.disabled)} work={self.least_work}"


__all__ = ["Options"]
