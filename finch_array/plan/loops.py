"""The loop order of a kernel and its price: estimated visits, in nanoseconds.

Orders are searched with bounds: the price of the loops so far, and of the copies that they force,
only grows, and the body and the result cost at least what they cost in the best order. The
constants are measured once, on a processor of 2020 at 3 GHz.

Sets of indices are the bits of an integer here: the search asks for the same sets again and again.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any

from finch_array.orders import appends
from finch_array.plan.estimates import Join, Pattern, count_of_one
from finch_core.records import define, field, frozen

STEP = 1.0
"""A turn of a loop; at the innermost, for each operand."""
MERGE = 5.0
"""A turn of a loop that merges several lists."""
LOOKUP = 1.5
"""A value that is looked up in a workspace."""
MARK = 3.0
"""An entry that is copied into a workspace, in which it is looked up."""
SCATTER = 2.0
"""An update in no order, through a workspace of one row."""
HASHED, INSERT = 6.0, 40.0
"""An update through a hash table of several dimensions, and an entry that is new in it."""
APPEND = 4.0
"""An entry that is appended to a sparse result."""
ACROSS = 2.0
"""A dense operand that is read across its rows."""
GAP = 0.12
"""An element of a dense result to which what is not stored is added, in vectors."""
FILL = 0.3
"""An element of a dense result that is set and read again."""
COPY = 25.0
"""An entry that is sorted into another order."""
REORDER = 100_000.0
"""A copy in another order: its coordinates are sorted by NumPy, and checked."""
LAUNCH = 4000.0
"""A kernel."""
NEAR = 0.95
"""An order or kernel that may be cheaper by less than this is not looked for."""
SHARED = 1 << 18
"""A kernel that is estimated to run its body more often runs its loops on several cores."""
LONGEST_ROW = 1 << 22
"""Longer rows are not copied into workspaces."""
SEARCHED = 7
"""Kernels of more indices take their loops greedily."""
VISITED = 100
"""Beginnings of orders that are looked at, the cheapest first, until the best order so far is
taken."""


_bits: dict[str, int] = {}
_fresh = itertools.count()


def bit_of(name: str) -> int:
    """The bit of an index in sets of indices."""
    return _bits.get(name) or _bits.setdefault(name, 1 << next(_fresh))


@functools.lru_cache(4096)
def bits_of(names: tuple[str, ...]) -> tuple[dict[str, int], tuple[tuple[str, int], ...], int]:
    """The bits of indices by name, the same as pairs, and the set of all."""
    bits = {name: bit_of(name) for name in names}
    return bits, tuple(bits.items()), mask_of(names)


def mask_of(names: Iterable[str]) -> int:
    """A set of indices as bits."""
    found = 0
    for name in names:
        found |= bit_of(name)
    return found


@define(eq=False)
class Term:
    """An operand of a kernel: its indices in the order of its storage, what it stores, whether it
    must be read in that order, the indices that lists of it run over, and whether the value is the
    fill where it stores nothing.

    ``own`` and ``along``: the indices and those of lists as bits; ``before``: by index, those that
    come before it where it must be read in order; ``copying``: the price of a copy in another;
    ``widths``: see ``width``."""

    indices: tuple[str, ...]
    pattern: Pattern
    sparse: bool
    lists: frozenset[str]
    decides: bool
    own: int = field(init=False)
    along: int = field(init=False)
    before: tuple[tuple[str, int], ...] = field(init=False)
    copying: float = field(init=False)
    widths: dict[tuple[int, str], float] = field(factory=dict, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self.own, self.along = mask_of(self.indices), mask_of(self.lists)
        known = 0
        before: dict[str, int] = {}
        for i in self.indices if self.sparse else ():
            before.setdefault(i, known)
            known |= bit_of(i)
        self.before = tuple(before.items())
        self.copying = REORDER + COPY * self.pattern.entries

    def width(self, known: int, name: str) -> float:
        """The entries in one turn of a loop over ``name`` inside of loops over others, on average:
        remembered, since many kernels read one operand."""
        outer = known & self.own
        found = self.widths.get((outer, name))
        if found is None:
            pattern, own = self.pattern, outer | bit_of(name)
            rows = pattern.projected([i for i in pattern.names if bit_of(i) & outer])
            whole = pattern.projected([i for i in pattern.names if bit_of(i) & own])
            found = self.widths[outer, name] = whole / max(rows, 1.0)
        return found

    def reordered(self, loops: Sequence[str]) -> Term:
        """A copy in the order of loops, in the same format: its first dimensions have no lists."""
        inside = sorted(
            dict.fromkeys(self.indices), key=lambda i: loops.index(i) if i in loops else len(loops)
        )
        lists = frozenset(inside[len(inside) - len(self.lists) :]) if self.lists else self.lists
        return Term(tuple(inside), self.pattern, self.sparse, lists, self.decides)


@define(eq=False)
class Choice:
    """A loop order, the operands that must be copied for it, its price, and how often the body is
    run."""

    loops: tuple[str, ...]
    copied: tuple[int, ...]
    price: float
    visits: float
    marked: tuple[int, ...] = ()


@frozen(eq=False)
class Result:
    """The result of a kernel: its indices; ``fixed``: they are wanted in this order; whether it is
    dense, and how many elements it then stores."""

    out: tuple[str, ...]
    fixed: bool
    dense: bool
    entries: float

    @property
    def price(self) -> float:
        """The price of writing it in order."""
        return (FILL if self.dense else APPEND) * self.entries


Restriction = tuple[tuple[int, ...], Pattern]
"""A pattern outside of which the value is the fill, and the operands whose lists find it out."""


def least(operands: int, visits: float, result: Result | None = None) -> float:
    """Less than the price of any kernel with loops over so many operands and this number of visits:
    that of its innermost loop and of its body. ``result`` may be unknown."""
    price = LAUNCH + STEP * visits * (1.0 + once(operands))
    return price + result.price if result is not None else price


def once(operands: int) -> float:
    """The least price of the body, in steps."""
    return 0.25 * operands if operands else 1.0


class Space:
    """The loops to order: operands, indices, and what the result wants. An operand restricts the
    turns of loops from its first list on: rows that are empty are found empty inside."""

    def __init__(
        self, terms: Sequence[Term], restricted: Sequence[Restriction], names: tuple[str, ...],
        result: Result, sizes: Mapping[str, int], join: Join | None = None, gaps: bool = False,
    ) -> None:  # fmt: skip
        self.gaps = gaps
        self.names, self.result, self.sizes, self.given = names, result, sizes, restricted
        self.left = itertools.count(-VISITED)
        self.joins: dict[tuple[int, ...], Join] = {}
        if join is not None:
            self.joins[tuple(range(len(restricted)))] = join
        self.bits, self.indices, self.whole = bits_of(names)
        self.stored_as(terms, ())
        self.inner = STEP * self.visits(self.whole)
        self.floor = once(len(terms)) * self.inner + result.price

    lists: dict[str, list[int]]
    before: dict[str, list[tuple[int, int, float]]]

    def stored_as(self, terms: Sequence[Term], copied: tuple[int, ...]) -> None:
        """Set what depends on the order in which operands are stored. ``before``: by index, the
        operands that must be read in order, the indices that come before it in them, and the price
        of a copy in another order."""
        self.terms, self.copied = terms, copied
        lists = self.lists = {i: [] for i in self.names}
        ordered = self.before = {i: [] for i in self.names}
        narrow = self.narrow = set[str]()
        several = False
        for k, term in enumerate(terms):
            for i in term.lists:
                several = several or bool(lists[i])
                lists[i].append(k)
            if term.decides:
                narrow |= term.lists
            for i, before in term.before:
                if before:
                    ordered[i].append((k, before, term.copying))
        self.merges = set[str]()
        for i in narrow if several else ():
            if len(lists[i]) > 1 and all(terms[k].decides for k in lists[i]):
                self.merges.add(i)
        self.restricted = []
        for places, _ in self.given:
            along = 0
            for k in places:
                along |= terms[k].along
            self.restricted.append(along)
        self.counts: dict[int, float] = {0: 1.0}
        self.levels: dict[tuple[int, str], float] = {}
        self.others: dict[Any, Space] = {}

    def visits(self, known: int) -> float:
        """The number of turns of loops over these indices."""
        found = self.counts.get(known)
        if found is None:
            own = self.names
            if known != self.whole:
                own = tuple([i for i, bit in self.indices if bit & known])
            parts: tuple[int, ...] = ()
            for k, lists in enumerate(self.restricted):
                if lists & known:
                    parts = (*parts, k)
            if not parts:
                found = 1.0
                for i in own:
                    found *= self.sizes[i]
            elif len(parts) == 1:
                found = count_of_one(self.given[parts[0]][1], own, self.sizes)
            else:
                join = self.joins.get(parts)
                if join is None:
                    join = self.joins[parts] = Join([self.given[k][1] for k in parts], self.sizes)
                found = join.count(own)
            self.counts[known] = found
        return found

    def level(self, loops: tuple[str, ...], known: int, name: str) -> tuple[float, tuple[int, ...]]:
        """The price of the loop over ``name`` inside of ``loops``, and the operands whose rows are
        better copied into a workspace than merged."""
        if name in self.merges:
            return self.merged(loops, known, name, self.lists[name])
        found = self.levels.get((known, name))
        if found is None:
            lists, width = self.lists[name], 0.0
            if name in self.narrow:
                for k in lists:
                    width += self.terms[k].width(known, name)
            before = self.counts.get(known)
            if before is None:
                before = self.visits(known)
            step = MERGE if len(lists) > 1 else STEP
            found = self.levels[known, name] = step * before * (width or self.sizes[name])
        return found, ()

    def merged(
        self, loops: tuple[str, ...], known: int, name: str, lists: Sequence[int]
    ) -> tuple[float, tuple[int, ...]]:
        """The price of walking several lists together, or one of them with look-ups."""
        before = self.visits(known)
        widths = {k: self.terms[k].width(known, name) for k in lists}
        price = MERGE * before * sum(widths.values())
        places = {k: self.row_of(k, loops, name) for k in lists}
        least = min(lists, key=lambda k: (places[k] is not None, widths[k]))
        marked = tuple(k for k in lists if k != least and places[k] is not None)
        left = [k for k in lists if k not in marked]
        walk = (MERGE if len(left) > 1 else STEP) * sum(widths[k] for k in left)
        other = before * (walk + LOOKUP * len(marked) * min(widths[k] for k in left))
        for k in marked:
            rows = self.visits(mask_of(loops[: places[k]]))
            other += MARK * rows * widths[k]
        return (other, marked) if marked and other < price else (price, ())

    def row_of(self, k: int, loops: tuple[str, ...], name: str) -> int | None:
        """How many loops fix the row of an operand; None where it is not read again and again."""
        term = self.terms[k]
        if (
            term.indices[-1] != name
            or self.sizes[name] > LONGEST_ROW
            or term.indices.count(name) > 1
        ):
            return None
        outer = [loops.index(i) + 1 for i in term.indices[:-1] if i in loops]
        if len(outer) < len(term.indices) - 1:
            return None
        found = max(outer, default=0)
        return found if found < len(loops) else None

    def body(self, loops: Sequence[str]) -> float:
        """The price of the body once: more where dense operands are read across their rows, less
        where all can be read in vectors."""
        read = self.terms
        if not loops or not read:
            return STEP
        inner = loops[-1]
        across = 0
        for t in read:
            across += not t.lists and inner in t.indices[:-1]
        if self.result.dense and self.result.fixed and inner in self.result.out[:-1]:
            across += 1
        if not across and not self.lists[inner]:
            return STEP * 0.25 * len(read)
        return STEP * (0.5 * len(read) + ACROSS * across)

    def ending(self, loops: Sequence[str]) -> float:
        """The price of the body and of the result."""
        visits, result = self.visits(self.whole), self.result
        price = visits * self.body(loops) + result.price
        if self.gaps and loops and loops[-1] in result.out:
            price += GAP * math.prod([float(self.sizes[i]) for i in loops])
        if result.dense:
            return price
        stored = [i for i in loops if i in result.out]
        late = len(stored) - appends(loops, stored)
        if late:
            price += SCATTER * visits if late == 1 else HASHED * visits + INSERT * result.entries
        if result.fixed and stored != list(result.out):
            price += REORDER + COPY * result.entries
        return price

    def options(
        self, loops: tuple[str, ...], known: int, limit: float
    ) -> list[tuple[float, str, list[int]]]:
        """The loops that may come next at a price below ``limit``, the cheapest first: at least how
        much it costs, the index, and the operands that must be copied for it."""
        found: list[tuple[float, str, list[int]]] = []
        levels, ordered = self.levels, self.before
        for name, bit in self.indices:
            if known & bit:
                continue
            cost, copied = 0.0, []
            for k, before, price in ordered[name]:
                if before & ~known:
                    cost += price
                    copied.append(k)
            if not copied:
                here = levels.get((known, name))
                cost = self.level(loops, known, name)[0] if here is None else here
            if cost < limit:
                found.append((cost, name, copied))
        if len(found) > 1:
            found.sort()
        return found

    def taken(
        self, option: tuple[float, str, list[int]], loops: tuple[str, ...], known: int
    ) -> tuple[float, Space]:
        """The price of an option, and the space with its copies."""
        cost, name, copied = option
        if not copied:
            return cost, self
        space = self.with_copies(copied, (*loops, name))
        return cost + space.level(loops, known, name)[0], space

    def with_copies(self, more: Sequence[int], loops: tuple[str, ...]) -> Space:
        """The space in which operands are copied into the order of ``loops``."""
        terms = list(self.terms)
        for k in more:
            terms[k] = terms[k].reordered(loops)
        key = tuple((k, terms[k].indices) for k in more)
        found = self.others.get(key)
        if found is None:
            found = self.others[key] = copy(self)
            found.stored_as(terms, (*self.copied, *more))
        return found


def choose(
    terms: Sequence[Term], restricted: Sequence[Restriction], names: Sequence[str], result: Result,
    sizes: Mapping[str, int], limit: float = math.inf, join: Join | None = None,
    gaps: bool = False,
) -> Choice | None:  # fmt: skip
    """The cheapest loop order; None if none is below ``limit``. ``join``: that of all patterns.
    ``gaps``: what is not stored is reduced, too: all along a loop at once, unless it is along the
    result."""
    space = Space(terms, restricted, tuple(names), result, sizes, join, gaps)
    if len(names) <= SEARCHED:
        return _extended(space, (), 0, LAUNCH, limit)[1]
    return _greedy(space, limit)


def _extended(
    space: Space, loops: tuple[str, ...], known: int, price: float, limit: float
) -> tuple[float, Choice | None]:
    """The cheapest of the orders that begin with ``loops``, and the price that others must go
    below."""
    floor = price + space.floor
    left = space.whole & ~known
    if left & (left - 1):  # the innermost loop is not among the next ones
        floor += space.inner
    room = limit - floor
    if room <= 0 or (next(space.left) > 0 and limit < math.inf):
        return limit, None
    if known == space.whole:
        total = price + space.ending(loops)
        return (NEAR * total, _finished(space, loops, total)) if total < limit else (limit, None)
    best: Choice | None = None
    for option in space.options(loops, known, room):
        cost, name, copied = option
        if cost >= limit - floor:
            break
        inner = space
        if copied:
            cost, inner = space.taken(option, loops, known)
        limit, other = _extended(
            inner, (*loops, name), known | space.bits[name], price + cost, limit
        )
        best = other or best
    return limit, best


def _greedy(space: Space, limit: float) -> Choice | None:
    """One order, by the cheapest next loop."""
    loops: tuple[str, ...] = ()
    known, price = 0, LAUNCH
    while known != space.whole:
        option = space.options(loops, known, math.inf)[0]
        cost, inner = space.taken(option, loops, known)
        loops, known = (*loops, option[1]), known | space.bits[option[1]]
        price, space = price + cost, inner
    total = price + space.ending(loops)
    return _finished(space, loops, total) if total < limit else None


def _finished(space: Space, loops: tuple[str, ...], total: float) -> Choice:
    """An order of all loops, whose price is known."""
    marked: list[int] = []
    for n, name in enumerate(loops):
        if name in space.merges:
            found = space.level(loops[:n], mask_of(loops[:n]), name)[1]
            marked += [k for k in found if k not in space.copied]
    return Choice(loops, space.copied, total, space.visits(space.whole), tuple(marked))


__all__ = ["Choice", "Restriction", "Result", "Term", "choose", "least"]
