"""Jumper: a stepper that leads the merge; of several, the one with the longest stride leads."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from finch_core import records
from finch_core.interface.looplet import Looplet, Precedence
from finch_core.ir.expressions import Expr
from finch_core.looplets.short_circuit import end_early
from finch_core.looplets.stepper import Stepper, lower_lone, split_tails
from finch_core.records import frozen

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.looplets.region import Region


@frozen
class Jumper(Stepper):
    """A ``Stepper`` that leads: within the longest stride the others are demoted to steppers.

    Those seek to the end of the stride. Two jumpers make a mutual binary search.
    """

    precedence: ClassVar[Precedence] = Precedence.JUMPER

    def lower(self, ctx: Context, region: Region, slot: int) -> None:
        slots = [k for k, looplet in region.looplets.items() if isinstance(looplet, Jumper)]
        if region.is_point(ctx):
            region.put(slot, self.demoted()).lower(ctx)
        elif len(slots) == 1:
            self.synchronize(ctx, region, self.is_counted(ctx, region))
            lower_lone(ctx, region, slot, self)
        elif not split_tails(ctx, region, slots):
            _leapfrog(ctx, region, slots)

    def demoted(self) -> Stepper:
        """The same steps as a follower."""
        fields = {a.name: getattr(self, a.name) for a in records.fields(Stepper)}
        return Stepper(**fields)


def _leapfrog(ctx: Context, region: Region, slots: list[int]) -> None:
    """Several jumpers: a loop over the longest strides, in which the shorter ones seek."""
    jumpers: dict[int, Jumper] = {k: region.looplets[k] for k in slots}  # type: ignore[misc]
    name = region.index.name
    for jumper in jumpers.values():
        jumper.synchronize(ctx, region)
    reached = ctx.var(f"{name}_reached", region.start)
    with ctx.while_(reached < region.stop), ctx.prover.assuming(region.start <= reached):
        for jumper in jumpers.values():
            jumper.find(ctx, reached)
            ctx.cursors[jumper.position] = reached
        stops = {k: j.stop_of(ctx, j.label(name), j.position) for k, j in jumpers.items()}
        for stop in stops.values():
            ctx.prover.know_le(reached + 1, stop)
        longest = ctx.prover.maximum(*stops.values())
        whole = ctx.prover.le(longest, region.stop)
        stop = ctx.bind_stop(name, longest if whole else ctx.prover.minimum(longest, region.stop))
        ctx.prover.know_le(reached + 1, stop)
        step = region.between(reached, stop)
        strides = [(k, jumper, stops[k]) for k, jumper in jumpers.items()]
        _leaders(ctx, step, strides, wanted=True, exact=whole)
        ctx.assign(reached, stop)
        end_early(ctx, region, reached)
    for jumper in jumpers.values():
        ctx.cursors[jumper.position] = None


def _leaders(
    ctx: Context,
    region: Region,
    strides: list[tuple[int, Jumper, Expr]],
    wanted: bool,
    exact: bool,
) -> None:
    """Emit the cases by which strides end with the region: those lead, others follow or are cut.

    ``strides``: the slots that remain, each with its jumper and where its stride ends; ``wanted``:
    one of them reaches the region's end, as none before did; ``exact``: it does not go beyond.
    """
    if not strides:
        region.lower(ctx)
        return
    (k, jumper, stop), *others = strides
    body = jumper.step(ctx, jumper.position)

    def go_on(looplet: Looplet, wanted: bool) -> None:
        _leaders(ctx, region.put(k, looplet), others, wanted, exact)

    def leads() -> None:
        go_on(body, wanted=False)
        jumper.advance(ctx, region.stop)

    def is_cut() -> None:
        go_on(body.truncated(), wanted=False)

    def does_not_lead() -> None:
        if wanted and not others:
            is_cut()
        else:
            ctx.fork(stop > region.stop, is_cut, lambda: go_on(jumper.demoted(), wanted))

    if wanted and exact and not others:
        leads()
    else:
        ctx.fork(stop.eq(region.stop), leads, does_not_lead)
