"""Leading indices: along ``j``, ``A[n, j]`` is row ``n`` of ``A``, if ``n`` is known by then.

    for j in _:                           if 0 > n or n >= A_n0: fail
        y[j] += A[n, j] * x[j]     ->     q = A_ptr[n]
                                          ...

A wrapper, a mask or concordization marks such an index as ``given``; no loop runs over it. It
is looked up, by the level's random access, where the loop of the next index begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import TYPE_CHECKING, ClassVar

from finch_core.interface.abilities import RANDOM_ACCESS
from finch_core.interface.around import Around
from finch_core.interface.level import Mode
from finch_core.interface.tensorlike import TensorLike
from finch_core.ir.dtypes import INTP, is_weak
from finch_core.ir.expressions import TRUE, Access, Expr, cast
from finch_core.ir.program import Define, Extent, Sequential, Stmt, leaves
from finch_core.looplets import Lookup, Looplet, Part, Precedence, Run, Sequence, Switch, Thunk
from finch_core.looplets.transform import around_thunk
from finch_core.lower.bounds import Beyond, fail_out_of_range, within
from finch_core.lower.contents import know_content
from finch_core.lower.values import evaluate
from finch_core.records import evolve, field, frozen
from finch_core.symbolic.affine import leading
from finch_core.symbolic.guards import accesses
from finch_core.symbolic.out_of_range import OutOfRange, parted

if TYPE_CHECKING:
    from finch_core.errors import Span
    from finch_core.interface.context import Context
    from finch_core.looplets.region import Region


@frozen
class At(Around):
    """``inner`` at ``index`` of its outermost dimension.

    If the index is out of bounds, each read fails; if something is ``sure`` to be read, the
    loop as a whole fails.
    """

    inner: TensorLike
    index: Expr
    sure: bool = False
    span: Span | None = field(default=None, eq=False, repr=False)
    failures: tuple[tuple[Expr, OutOfRange], ...] = ()
    """Out-of-range reads in the index itself, each with the condition under which it happens."""

    @property
    def ndim(self) -> int:
        return self.inner.ndim - 1

    @property
    def dims(self) -> tuple[Extent | None, ...]:
        return self.inner.dims[1:]

    def unfurl(self, ctx: Context, mode: Mode, protocol: str) -> Looplet:
        access = RANDOM_ACCESS if mode is Mode.READ else ""
        found = self._select(ctx, self.inner.unfurl(ctx, mode, access), mode, protocol)
        extent = self.inner.dims[0]
        inside = TRUE if extent is None else within(ctx, self.index, extent)
        if extent is not None and inside != TRUE:
            found = Switch(inside, found, self._beyond(extent.stop))
        for cond, cause in reversed(self.failures):
            failing = self._beyond(cause.size, cause)
            found = failing if cond == TRUE else Switch(cond, failing, found)
        return found

    def _beyond(self, size: Expr, cause: OutOfRange | None = None) -> Looplet:
        """The looplet for an index that is out of bounds, or that could not be computed."""
        beyond = Beyond(self.inner, self.ndim - 1, size, self.index, self.span, cause)
        return Failing(beyond.failure) if self.sure else Missed(beyond)

    def _select(self, ctx: Context, part: Part, mode: Mode, protocol: str) -> Looplet:
        """The looplet along the next dimension of ``part``, which runs over the outermost
        dimension."""

        def select(part: Part) -> Looplet:
            return self._select(ctx, part, mode, protocol)

        def look_up(ctx: Context) -> Iterator[Part]:
            assert isinstance(part, Lookup)
            yield select(part.body(ctx, self.index))

        if isinstance(part, Run):
            part = part.body
        if isinstance(part, TensorLike):
            return part.unfurl(ctx, mode, protocol)
        if isinstance(part, Failing):
            return part
        if isinstance(part, Thunk):
            return around_thunk(part, select)
        if isinstance(part, Switch):
            return evolve(part, head=select(part.head), tail=select(part.tail))
        if isinstance(part, Sequence):
            return self._phase(part, select)
        assert isinstance(part, Lookup), f"a {type(part).__name__} has no random access"
        return Thunk(look_up)

    def _phase(self, part: Sequence, select: Callable[[Part], Looplet]) -> Looplet:
        """The phase that contains the index."""
        *first, last = part.phases
        found = select(last.body)
        for phase in reversed(first):
            assert phase.stop is not None
            found = Switch(self.index < phase.stop, select(phase.body), found)
        return found


@frozen
class Failing(Looplet):
    """Fails wherever it is reached; no other code of the loop is emitted."""

    failure: OutOfRange
    precedence: ClassVar[Precedence] = Precedence.THUNK

    @property
    def fails(self) -> bool:
        return True

    def lower(self, ctx: Context, region: Region, slot: int) -> None:
        ctx.fork(region.start < region.stop, lambda: fail_out_of_range(ctx, self.failure))


@frozen
class Missed(Run):
    """A run that fails where it is read. It takes precedence: the failure does not depend on
    other looplets."""

    precedence: ClassVar[Precedence] = Precedence.THUNK

    @property
    def fails(self) -> bool:
        """False: a loop in which nothing reads it goes on."""
        return False


def selected(ctx: Context, access: Access, sure: bool) -> TensorLike:
    """The tensor of an access at its leading indices; ``sure``: every iteration reads it."""
    tensor: TensorLike = access.tensor
    for index in access.indices[: leading(access)]:
        value, failures = parted(evaluate(ctx, index.index))  # type: ignore[attr-defined]
        at = ctx.bind("at", value if is_weak(value.dtype) else cast(value, INTP))
        know_content(ctx, value, at)
        tensor = At(tensor, at, sure, access.span, tuple(failures))
    return tensor


def read_for_sure(stmt: Stmt) -> frozenset[Access]:
    """The accesses that ``stmt`` reads unconditionally."""
    if isinstance(stmt, Define):
        return _unguarded(evolve(stmt, body=Sequential())) | read_for_sure(stmt.body)
    if isinstance(stmt, Sequential):
        sure = takewhile(lambda part: not leaves(part), stmt.statements)
        return frozenset().union(*map(read_for_sure, sure))
    return _unguarded(stmt) if not stmt.bodies else frozenset()


def _unguarded(stmt: Stmt) -> frozenset[Access]:
    return frozenset(node for guard, node, written in accesses(stmt) if guard is TRUE)


__all__ = ["At", "Missed", "read_for_sure", "selected"]
