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
MERGE = 2.5
"""A turn of a loop that merges several lists."""
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

    def level(self, before: frozenset[str], name: str) -> float:
        """The price of the loop over ``name`` inside of loops over ``before``."""
        key = before, name
        found = self.levels.get(key)
        if found is None:
            found = self.levels[key] = self._level(before, name)
        return found

    def _level(self, before: frozenset[str], name: str) -> float:
        now = before | {name}
        lists = [t for t in self.terms if name in t.lists]
        if not any(t.decides for t in lists):
            return STEP * self.visits(before) * self.sizes[name]
        walked = 0.0
        for term in lists:
            own = [i for i in term.indices if i in now]
            outer = [i for i in own if i != name]
            walked += term.pattern.projected(own) / max(term.pattern.projected(outer), 1.0)
        return (MERGE if len(lists) > 1 else STEP) * self.visits(before) * walked

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
        total = price + space.ending(loops)
        if space.best is None or total < space.best.price:
            space.best = Choice(loops, copied, total, space.visits(known))
        return
    options = []
    for name in space.names:
        if name not in known:
            more = _disordered(space.terms, known, name, copied)
            cost = space.level(known, name)
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
                options.append((space.level(known, name) + cost, name, more))
        cost, name, more = min(options)
        loops, known, copied = (*loops, name), known | {name}, copied + more
        price += cost
    total = price + space.ending(loops)
    if space.best is None or total < space.best.price:
        space.best = Choice(loops, copied, total, space.visits(known))


__all__ = ["Choice", "Term", "choose"]
