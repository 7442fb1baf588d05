"""Solving of dimension classes: the start and end of every dimension and loop.

The rules are in ``lower/dimensionalize.py``.
"""

from __future__ import annotations

from finch_core.interface.tensorlike import ONE, ZERO
from finch_core.ir.expressions import Access, Dimension, Expr, Index, Literal, Load, Name
from finch_core.ir.program import Extent
from finch_core.looplets.transform import minus, plus
from finch_core.lower.dimensions import (
    Dim,
    Known,
    Range,
    Reach,
    Terms,
    at_least_zero,
    first_own,
    greatest,
    is_plain,
    least,
    moved,
    reached,
    spread,
)
from finch_core.lower.pass_state import Check, Unit
from finch_core.symbolic.affine import combination, linear


class Solver:
    """Solves classes of dimensions on demand.

    Adds to ``unit.checks`` what to compare before the program runs, and to ``unit.fitting``
    what follows from it. ``indices`` are the classes of indices without a stated range,
    ``explicit`` the stated ranges of the others.
    """

    def __init__(
        self, unit: Unit, indices: dict[Index, Dim], explicit: dict[Index, Extent]
    ) -> None:
        self.unit, self.indices, self.explicit = unit, indices, explicit

    def solve(self, dim: Dim) -> Expr | None:
        """The end of a class, or None if nothing implies it."""
        dim = dim.find()
        if self.firm(dim) is None and dim.stop is None and not dim.solving:
            dim.solving = True
            self.reach(dim)
            if dim.stop is None and dim.own:
                dim.stop, dim.source = first_own(dim)[1], "own"
            dim.solving = False
            self.fit_all(dim)
        return dim.stop

    def firm(self, dim: Dim) -> Expr | None:
        """The end of a class as implied by its dimensions or stated ranges."""
        dim = dim.find()
        if not dim.source and not dim.solving:
            dim.solving = True
            self.relate(dim)
            self.meet(dim)
            dim.solving = False
            if dim.stop is not None:
                dim.source = "known"
                self.fit_all(dim)
        return dim.stop if dim.source == "known" else None

    def relate(self, dim: Dim) -> None:
        """Add the facts that shifted accesses imply for a class."""
        for r in dim.written:
            self.solve(r.other)
            extent = r.other.find().extent(r.index)
            if extent is not None:
                extent = moved(extent, r.shift)
                dim.ranges.append(Range(r.index, extent, r.dim, r.what, r.span))
        for r in dim.read:
            stop = self.solve(r.other)
            if stop is not None:
                away = moved(Extent(ZERO, stop), minus(ZERO, r.shift))
                dim.known.append(Known(r.index, away.start, away.stop, r.what, r.span))
                self.unit.fitting.add((r.index, r.dim))
        dim.written, dim.read = [], []

    def meet(self, dim: Dim) -> None:
        """Compare the facts about a class, after clipping, and take its end from them."""
        first: Known | None = None
        begins: dict[Index, Known] = {}
        for known in dim.known:
            known = known.cut() if known.index in dim.cut else known
            if known.index is not None:
                self.agree(begins.setdefault(known.index, known), known, "start")
            if known.stop is not None:
                first = first or known
                self.agree(first, known, "stop")
        dim.begins = {index: known.start for index, known in begins.items()}
        dim.stop = self.covered(dim.ranges) if first is None else first.stop

    def agree(self, first: Known, other: Known, end: str) -> None:
        """Check that the facts from two accesses agree."""
        a, b = getattr(first, end), getattr(other, end)
        if a == b:
            return
        hint = first.hint or other.hint
        if end == "start":
            assert other.index is not None
            message = f"{first.what} starts at {{0}}, but {other.what} at {{1}}"
            hint = _start_hint(self.unit.name_of(other.index), a, b)
        elif is_plain(first.what) and is_plain(other.what):
            message = f"{first.what} is {{0}}, but {other.what} is {{1}}"
        else:
            message = f"{first.what} ends at {{0}}, but {other.what} at {{1}}"
        check = Check(a, b, message, other.span, hint=hint or _SAME_INDEX)
        self.unit.checks.append(check)

    def covered(self, ranges: list[Range]) -> Expr | None:
        """The least end that includes all these ranges; None if one is not known in advance."""
        ends = [self.greatest_end(range_.extent.stop) for range_ in ranges]
        stops = list(dict.fromkeys(end for end in ends if end is not None))
        if not stops or None in ends:
            return None
        sizes = {level.shape for t in self.unit.tensors.values() for level in t.level.levels()}
        least = stops[0] if stops[0] in sizes else at_least_zero(stops[0])
        for stop in stops[1:]:
            least = least.max(stop)
        return least

    def greatest_end(self, stop: Expr) -> Expr | None:
        """The greatest value of the end of a stated range over all turns of the loops around it,
        as ``n`` for ``range(0, i + 1)``; None if it is not known before the program runs."""
        if is_settled(stop):
            return stop
        terms: Terms = []
        for factor, part in linear(stop):
            if isinstance(part, Index) and part in self.indices:
                self.solve(self.indices[part])
            extent = self.range_of(part)
            if extent is None:
                return None
            terms += spread(factor, extent)[1]
        return combination(terms)

    def reach(self, dim: Dim) -> None:
        """Apply what accesses at sums imply for a class: those of its first index that has any."""
        found: dict[Index, list[Extent]] = {}
        for reach in dim.reaches:
            extent = self.reached(reach)
            if extent is not None:
                found.setdefault(reach.index, []).append(extent)
        if not found:
            return
        index, extents = next(iter(found.items()))
        floor = [ZERO] if index in dim.cut else []
        start = greatest([*(extent.start for extent in extents), *floor])
        stop = least([extent.stop for extent in extents])
        dim.begins[index], dim.stop, dim.source = start, greatest([stop, start]), "reach"

    def reached(self, reach: Reach) -> Extent | None:
        """The range in which an access stays within its dimension, if all other terms are known."""
        size = reach.dim.stop if isinstance(reach.dim, Extent) else self.firm(reach.dim)
        lows: Terms = []
        highs: Terms = []
        for factor, part in reach.rest:
            extent = self.range_of(part)
            if extent is None:
                return None
            low, high = spread(factor, extent)
            lows += low
            highs += high
        return None if size is None else reached(reach.factor, lows, highs, size)

    def range_of(self, part: Expr) -> Extent | None:
        """The values of a term, if they are known before the program runs."""
        if not isinstance(part, Index):
            return Extent(part, plus(part, ONE)) if is_settled(part) else None
        extent = self.explicit.get(part)
        if extent is None and self.firm(self.indices[part]) is not None:
            extent = self.indices[part].find().extent(part)
        return extent if extent is not None and is_settled(extent) else None

    def fit_all(self, dim: Dim) -> None:
        if dim.stop is not None:
            for range_ in dim.ranges + dim.fits:
                self.fit(range_, Extent(ZERO, dim.stop))

    def fit(self, range_: Range, known: Extent) -> None:
        """Check a range before the program runs, if its ends are known by then."""
        extent = range_.extent
        if not is_settled(extent):
            return
        early, late, hint = self.said_of(range_)
        for first, second, message in (
            (known.start, extent.start, early), (extent.stop, known.stop, late),
        ):  # fmt: skip
            check = Check(first, second, message, range_.span, "<=", hint=hint, range=extent)
            self.unit.checks.append(check)
        self.unit.fitting.add((range_.index, range_.dim))

    def said_of(self, range_: Range) -> tuple[str, str, str]:
        """The messages for a range that begins too early or ends too late, and the hint."""
        what, name = range_.what, self.unit.name_of(range_.index)
        if range_.index in self.explicit:
            has = "has size" if is_plain(what) else "at"
            late = f"the range ends at {{0}}, and {what} {has} {{1}}"
            return f"the range starts at {{1}}, and {what} at {{0}}", late, _WITHIN
        early = f"the loop over {name} starts at {{1}}, and {what} at {{0}}"
        late = f"the loop over {name} ends at {{0}}, and {what} at {{1}}"
        return early, late, _PART.format(name)


def is_settled(expr: Expr) -> bool:
    """Whether an extent is known before the program runs: it has no index and reads nothing."""
    return not any(isinstance(n, _UNKNOWN) for n in expr.walk())


_UNKNOWN = (Index, Access, Dimension, Load, Name)
_PART = (
    "an index without a range, as in y[i], goes through a whole dimension: where loops write parts "
    "of one, write their ranges, as in for {0} in range(a, b)"
)
_WITHIN = (
    "let the range begin and end there, or access it where a condition on the index holds; A[~i] "
    "takes an index that may be out of bounds, and is missing there"
)
_SAME_INDEX = "dimensions with the same index must be equal; range(0, n) indexes a part of one"
_START = (
    "a condition does not change where a loop begins: write the range, as in for {0} in "
    "range({1}, n)"
)
_BEYOND = ", or read A[~({0} - 1)], which is missing beyond the ends"


def _start_hint(index: str, one: Expr, other: Expr) -> str:
    """The remedy where two accesses let a loop begin at different places: at the later one."""
    both = [end.value for end in (one, other) if isinstance(end, Literal)]
    begin = max(both) if len(both) == 2 else "a"
    return (_START if begin == 0 else _START + _BEYOND).format(index, begin)
