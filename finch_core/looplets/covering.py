"""Coverage check: looplets must reach the end of the loop, or the values after them would be
lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from finch_core.errors import PluginError
from finch_core.interface.exits import any_of
from finch_core.interface.plugin_calls import described
from finch_core.ir.expressions import Expr
from finch_core.looplets.slots import slots_of

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.looplets.region import Region


def require_covered(ctx: Context, region: Region, slot: int, end: Expr) -> None:
    """Emit the check that the looplet in ``slot``, which ends at ``end``, reaches the end of the
    region; nothing where that is known to hold, as it is of all built-in formats.
    """
    if ctx.prover.le(region.stop, end):
        return
    left = [exit.flag for exit in ctx.exits if exit.open]
    ctx.require(
        any_of(((region.stop <= end).or_(region.stop <= region.start), *left)),
        PluginError,
        f"the looplets of {owner(region, slot)} end at index {{0}}, and the loop goes on to {{1}}",
        end,
        region.stop,
        hint="a Sequence ends with Phase(None, ...), a Stepper has a tail",
    )


@contextmanager
def owned(region: Region, slot: int) -> Iterator[None]:
    """Name the level whose looplet is in a slot in errors that are raised within and name none."""
    try:
        yield
    except PluginError as error:
        raise error.of(owner(region, slot)) from error.__cause__


def owner(region: Region, slot: int) -> str:
    """The tensor whose looplet is in a slot, and the level that made it, for a message."""
    found = next((s.tensor for s in slots_of(region.body) if s.number == slot), None)
    if found is None:
        return "a tensor"
    level = found.level_of(0) if found.ndim else None
    kind = type(found).__name__ if level is None else described(level)
    return kind if found.root is None else f"{kind} in {found.root}"


__all__ = ["owned", "owner", "require_covered"]
