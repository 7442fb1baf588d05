"""Sequence: a fixed number of looplets in succession, each up to the end of its phase."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from finch_core.errors import PluginError, count
from finch_core.interface.looplet import Looplet, Precedence
from finch_core.interface.run import Part, as_looplet
from finch_core.ir.expected import integer_or_none
from finch_core.ir.expressions import Expr
from finch_core.looplets.covering import require_covered
from finch_core.looplets.far_ranges import is_near
from finch_core.looplets.loop_strides import stride_of
from finch_core.looplets.switch import Switch
from finch_core.records import field, frozen

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.looplets.region import Region


def _stop(value: Any) -> Expr | None:
    return integer_or_none(value, "the stop of a Phase")


@frozen
class Phase(Looplet):
    """``body`` from the end of the previous phase up to ``stop`` (None: the end of the loop)."""

    stop: Expr | None = field(converter=_stop)
    body: Part
    precedence: ClassVar[Precedence] = Precedence.PHASE

    def lower(self, ctx: Context, region: Region, slot: int) -> None:
        """Clamp the region to the phase; a body aligned to the phase's end is told whether it is
        cut."""
        if self.stop is not None:
            require_covered(ctx, region, slot, self.stop)
        self.up_to(ctx, region, slot, self.end(ctx, region))

    def end(self, ctx: Context, region: Region) -> Expr:
        """Where the phase ends within the region."""
        if self.stop is None or ctx.prover.equal(self.stop, region.stop):
            return region.stop
        least = ctx.prover.minimum(region.stop, self.stop)
        return ctx.bind(f"{region.index.name}_stop", least)

    def is_far(self, ctx: Context, region: Region) -> bool:
        """Whether the end of the phase may be any integer, beside what computes with it."""
        if self.stop is None or (_is_still(region) and stride_of(ctx, region) is None):
            return False
        return not is_near(ctx, self.stop)

    def up_to(self, ctx: Context, region: Region, slot: int, end: Expr) -> None:
        """Lower the body from the region's start to ``end``."""
        body = as_looplet(self.body)
        cut = body.truncated()
        region = region.between(region.start, end)
        if self.stop is None or cut == body or ctx.prover.equal(end, self.stop):
            region.put(slot, body).lower(ctx)
        else:
            ctx.fork(
                end.eq(self.stop),
                lambda: region.put(slot, body).lower(ctx),
                lambda: region.put(slot, cut).lower(ctx),
            )


@frozen
class Sequence(Looplet):
    """Phases that cover the loop, in order."""

    phases: tuple[Phase, ...]
    precedence: ClassVar[Precedence] = Precedence.SEQUENCE

    def __attrs_post_init__(self) -> None:
        if not self.phases:
            raise PluginError(
                "a Sequence has no phases", hint="use Run(...) for one body along the whole loop"
            )
        early = [k for k, phase in enumerate(self.phases[:-1]) if phase.stop is None]
        if early:
            raise PluginError(
                f"phase {early[0]} of a Sequence goes on to the end of the loop, and "
                f"{count(len(self.phases) - early[0] - 1, 'phase')} would come after it",
                hint="only the last phase has the stop None",
            )

    def lower(self, ctx: Context, region: Region, slot: int) -> None:
        last = self.phases[-1].stop
        if last is not None:
            require_covered(ctx, region, slot, last)
        if region.is_point(ctx):
            region.put(slot, self._at_point(region)).lower(ctx)
            return
        start = region.start
        for k, phase in enumerate(self.phases, start=1):
            part = region.between(start, region.stop)
            end = phase.end(ctx, part)
            emit = partial(phase.up_to, ctx, part.put(slot, phase), slot, end)
            if phase.is_far(ctx, part):
                ctx.fork(start < end, emit)
            else:
                emit()
            if k < len(self.phases):
                if k == len(self.phases) - 1 and phase.stop is not None and _is_still(part):
                    end = phase.stop  # the last phase is empty where that is beyond the region
                following = ctx.prover.maximum(start, end)
                start = ctx.bind(f"{region.index.name}_start", following)

    def _at_point(self, region: Region) -> Looplet:
        """The phase that contains a region of a single index."""
        result = as_looplet(self.phases[-1].body)
        for phase in reversed(self.phases[:-1]):
            assert phase.stop is not None
            body = as_looplet(phase.body)
            cut = body.truncated()
            if cut != body:
                body = Switch(phase.stop.eq(region.stop), body, cut)
            result = Switch(region.start < phase.stop, body, result)
        return result


def _is_still(region: Region) -> bool:
    """Whether no looplet of the region has a position that advances along it."""
    return all(looplet.precedence not in _MOVING for looplet in parts_of(region.looplets.values()))


_MOVING = (Precedence.THUNK, Precedence.STEPPER, Precedence.JUMPER)


def parts_of(looplets: Iterable[Looplet]) -> Iterator[Looplet]:
    """The looplets and their parts, except those that code produces: bodies of steps and thunks."""
    for looplet in looplets:
        yield looplet
        if isinstance(looplet, Sequence):
            yield from parts_of(looplet.phases)
        elif isinstance(looplet, Phase):
            yield from parts_of([as_looplet(looplet.body)])
        elif isinstance(looplet, Switch):
            yield from parts_of(map(as_looplet, (looplet.head, looplet.tail)))
