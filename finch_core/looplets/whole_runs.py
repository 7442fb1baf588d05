"""Updates in place of levels that store runs: a run is one value, and changes once, as a whole.

    for i in range(A_n0):              for q in range(A_q, A_q_stop):
        A[i] = 2 * A[i]        ->          A_val[q] = 2.0 * A_val[q]

A run whose update differs along it, or of which only a part lies in the loop, is refused during
compilation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, NoReturn

from finch_core import records
from finch_core.errors import FormatError, Span, quote
from finch_core.interface.looplet import Looplet, Precedence
from finch_core.interface.plugins import hub
from finch_core.interface.run import Part, Run, as_looplet
from finch_core.interface.tensorlike import Constant, TensorLike
from finch_core.ir.program import Update
from finch_core.looplets.invariant import lower_invariant
from finch_core.looplets.sequence import Phase, Sequence
from finch_core.looplets.slots import AccessSlot
from finch_core.looplets.stepper import Stepper
from finch_core.looplets.switch import Switch
from finch_core.looplets.thunk import Thunk, yielded
from finch_core.records import frozen

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.interface.level import Format
    from finch_core.ir.expressions import Expr
    from finch_core.looplets.region import Region


@frozen
class WholeRuns:
    """The runs of one access that is updated in place: of ``tensor``, whose ``level`` stores them,
    by the update at ``span``."""

    tensor: TensorLike
    level: Format | None
    span: Span | None = records.field(default=None, eq=False)

    def refuse(self) -> NoReturn:
        """Raise ``FormatError``: a part of a run would change."""
        name = self.tensor.root
        raise FormatError(
            f"{name} cannot be updated in place here: {self.stores} one value for many indices, "
            "and this would change a part of them",
            span=self.span,
            hint=f"change whole runs alike, in a loop over all of {name}; or use a level that has "
            f"a value for each index: {_apart()}",
        )

    @property
    def stores(self) -> str:
        return "it has" if self.level is None else f"its {self.level.name} level has"

    def of(self, part: Part) -> Looplet:
        """``part``, which is lowered from its beginning to its end, with runs that are updated
        once."""
        looplet = as_looplet(part)
        if isinstance(looplet, Run):
            return WholeRun(looplet.body, self) if self.is_stored(looplet.body) else looplet
        if isinstance(looplet, Switch):
            return records.evolve(looplet, head=self.of(looplet.head), tail=self.of(looplet.tail))
        if isinstance(looplet, Sequence):
            phases = (Phase(phase.stop, self.of(phase.body)) for phase in looplet.phases)
            return WholeSequence(tuple(phases))
        if isinstance(looplet, Thunk):
            return self.thunk(looplet)
        if type(looplet) is Stepper:
            return self.stepper(looplet)
        self.refuse()

    def part_of(self, part: Part) -> Looplet:
        """``part`` where only some of its indices are lowered: none of its runs is updated."""
        return self.of(part).truncated()

    def is_stored(self, body: TensorLike) -> bool:
        return not isinstance(body, Constant) and not body.is_out_of_bounds

    def thunk(self, thunk: Thunk) -> Thunk:
        def code(ctx: Context) -> Iterator[Part]:
            steps = thunk.code(ctx)
            yield self.of(yielded(thunk, steps))
            yield from steps

        return records.evolve(thunk, code=code, steady=False)

    def stepper(self, steps: Stepper) -> Stepper:
        fields = {a.name: getattr(steps, a.name) for a in records.fields(Stepper)}
        fields["tail"] = None if steps.tail is None else self.of(steps.tail)
        fields["body"] = lambda ctx, q: self.of(steps.step(ctx, q))
        return WholeStepper(**fields, runs=self)


def _apart() -> str:
    """The names of installed levels that have a value for each index that they store."""
    levels = sorted(hub().levels.items())
    return quote(name for name, level in levels if not level.is_leaf and not level.shares)


@frozen
class WholeRun(Looplet):
    """A run that is read and updated in place. Like a run of an output, it is lowered when nothing
    else varies along the loop."""

    body: TensorLike
    runs: WholeRuns
    precedence: ClassVar[Precedence] = Precedence.ACCEPT_RUN

    def lower(self, ctx: Context, region: Region, slot: int) -> None:
        lower_invariant(ctx, region, frozenset(region.looplets))

    def truncated(self) -> Looplet:
        return PartOfRun(self.body, self.runs)

    def at(self, ctx: Context, index: Expr) -> Looplet:
        """A part of the run: a single index."""
        return self.truncated()

    def over(self, ctx: Context, start: Expr, stop: Expr) -> Looplet:
        return Run(self.body)


@frozen
class PartOfRun(Looplet):
    """A part of a run: it can be read, but not updated."""

    body: TensorLike
    runs: WholeRuns
    precedence: ClassVar[Precedence] = Precedence.ACCEPT_RUN

    def lower(self, ctx: Context, region: Region, slot: int) -> None:
        if _updates(region, slot):
            self.runs.refuse()
        Run(self.body).lower(ctx, region, slot)

    def at(self, ctx: Context, index: Expr) -> Looplet:
        return self

    def over(self, ctx: Context, start: Expr, stop: Expr) -> Looplet:
        return self


def _updates(region: Region, slot: int) -> bool:
    """Whether the body of a region updates what is in a slot."""
    targets = (part.target.tensor for part in region.body.walk() if isinstance(part, Update))
    return any(isinstance(found, AccessSlot) and found.number == slot for found in targets)


@frozen
class WholeSequence(Sequence):
    """A sequence that ends with a run, which a region may cut."""

    def truncated(self) -> Looplet:
        *first, last = self.phases
        return Sequence((*first, Phase(last.stop, as_looplet(last.body).truncated())))


@frozen
class WholeStepper(Stepper):
    """Steps that end with runs. A region that does not begin with the first may cut one."""

    runs: WholeRuns = records.field(kw_only=True)

    def lower(self, ctx: Context, region: Region, slot: int) -> None:
        if ctx.prover.equal(region.start, self.start):
            Stepper.lower(self, ctx, region, slot)
            return
        fields = {a.name: getattr(self, a.name) for a in records.fields(Stepper)}
        fields["body"] = lambda ctx, q: self.step(ctx, q).truncated()
        region.put(slot, Stepper(**fields)).lower(ctx)


__all__ = ["WholeRuns"]
