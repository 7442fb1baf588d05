"""Estimates of what expressions store and kernels visit, from the statistics of their operands.

A ``Pattern`` is what an expression stores, as far as is known. The number of index tuples that
several patterns allow together is estimated as if they were independent, corrected by the exact
sizes of joins of two tensors, and bounded by chains of greatest degrees (Galley's chain bound).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from finch_array.plan.normal import Reduced, affine, indices_of
from finch_array.plan.statistics import Statistics
from finch_array.structures import as_number
from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Access, Call, Cast, Expr, Index, Literal, alike
from finch_core.ir.operators import Operator, cast_value
from finch_core.ir.program import Stored
from finch_core.records import define, field

Support = tuple[str, tuple[Any, ...]]
"""An array by name, and the indices at which it is read."""


@define(eq=False)
class Pattern:
    """The index tuples at which an expression may differ from its fill.

    ``distinct`` and ``degrees`` by index name (see ``Statistics``); ``full``: all of them;
    ``fill``: the value elsewhere, None if it is not known; ``within``: the arrays, with their
    indices, that store something at all these tuples.
    """

    names: tuple[str, ...]
    entries: float
    distinct: Mapping[str, float]
    degrees: Mapping[str, float]
    counts: Mapping[str, Any]
    full: bool
    fill: Any = None
    within: frozenset[Support] = frozenset()
    _steps: list[tuple[str, list[tuple[str, float]]]] | None = field(
        default=None, init=False, repr=False
    )
    _skews: dict[Pattern, tuple[frozenset[str], float] | None] = field(
        factory=dict, init=False, repr=False
    )

    def steps(self) -> list[tuple[str, list[tuple[str, float]]]]:
        """By index, the others with the most entries at one index of each."""
        found = self._steps
        if found is None:
            degrees = self.degrees.items()
            several = self.names if len(self.names) > 1 else ()
            found = [(i, [step for step in degrees if step[0] != i]) for i in several]
            self._steps = found
        return found

    def skew(self, other: Pattern) -> tuple[frozenset[str], float] | None:
        """How much larger the join with another by the one index that both have is than if the
        entries were spread evenly, with the indices of both; None where they share none, or
        several. Many kernels have the same two operands."""
        if other in self._skews:
            return self._skews[other]
        own = frozenset(self.names)
        common = own.intersection(other.names)
        found = None
        if len(common) == 1:
            found = own.union(other.names), _join_ratio(self, other, *common)
        self._skews[other] = found
        return found

    def projected(self, names: Sequence[str]) -> float:
        """The number of distinct tuples of some of the indices."""
        if len(names) == len(self.names):
            return self.entries
        if len(names) == 1:
            return min(self.entries, self.distinct[names[0]])
        return min(self.entries, math.prod([self.distinct[i] for i in names]))


def pattern_of(
    names: Sequence[str | None], known: Statistics, fill: Any,
    within: frozenset[Support] = frozenset(),
) -> Pattern:  # fmt: skip
    """The pattern of an array read at indices; None: a constant index."""
    free = tuple(dict.fromkeys(i for i in names if i is not None))
    entries = known.entries
    for i, distinct in zip(names, known.distinct, strict=True):
        if i is None:
            entries /= max(distinct, 1.0)
    if len(free) < sum(i is not None for i in names):  # a diagonal
        entries = min(entries, *(known.distinct[names.index(i)] for i in free))
    places = {i: names.index(i) for i in free}
    whole = len(free) == len(names)
    return Pattern(
        free, entries, {i: known.distinct[p] for i, p in places.items()},
        {i: known.degrees[p] for i, p in places.items()},
        {i: known.counts[p] for i, p in places.items() if whole and known.counts[p] is not None},
        known.full, fill, within,
    )  # fmt: skip


def full_pattern(names: Iterable[str], sizes: Mapping[str, int], fill: Any = None) -> Pattern:
    """The pattern of all index tuples."""
    own = tuple(names)
    total = math.prod(float(sizes[i]) for i in own)
    return Pattern(
        own, total, {i: float(sizes[i]) for i in own},
        {i: total / max(sizes[i], 1) for i in own}, {}, True, fill,
    )  # fmt: skip


# -- expressions ------------------------------------------------------------------------------


def expression_pattern(expr: Expr, arrays: Mapping[str, Any], sizes: Mapping[str, int]) -> Pattern:
    """The pattern of an expression over arrays, by what is known of each."""
    if isinstance(expr, Access):
        known = arrays[expr.tensor.name]
        names = [affine(i)[0] for i in expr.indices]
        within = {(array, tuple(expr.indices[p] for p in places)) for array, places in known.within}
        if not known.statistics.full:
            within.add((expr.tensor.name, expr.indices))
        return pattern_of(names, known.statistics, known.fill, frozenset(within))
    if isinstance(expr, Literal):
        return Pattern((), 1.0, {}, {}, {}, True, expr.value)
    assert not isinstance(expr, Reduced)
    if not expr.children:
        return Pattern((), 1.0, {}, {}, {}, True)
    parts = [expression_pattern(child, arrays, sizes) for child in expr.children]
    return combined(expr, parts, sizes)


def combined(expr: Expr, parts: Sequence[Pattern], sizes: Mapping[str, int]) -> Pattern:
    """The pattern of an operator's value, by those of its operands."""
    fill = _fill(expr, parts)
    wide = [p for p in parts if p.names and not p.full]
    deciding = [p for k, p in enumerate(parts) if p in wide and _decides(expr, parts, k)]
    names = tuple(sorted(indices_of(expr)))
    if not deciding and (len(wide) < sum(bool(p.names) for p in parts) or not wide):
        return full_pattern(names, sizes, fill)
    if not deciding and len(wide) > 1:
        return _union(names, wide, sizes, fill)
    return _joined(names, deciding or wide, sizes, fill)


def _fill(expr: Expr, parts: Sequence[Pattern]) -> Any:
    """The value where all operands are their fills; None where that is not known."""
    if isinstance(expr, Stored):
        return np.False_
    if any(part.fill is None for part in parts):
        if not isinstance(expr, Call) or expr.op.annihilator is None:
            return None
        deciding = [p for k, p in enumerate(parts) if p.names and _decides(expr, parts, k)]
        return deciding[0].fill if deciding else None
    values = [part.fill for part in parts]
    if isinstance(expr, Cast):
        return cast_value(values[0], expr.type)
    assert isinstance(expr, Call)
    with np.errstate(all="ignore"):
        kinds = expr.op.typing(tuple(arg.dtype for arg in expr.args))[0]
        cast = [cast_value(v, concrete(t)) for v, t in zip(values, kinds, strict=True)]
        return np.asarray(expr.op.evaluate(*cast))[()]


def _decides(expr: Expr, parts: Sequence[Pattern], k: int) -> bool:
    """Whether the value is the fill wherever operand ``k`` is its own."""
    if len(parts) == 1:
        return True
    if not isinstance(expr, Call) or parts[k].fill is None:
        return False
    return decides(expr.op, k, expr.args, [p.fill for p in parts])


def decides(op: Operator, k: int, args: Sequence[Expr], fills: Sequence[Any]) -> bool:
    """Whether an operator's value does not depend on the others where operand ``k`` is its fill."""
    fill, dtype = fills[k], concrete(args[k].dtype)
    if getattr(args[k], "op", None) is as_number:
        return False
    if op is prim.ifelse:
        kept = args[2] if k == 0 and not fill else args[1] if k == 0 else None
        return isinstance(kept, Literal)
    if op.annihilator is not None and op.commutative:
        value = op.annihilator(concrete(op.result(*(a.dtype for a in args))))
        return value is not None and alike(cast_value(fill, dtype), value)
    if op.left_annihilator is not None and k == 0:
        return alike(cast_value(fill, dtype), op.left_annihilator(dtype))
    return all(isinstance(a, Literal) or not indices_of(a) for j, a in enumerate(args) if j != k)


def _union(
    names: tuple[str, ...], parts: Sequence[Pattern], sizes: Mapping[str, int], fill: Any
) -> Pattern:
    entries, distinct = 0.0, dict.fromkeys(names, 0.0)
    for part in parts:
        rest = math.prod(float(sizes[i]) for i in names if i not in part.names)
        entries += part.entries * rest
        for i in names:
            distinct[i] += part.distinct.get(i, float(sizes[i]))
    total = math.prod(float(sizes[i]) for i in names)
    distinct = {i: min(d, float(sizes[i])) for i, d in distinct.items()}
    return Pattern(names, min(entries, total), distinct, _degrees(names, distinct), {}, False, fill)


def _joined(
    names: tuple[str, ...], parts: Sequence[Pattern], sizes: Mapping[str, int], fill: Any
) -> Pattern:
    if len(parts) == 1 and set(parts[0].names) == set(names):
        one = parts[0]
        return Pattern(
            one.names,
            one.entries,
            one.distinct,
            one.degrees,
            one.counts,
            one.full,
            fill,
            one.within,
        )
    join = Join(parts, sizes)
    entries = join.count(names)
    distinct = {i: min(join.domains.get(i, float(sizes[i])), max(entries, 1.0)) for i in names}
    within = frozenset[Support]().union(*(p.within for p in parts))
    return Pattern(names, entries, distinct, _degrees(names, distinct), {}, False, fill, within)


def _degrees(names: Sequence[str], distinct: Mapping[str, float]) -> dict[str, float]:
    """Greatest degrees of which nothing is known: all combinations of the others."""
    total = math.prod([distinct[i] for i in names])
    return {i: total / max(distinct[i], 1.0) for i in names}


# -- joins ------------------------------------------------------------------------------------


def count(parts: Sequence[Pattern], names: Sequence[str], sizes: Mapping[str, int]) -> float:
    """The estimated number of tuples of ``names`` that all patterns allow."""
    return Join(parts, sizes).count(names)


class Join:
    """Patterns that must all allow an index tuple: how many tuples of some indices they allow."""

    def __init__(self, parts: Sequence[Pattern], sizes: Mapping[str, int]) -> None:
        self.parts, self.sizes = independent(parts), sizes
        self.several = [p for p in self.parts if not p.full]
        self._counts: dict[tuple[str, ...], float] = {}
        domains = self.domains = dict[str, float]()
        """By index, the number of indices that all patterns with this index allow."""
        for part in self.parts:
            for i, width in part.distinct.items():
                known = domains[i] if i in domains else float(sizes[i])
                domains[i] = width if width < known else known
        self._skews: list[tuple[frozenset[str], float]] | None = None
        self._degrees: defaultdict[str, list[tuple[str, float]]] | None = None

    def count(self, names: Sequence[str]) -> float:
        """The estimated number of tuples of ``names``."""
        key = tuple(names)
        found = self._counts.get(key)
        if found is None:
            found = self._counts[key] = self._count(key)
        return found

    def _count(self, names: tuple[str, ...]) -> float:
        if len(self.parts) == 1:
            return count_of_one(self.parts[0], names, self.sizes)
        if len(names) == 1:
            return self._width(names[0])
        found, shared, domains = 1.0, [], self.domains
        for i in names:
            found *= domains[i] if i in domains else self.sizes[i]
        for part in self.several:
            own = [i for i in part.names if i in names]
            if not own:
                continue
            room, entries, distinct = 1.0, part.entries, part.distinct
            for i in own:
                room *= distinct[i]
            if room < entries and len(own) < len(part.names):  # as ``projected``
                entries = room
            shared.append((own, entries))
            if len(own) > 1:
                found *= entries / room if room else 0.0
        if not shared:
            return found
        if len(shared) == 1 and len(shared[0][0]) == len(names):
            return min(found, shared[0][1])
        if len(shared) > 1 and (skews := self.skews()):
            all_names = {*names}
            for both, ratio in skews:
                if both <= all_names:
                    found *= ratio
        return self.bound(shared, names, found)

    def _width(self, name: str) -> float:
        """The estimated number of indices of one dimension."""
        found = self.domains.get(name, float(self.sizes[name]))
        for part in self.several:
            if part.entries < found and name in part.distinct:
                found = part.entries
        return found

    def skews(self) -> list[tuple[frozenset[str], float]]:
        """How much larger the joins of two whole tensors by one index are than if the entries were
        spread evenly, each with the indices of both."""
        if self._skews is None:
            self._skews = []
            # of results nothing is counted: their joins are taken to be even
            wide = [p for p in self.several if p.counts and len(p.names) > 1]
            for k, a in enumerate(wide):
                for b in wide[k + 1 :]:
                    if (skew := a.skew(b)) is not None:
                        self._skews.append(skew)
        return self._skews

    def bound(
        self, shared: Sequence[tuple[list[str], float]], names: Sequence[str], best: float
    ) -> float:
        """An upper bound of the number of tuples, or ``best`` if that is less: a chain that begins
        with one pattern, and extends index by index by the least degree that is known. ``shared``:
        of each pattern its indices among ``names``, and how many tuples of these it allows."""
        domains, sizes = self.domains, self.sizes
        for own, total in shared:
            if total >= best:
                continue
            degrees = self.degrees()
            # by index, the least degree given what is known: it falls as more is
            widths = {
                i: domains[i] if i in domains else float(sizes[i]) for i in names if i not in own
            }
            new: Iterable[str] = own
            while widths and total < best:
                for i, width in widths.items():
                    for j, degree in degrees[i]:
                        if degree < width and j in new:
                            widths[i] = width = degree
                least = min(widths, key=widths.__getitem__) if len(widths) > 1 else i
                total *= widths.pop(least)
                new = (least,)
            if total < best:
                best = total
        return best

    def degrees(self) -> dict[str, list[tuple[str, float]]]:
        """By index, the others that a pattern connects it with, and how many it has at most at one
        index of these."""
        if self._degrees is None:
            self._degrees = defaultdict(list)
            for part in self.several:
                for i, others in part.steps():
                    self._degrees[i] += others
        return self._degrees


def count_of_one(part: Pattern, names: Sequence[str], sizes: Mapping[str, int]) -> float:
    """``count`` of one pattern: its own tuples, with all of the other indices."""
    distinct, own, found = part.distinct, [], 1.0
    for i in names:
        size, here = sizes[i], distinct.get(i)
        if here is None:
            found *= size
            continue
        own.append(i)
        if size < here:  # a slice
            found *= size / here
    return found * part.projected(own)


def independent(parts: Sequence[Pattern]) -> list[Pattern]:
    """The patterns without those that follow from others."""
    if not any(p.within for p in parts) or len(parts) < 2:
        return sorted(parts, key=_entries)
    if len(parts) == 2:  # as below
        a, b = parts if parts[0].entries <= parts[1].entries else parts[::-1]
        follows = b.within and b.within <= a.within and set(b.names).issubset(a.names)
        return [a] if follows else [a, b]
    kept: list[Pattern] = []
    for part in sorted(parts, key=_entries):
        for other in kept if part.within else ():
            if part.within <= other.within and set(part.names).issubset(other.names):
                break
        else:
            kept.append(part)
    return kept


_entries = attrgetter("entries")


def _join_ratio(a: Pattern, b: Pattern, name: str) -> float:
    x, y = a.counts.get(name), b.counts.get(name)
    if x is None or y is None or len(x) != len(y):
        return 1.0
    even = a.entries * b.entries / max(a.distinct[name], b.distinct[name], 1.0)
    return float(np.dot(x, y)) / even if even else 1.0


def reduced(
    join: Join, visited: float, out: tuple[str, ...], sizes: Mapping[str, int], fill: Any
) -> Pattern:
    """What is stored of a product of patterns that allow ``visited`` index tuples, reduced to the
    indices ``out``."""
    if not out:
        return Pattern((), 1.0, {}, {}, {}, True, fill)
    domains = join.domains
    room = join.count(out)
    entries = -room * math.expm1(-visited / room) if room else 0.0
    total, distinct = 1.0, {}
    for i in out:
        size = sizes[i]
        total *= size
        width = domains.get(i, size)
        width = width if width < entries else entries
        distinct[i] = width if width > 1.0 else 1.0
    wanted = {*out, None}
    within = frozenset([
        s for p in join.parts for s in p.within if wanted.issuperset(map(_name_of, s[1]))
    ])  # fmt: skip
    full = entries >= total
    return Pattern(out, entries, distinct, _degrees(out, distinct), {}, full, fill, within)


def _name_of(index: Expr) -> str | None:
    return index.name if isinstance(index, Index) else affine(index)[0]


__all__ = [
    "Join", "Pattern", "count", "count_of_one", "decides", "expression_pattern", "full_pattern",
    "pattern_of", "reduced",
]  # fmt: skip
