"""What a context needs of the rules by which statements and regions are emitted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.ir.program import Stmt


class TooManyRegions(Exception):
    """A kernel has more regions than ``Context.most_regions``: it is lowered anew, by other
    rules."""


class Lowering(Protocol):
    """The rules by which statements and regions of loops are emitted."""

    def statement(self, ctx: Context, stmt: Stmt) -> None: ...
    def region(self, ctx: Context, region: Any) -> None: ...


class Thawed(Protocol):
    """A tensor whose updates must end before a kernel may return."""

    def freeze_before_failure(self, ctx: Context) -> None: ...


LOWERING_RULES = frozenset(
    "appending available_expressions carried_values content_ranges equal_patterns gaps given "
    "locals merge_by_cases points predicated_merge random_access ranges run_outs scratch steady "
    "until".split()
)
"""The optimisations of lowering that ``Options.disabled`` can name (docs/performance.md)."""


__all__ = ["LOWERING_RULES", "Lowering", "Thawed", "TooManyRegions"]
