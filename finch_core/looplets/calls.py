"""Calls of ``lower`` of looplets, plugins' among them, with errors that name the looplet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from finch_core.errors import MISTAKES, FinchError, PluginError, mistaken
from finch_core.looplets.covering import owner

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.interface.looplet import Looplet
    from finch_core.looplets.region import Region


def lower_looplet(ctx: Context, looplet: Looplet, region: Region, slot: int) -> None:
    """Emit ``region`` by the looplet in this slot of it.

    Raises ``PluginError`` for a ``lower`` that fails, that emits nothing of the region, or that
    puts its own looplet back.
    """
    began = ctx.regions
    for outer, around in ctx.looplets_around:
        if looplet is outer and _same(region, around):
            raise _mistake(
                looplet, region, slot, "lowers the same region with the same looplet again",
                hint="it puts another looplet into the slot, or ends the region earlier",
            )  # fmt: skip
    ctx.looplets_around.append((looplet, region))
    try:
        found: object = looplet.lower(ctx, region, slot)  # type: ignore[func-returns-value]
    except PluginError as error:
        raise error.of(_owners(region)) from error.__cause__
    except FinchError:
        raise
    except MISTAKES as error:
        raise mistaken(_called(looplet, region, slot), error) from error
    finally:
        ctx.looplets_around.pop()
    if found is not None:
        raise _mistake(
            looplet, region, slot, f"gives {found!r:.60}, and None is expected",
            hint="it emits into ctx, and lowers the regions that it makes",
        )  # fmt: skip
    if ctx.regions == began:
        raise _mistake(
            looplet, region, slot, "emits nothing of the loop",
            hint="it ends with region.put(slot, looplet).lower(ctx), or does so for parts",
        )  # fmt: skip


def _same(region: Region, around: Region) -> bool:
    """Whether nothing of a region is another than around it: its looplets are not, too, as another
    slot's may have been put in, which a ``Lookup`` does for an output that takes whole ranges."""
    ends, outer = (region.start, region.stop), (around.start, around.stop)
    if region.body is not around.body or ends != outer:
        return False
    own, outer_looplets = region.looplets, around.looplets
    return own.keys() == outer_looplets.keys() and all(
        looplet is outer_looplets[k] for k, looplet in own.items()
    )


def _mistake(looplet: Looplet, region: Region, slot: int, what: str, hint: str) -> PluginError:
    return PluginError(f"{_called(looplet, region, slot)} {what}", hint=hint).of("")


def _owners(region: Region) -> str:
    """The levels of a region, one of which made what is refused in it."""
    return " or ".join(dict.fromkeys(owner(region, slot) for slot in region.looplets))


def _called(looplet: Looplet, region: Region, slot: int) -> str:
    return f"{owner(region, slot)}: lower of the looplet {type(looplet).__name__}"


__all__ = ["lower_looplet"]
