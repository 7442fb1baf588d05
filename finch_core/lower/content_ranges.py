"""Content ranges: what a temporary holds are indices of a dimension, so that it needs no check.

    queue = Tensor(fmt, (n,))
    ...
    for j in range(n):                     # every element is 0, or an index below n:
        queue[last] = j                    # reads of queue are known to be from 0 up to n
    ...
    for j in _:
        x[j] += A[queue[q], j]             # no bounds check

The elements are zero at first, and each update stores what is from 0 up to a dimension of the
tensor: the index of a loop, an element of such a tensor, or what the same block uses as an index of
such a dimension, which fails otherwise. This says which tensors are worth it. That their elements
stay in the range does not rest on it: ``contents.stay_within`` emits a check with each update for
which the prover does not know it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from finch_core.errors import Span
from finch_core.interface.tensorlike import ZERO, BoundTensor
from finch_core.ir.dtypes import INTP, concrete
from finch_core.ir.expressions import Access, Expr, Index, Literal, Name, lift
from finch_core.ir.program import Declare, Define, Extent, Loop, Sequential, Stmt, Swap, Update
from finch_core.lower.contents import Content, Use, count_of, plain
from finch_core.records import define, field
from finch_core.symbolic.affine import leading
from finch_core.symbolic.prover import is_unit, split

if TYPE_CHECKING:
    from finch_core.interface.context import Context

End = tuple[Expr, BoundTensor | None]
"""A number below which a value is, at least 0, and the tensor on whose content that rests, if it
does."""


def content_ranges(ctx: Context, stmt: Stmt) -> dict[BoundTensor, Content]:
    """The temporaries of a program whose elements are indices of a dimension of theirs."""
    if not ctx.allows("content_ranges"):
        return {}
    found = _Search(ctx, _declared(ctx, stmt))
    if found.stops:
        found.visit(stmt)
        found.settle()
    kept = {tensor: tuple(stops) for tensor, stops in found.stops.items() if stops}
    return {tensor: Content(stops, found.uses) for tensor, stops in kept.items()}


def _declared(ctx: Context, stmt: Stmt) -> dict[BoundTensor, list[Expr]]:
    """The temporaries of integers that are declared to 0, with their dimensions; of those that are
    declared several times, the dimensions that are the same each time."""
    found: dict[BoundTensor, list[Expr]] = {}
    for part in stmt.walk():
        if not isinstance(part, Declare):
            continue
        stops = [extent.stop for extent in part.dims if extent is not None]
        usable = [stop for stop in stops if ctx.unchanging(stop)] if _begins(part) else []
        before = found.get(part.tensor, usable)
        found[part.tensor] = [s for s in before if any(ctx.prover.equal(s, t) for t in usable)]
    return {tensor: _narrow(ctx, tensor, stops) for tensor, stops in found.items() if stops}


def _begins(part: Declare) -> bool:
    """Whether a declaration makes all elements of a temporary the integer 0, which is read back as
    it is written."""
    tensor, init = part.tensor, part.init
    if not tensor.local or not isinstance(init, Literal) or not part.dims:
        return False
    dtype = concrete(tensor.format.dtype)
    if dtype.kind not in "iu" or not np.can_cast(dtype, INTP):
        return False
    kept = all(level.reads_updates for level in tensor.format.levels())
    return kept and init.value == 0 and tensor.fiber.fill_value == 0


def _narrow(ctx: Context, tensor: BoundTensor, stops: list[Expr]) -> list[Expr]:
    """The dimensions of which all indices have the dtype of a tensor; of 32 bits, up to a check
    (``check_values``)."""
    least = 4
    if concrete(tensor.format.dtype).itemsize >= least:
        return stops
    return [stop for stop in stops if ctx.prover.le(stop, lift(count_of(tensor)))]


@define
class _Search:
    """A walk over a program that collects what updates store."""

    ctx: Context
    stops: dict[BoundTensor, list[Expr]]
    uses: dict[Span | None, Use] = field(factory=dict)
    _ends: dict[Expr, list[End]] = field(factory=dict)
    """The ends of names and indices."""
    _resting: list[tuple[BoundTensor, Expr, BoundTensor, Expr]] = field(factory=list)
    """Ends of tensors that hold if others do."""
    _parallel: int = 0

    # -- statements -----------------------------------------------------------------------

    def visit(self, stmt: Stmt) -> None:
        if isinstance(stmt, Sequential):
            self._sequential(stmt)
        elif isinstance(stmt, Define):
            self._within(stmt.name, self._of(stmt.value), stmt.body)
        elif isinstance(stmt, Loop):
            self._loop(stmt)
        elif isinstance(stmt, Update):
            self._update(stmt)
        elif isinstance(stmt, Swap):
            self._swap(stmt.first, stmt.second)
        else:
            for body in stmt.bodies:
                self.visit(body)

    def _sequential(self, stmt: Sequential) -> None:
        """What a statement uses as an index is within bounds behind it, and where it is stored just
        before; in a parallel loop, another turn might read that before the check."""
        learned = []
        for part, following in zip_longest(stmt.statements, stmt.statements[1:]):
            checked = [] if self._parallel or following is None else list(self._checked(following))
            if isinstance(part, Update):
                self._update(part, checked)
            else:
                self.visit(part)
            for key, use in self._checked(part):
                known = self._ends.setdefault(key, [])
                known.append((use[1].stop, None))
                learned.append(known)
        for known in reversed(learned):
            known.pop()

    def _within(self, key: Expr, ends: list[End], body: Stmt) -> None:
        before = self._ends.get(key, [])
        self._ends[key] = ends
        self.visit(body)
        self._ends[key] = before

    def _loop(self, stmt: Loop) -> None:
        assert stmt.extent is not None
        self._parallel += stmt.parallel
        self._within(stmt.index, list(self._of_extent(stmt.extent)), stmt.body)
        self._parallel -= stmt.parallel

    def _update(self, stmt: Update, checked: list[tuple[Expr, Use]] | None = None) -> None:
        tensor = stmt.target.tensor.root
        if not self.stops.get(tensor):
            return
        value = plain(stmt.value)
        ends = [] if stmt.op is not None else self._of(value)
        later = [use for key, use in checked or () if key == value and stmt.op is None]
        kept = []
        for stop in self.stops[tensor]:
            zero = isinstance(value, Literal) and stmt.op is None and value.value == 0
            if zero or self._rests(tensor, stop, ends):
                kept.append(stop)
                continue
            use = next((u for u in later if self.ctx.prover.le(u[1].stop, stop)), None)
            if use is not None:
                self.uses[stmt.span] = use
                kept.append(stop)
        self.stops[tensor] = kept

    def _rests(self, tensor: BoundTensor, stop: Expr, ends: list[End]) -> bool:
        """Whether what has ``ends`` is below ``stop``, maybe as other tensors have such content."""
        sources = [source for end, source in ends if self.ctx.prover.le(end, stop)]
        if sources and None not in sources:
            end = next(e for e, s in ends if s is sources[0] and self.ctx.prover.le(e, stop))
            self._resting.append((tensor, stop, sources[0], end))  # type: ignore[arg-type]
        return bool(sources)

    def _swap(self, first: BoundTensor, second: BoundTensor) -> None:
        for one, other in ((first, second), (second, first)):
            ends: list[End] = [(stop, other) for stop in self.stops.get(other, ())]
            if one in self.stops:
                kept = [stop for stop in self.stops[one] if self._rests(one, stop, ends)]
                self.stops[one] = kept

    def settle(self) -> None:
        """Remove what rests on what does not hold, until nothing does."""
        behind: dict[tuple[BoundTensor, Expr], list[tuple[BoundTensor, Expr]]] = {}
        for tensor, stop, source, end in self._resting:
            behind.setdefault((source, end), []).append((tensor, stop))
        lost = [key for key in behind if key[1] not in self.stops[key[0]]]
        while lost:
            for tensor, stop in behind.get(lost.pop(), ()):
                if stop in self.stops[tensor]:
                    self.stops[tensor].remove(stop)
                    lost.append((tensor, stop))

    # -- values ---------------------------------------------------------------------------

    def _of(self, value: Expr) -> list[End]:
        """The ends below which a value, at least 0, is known to be."""
        value = plain(value)
        if isinstance(value, Access):
            tensor = value.tensor.root
            if tensor is None or value.tensor != tensor.fiber:
                return []
            return [(stop, tensor) for stop in self.stops.get(tensor, ())]
        return list(self._ends.get(value, ()))

    def _of_extent(self, extent: Extent) -> Iterator[End]:
        """The ends below which the indices of a loop are."""
        if is_unit(extent):
            yield from self._of(extent.start)
        elif self._from_zero(extent.start):
            if self.ctx.unchanging(extent.stop):
                yield extent.stop, None
            atom, offset = split(extent.stop)
            if offset <= 1:  # below an index there are smaller ones
                yield from self._of(atom)

    def _from_zero(self, start: Expr) -> bool:
        if self.ctx.unchanging(start) and self.ctx.prover.le(ZERO, start):
            return True
        atom, offset = split(start)
        return offset >= 0 and any(source is None for end, source in self._of(atom))

    def _checked(self, stmt: Stmt) -> Iterator[tuple[Expr, Use]]:
        """What fails if it is not an index of a dimension when ``stmt`` runs."""
        if not isinstance(stmt, Loop) or stmt.extent is None or not is_unit(stmt.extent):
            return
        key = plain(stmt.extent.start)
        if not isinstance(key, (Name, Index)) and not self.ctx.is_constant(key):
            return
        for access in _stored(stmt.body):
            lead = leading(access)
            if access.indices[lead : lead + 1] == (stmt.index,):
                extent = access.tensor.dims[lead]
                if extent is None or extent.start != ZERO:
                    continue
                if self.ctx.unchanging(extent.stop):
                    yield key, (access, extent)


def _stored(stmt: Stmt) -> Iterator[Access]:
    """What a statement surely stores to, whatever the values are."""
    if isinstance(stmt, Update):
        yield stmt.target
    elif isinstance(stmt, Sequential) and stmt.statements:
        yield from _stored(stmt.statements[0])


__all__ = ["content_ranges"]
