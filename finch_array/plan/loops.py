"""The loop order of a kernel and its price: estimated visits, in nanoseconds.

Orders are searched with bounds: the price of the loops so far, and of the copies that they force,
only grows. The constants are measured once, on a processor of 2020 at 3 GHz.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from finch_array.plan.estimates import Pattern, count
from finch_core.records import define, frozen

STEP = 1.0
"""A turn of a loop; at the innermost, for each operand."""
MERGE = 5.0
"""A turn of a loop that merges several lists."""
LOOKUP = 1.5
"""A value that is looked up in a workspace."""
MARK = 3.0
"""An entry that is copied into a workspace, in which it is looked up."""
SCATTER = 2.0
"""An update in no order, through a workspace."""
APPEND = 4.0
"""An entry that is appended to a sparse result."""
ACROSS = 2.0
"""A dense operand that is read across its rows."""
FILL = 0.3
"""An element of a dense result that is set and read again."""
COPY = 60.0
"""An entry that is sorted into another order."""
LAUNCH = 4000.0
"""A kernel."""
LONGEST_ROW = 1 << 22
"""Longer rows are not copied into workspaces."""
SEARCHED = 7
"""Kernels of more indices take their loops greedily."""


@frozen(eq=False)
class Term:
    """An operand of a kernel: its indices in the order of its storage, what it stores, whether it
    must be read in that order, the indices that lists of it run over, and whether the value is the
    fill where it stores nothing."""

    indices: tuple[str, ...]
    pattern: Pattern
    sparse: bool
    lists: frozenset[str]
    decides: bool


@define(eq=False)
class Choice:
    """A loop order, the operands that must be copied for it, its price, and how often the body is
    run."""

    loops: tuple[str, ...]
    copied: tuple[int, ...]
    price: float
    visits: float
    marked: tuple[int, ...] = ()


@define(eq=False)
class Space:
    """The loops to order: operands, indices, and what the result wants. An operand restricts the
    turns of loops from its first list on: rows that are empty are found empty inside."""

    terms: Sequence[Term]
    names: tuple[str, ...]
    out: tuple[str, ...]
    sizes: Mapping[str, int]
    fixed: bool
    dense: bool
    entries: float
    best: Choice | None
    counts: dict[frozenset[str], float]
    levels: dict[tuple[frozenset[str], str], float]

    def visits(self, names: frozenset[str]) -> float:
        """The number of turns of loops over these indices."""
        found = self.counts.get(names)
        if found is None:
            own = [i for i in self.names if i in names]
            parts = [t.pattern for t in self.terms if t.decides and t.lists & names]
            found = self.counts[names] = count(parts, own, self.sizes) if own else 1.0
        return found

    def level(self, loops: tuple[str, ...], name: str) -> tuple[float, tuple[int, ...]]:
        """The price of the loop over ``name`` inside of ``loops``, and the operands whose rows are
        better copied into a workspace than merged."""
        lists = [k for k, t in enumerate(self.terms) if name in t.lists]
        key = frozenset(loops), name
        if len(lists) > 1 and all(self.terms[k].decides for k in lists):
            return self.merged(loops, name, lists)
        found = self.levels.get(key)
        if found is None:
            before, width = self.visits(key[0]), 0.0
            if any(self.terms[k].decides for k in lists):
                width = sum(self.width(k, loops, name) for k in lists)
            step = MERGE if len(lists) > 1 else STEP
            found = self.levels[key] = step * before * (width or self.sizes[name])
        return found, ()

    def width(self, k: int, loops: Sequence[str], name: str) -> float:
        """The entries of an operand in one turn of a loop over ``name``, on average."""
        term = self.terms[k]
        outer = [i for i in term.indices if i in loops]
        own = [i for i in term.indices if i in loops or i == name]
        return term.pattern.projected(own) / max(term.pattern.projected(outer), 1.0)

    def merged(
        self, loops: tuple[str, ...], name: str, lists: Sequence[int]
    ) -> tuple[float, tuple[int, ...]]:
        """The price of walking several lists together, or one of them with look-ups."""
        before = self.visits(frozenset(loops))
        widths = {k: self.width(k, loops, name) for k in lists}
        price = MERGE * before * sum(widths.values())
        places = {k: self.row_of(k, loops, name) for k in lists}
        least = min(lists, key=lambda k: (places[k] is not None, widths[k]))
        marked = tuple(k for k in lists if k != least and places[k] is not None)
        left = [k for k in lists if k not in marked]
        walk = (MERGE if len(left) > 1 else STEP) * sum(widths[k] for k in left)
        other = before * (walk + LOOKUP * len(marked) * min(widths[k] for k in left))
        for k in marked:
            rows = self.visits(frozenset(loops[: places[k]]))
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
        read = list(self.terms)
        if not loops or not read:
            return STEP
        inner = loops[-1]
        across = sum(not t.lists and inner in t.indices[:-1] for t in read)
        if self.dense and self.fixed and inner in self.out[:-1]:
            across += 1
        if not across and not any(inner in t.lists for t in read):
            return STEP * 0.25 * len(read)
        return STEP * (0.5 * len(read) + ACROSS * across)

    def ending(self, loops: Sequence[str]) -> float:
        """The price of the body and of the result."""
        body = self.visits(frozenset(self.names)) * self.body(loops)
        stored = [i for i in loops if i in self.out]
        leading = list(loops[: len(stored)]) == stored
        if self.dense:
            return body + FILL * math.prod(float(self.sizes[i]) for i in self.out)
        write = 0.0 if leading else SCATTER * self.visits(frozenset(self.names))
        if self.fixed and stored != list(self.out):
            write += COPY * self.entries
        return body + write + APPEND * self.entries


def choose(
    terms: Sequence[Term], names: Sequence[str], out: tuple[str, ...], sizes: Mapping[str, int],
    *, fixed: bool, dense: bool, entries: float, limit: float = math.inf,
) -> Choice | None:  # fmt: skip
    """The cheapest loop order; None if none is below ``limit``. ``fixed``: the result is wanted in
    the order ``out``; ``entries``: how many the result has."""
    start = Choice((), (), limit, 0.0) if limit < math.inf else None
    space = Space(terms, tuple(names), out, sizes, fixed, dense, entries, start, {}, {})
    if len(names) <= SEARCHED:
        _extended(space, (), frozenset(), LAUNCH, ())
    else:
        _greedy(space)
    found = space.best
    return None if found is start else found


def _extended(
    space: Space, loops: tuple[str, ...], known: frozenset[str], price: float,
    copied: tuple[int, ...],
) -> None:  # fmt: skip
    if space.best is not None and price >= space.best.price:
        return
    if len(loops) == len(space.names):
        _finished(space, loops, copied, price)
        return
    options = []
    for name in space.names:
        if name not in known:
            more = _disordered(space.terms, known, name, copied)
            cost = space.level(loops, name)[0]
            if more:
                cost += COPY * sum(space.terms[k].pattern.entries for k in more)
            options.append((cost, name, more))
    for cost, name, more in sorted(options):
        _extended(space, (*loops, name), known | {name}, price + cost, copied + more)


def _disordered(
    terms: Sequence[Term], known: frozenset[str], name: str, copied: tuple[int, ...]
) -> tuple[int, ...]:
    """The operands that a loop over ``name`` would read against their order."""
    found = []
    for k, term in enumerate(terms):
        if term.sparse and k not in copied and name in term.indices:
            before = term.indices[: term.indices.index(name)]
            if any(i not in known for i in before):
                found.append(k)
    return tuple(found)


def _greedy(space: Space) -> None:
    """One order, by the cheapest next loop."""
    loops: tuple[str, ...] = ()
    known: frozenset[str] = frozenset()
    copied: tuple[int, ...] = ()
    price = LAUNCH
    while len(loops) < len(space.names):
        options = []
        for name in space.names:
            if name not in known:
                more = _disordered(space.terms, known, name, copied)
                cost = COPY * sum(space.terms[k].pattern.entries for k in more)
                options.append((space.level(loops, name)[0] + cost, name, more))
        cost, name, more = min(options)
        loops, known, copied = (*loops, name), known | {name}, copied + more
        price += cost
    _finished(space, loops, copied, price)


def _finished(space: Space, loops: tuple[str, ...], copied: tuple[int, ...], price: float) -> None:
    """Keep an order if it is the cheapest so far."""
    total = price + space.ending(loops)
    if space.best is not None and total >= space.best.price:
        return
    marked = [k for n, name in enumerate(loops) for k in space.level(loops[:n], name)[1]]
    visits = space.visits(frozenset(loops))
    space.best = Choice(loops, copied, total, visits, tuple(k for k in marked if k not in copied))


__all__ = ["Choice", "Term", "choose"]
