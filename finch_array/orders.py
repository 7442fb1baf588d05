"""The order of the loops of a statement: chosen by an estimate of the work."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from itertools import permutations

from finch_core.records import evolve, frozen

MOST_PERMUTED = 6
"""Statements of more indices take their loops in the order of the operands, unsearched."""

SCATTER, HASHED = 3.0, 24.0
"""The time of an update in no order, through a workspace of one row or through a hash table of
several dimensions, relative to one in order."""

VECTOR = 4.0
"""The steps of a loop along contiguous memory that take the time of one."""

EXCHANGE, IN_PLACE = 3.0, 1.5
"""The time around loops that the compiler exchanges, relative to a step of a loop; and that of
updates in memory, relative to those in registers, which exchanged loops have."""

COPY, COPY_DENSE = 8.0, 2.0
"""The time of sorting an entry into another order, and of moving an element of a dense operand,
relative to a step of a loop."""
CALL_TO_COPY = 1 << 14
"""The time of calling what copies an operand, however small that is, relative to a step of a
loop."""


LONG = 16.0
"""A fiber with so many times as many indices as that of another operand is not walked: the indices
of the other are searched for in it."""


NEVER = 1e18
"""The number of entries of what cannot be copied into another order: a mask."""


def rounded(size: float) -> float:
    """The power of two next to a size, or 0: operands of about the same sizes have one order of
    loops, whichever came first."""
    return 2.0 ** round(math.log2(size)) if size else 0.0


@frozen(eq=False)
class Term:
    """An operand in a statement, for estimates.

    ``indices`` are its indices in the order of its storage (None: the constant 0), ``fanouts`` how
    many subfibers a fiber stores, ``sparse`` whether it must be read in that order, ``entries`` how
    many values it stores, ``decides`` whether the result is the fill where it stores nothing,
    ``full`` are the dimensions in which each index is there, so that none is searched for.
    """

    indices: tuple[str | None, ...]
    fanouts: tuple[float, ...]
    sparse: bool
    entries: float
    decides: bool
    full: frozenset[int] = frozenset()


@frozen(eq=False)
class Order:
    """A loop order: the names of the loops, the operands that are copied for it, and those that
    lead a loop by a dimension, as stored: others are searched for their indices. Dense operands
    are copied so that the index ``last`` runs along contiguous memory."""

    loops: tuple[str, ...]
    copied: tuple[int, ...]
    leading: tuple[tuple[int, int], ...] = ()
    last: str | None = None


def choose(
    terms: Sequence[Term], sizes: Mapping[str, float], out: Sequence[str], in_turn: bool,
    copying: bool = True, full: Container[str] = (), dense: bool = False,
) -> Order:  # fmt: skip
    """The cheapest order of the loops over ``sizes``. ``out`` are the indices of the result,
    ``in_turn`` is whether they must be the outermost loops, ``copying`` whether operands may be
    copied into another order, ``full`` are the indices along which the result has no gaps, and
    ``dense`` is whether a result that is written in no order is dense."""
    best: tuple[float, Order] | None = None
    for loops in _candidates(terms, sizes, out):
        copied = tuple(k for k, term in enumerate(terms) if not in_order(term, loops))
        if copied and not copying:
            continue
        for last in (None, *loops[1:][-2:]) if copying else (None,):
            turned = _turned(terms, last)
            if last is not None and not turned:
                continue
            chosen = tuple(sorted((*copied, *turned)))
            cost = _cost(terms, sizes, out, loops, chosen, last, in_turn, full, dense)
            if best is None or cost < best[0]:
                best = cost, Order(loops, chosen, last=last)
    assert best is not None
    return best[1]


def _candidates(
    terms: Sequence[Term], sizes: Mapping[str, float], out: Sequence[str]
) -> Sequence[tuple[str, ...]]:
    names = list(dict.fromkeys([*out, *sizes]))
    if len(names) <= MOST_PERMUTED:
        return list(permutations(names))
    found = [tuple(names)]
    for term in terms:
        own = [name for name in term.indices if name is not None]
        found.append(tuple(dict.fromkeys([*own, *names])))
    return found


def leading(
    terms: Sequence[Term], sizes: Mapping[str, float], loops: Sequence[str]
) -> tuple[tuple[int, int], ...]:
    """The operands, and their dimensions, whose indices are searched for in a fiber of another that
    decides, too, since it is long beside theirs."""
    found: list[tuple[int, int]] = []
    for n, name in enumerate(loops):
        widths = {
            k: max(1.0, _width(term, sizes, loops[:n], name))
            for k, term in enumerate(terms) if _decides_by_search(term, name)
        }  # fmt: skip
        if widths and max(widths.values()) >= LONG * min(widths.values()):
            k = min(widths, key=widths.__getitem__)
            found.append((k, terms[k].indices.index(name)))
    return tuple(found)


def _decides_by_search(term: Term, name: str) -> bool:
    """Whether the indices of a loop are those that an operand stores, not all."""
    there = term.sparse and term.decides and name in term.indices
    return there and term.indices.index(name) not in term.full


def in_order(term: Term, loops: Sequence[str]) -> bool:
    """Whether the loops run over the dimensions of an operand in the order of its storage."""
    places = [loops.index(name) for name in term.indices if name is not None]
    return not term.sparse or places == sorted(places)


def _turned(terms: Sequence[Term], last: str | None) -> tuple[int, ...]:
    """The dense operands beside sparse ones that have the index ``last``, but not along contiguous
    memory."""
    if not any(t.sparse for t in terms):
        return ()
    return tuple([k for k, t in enumerate(terms) if _is_turned(t, last)])


def _is_turned(term: Term, last: str | None) -> bool:
    there = not term.sparse and term.entries < NEVER and last in term.indices[:-1]
    return there and last is not None and term.indices[-1] != last


def is_linear(
    loops: Sequence[str], indices: Sequence[Sequence[str | None]], dense: Sequence[bool]
) -> bool:
    """Whether the work is in proportion to the data, or less: an operand has all loops, or it is a
    product of sparse operands, whose turns are about as many as what they store."""
    operands = [(set(names), full) for names, full in zip(indices, dense, strict=True) if names]
    return any(names >= set(loops) for names, _ in operands) or not any(f for _, f in operands)


def appends(loops: Sequence[str], out: Sequence[str]) -> int:
    """How many of the loops, from the first, run over the dimensions of the result in order."""
    count = 0
    for name, wanted in zip(loops, out, strict=False):
        if name != wanted:
            break
        count += 1
    return count


def _cost(
    terms: Sequence[Term], sizes: Mapping[str, float], out: Sequence[str], loops: Sequence[str],
    copied: Sequence[int], last: str | None, forced: bool, full: Container[str], dense: bool,
) -> float:  # fmt: skip
    steps = _steps(terms, sizes, loops)
    now = [
        evolve(t, indices=(last,)) if k in copied and not t.sparse else t
        for k, t in enumerate(terms)
    ]
    stored = [name for name in loops if name in out]
    late = stored[appends(loops, stored) :]
    if forced and late:
        return float("inf")
    cost = sum(steps[:-1]) + 2.0 * _innermost(now, steps, loops, stored) if steps else 1.0
    if not all(name in full for name in late):
        jumps = _jumps(steps, loops, stored, full) if dense else steps[-1]
        cost += jumps * ((SCATTER if dense or len(late) == 1 else HASHED) - 1.0)
    for k in copied:
        cost += CALL_TO_COPY + terms[k].entries * (COPY if terms[k].sparse else COPY_DENSE)
    return cost * (1.0 if stored == list(out) else 1.01)


def _innermost(
    terms: Sequence[Term], steps: Sequence[float], loops: Sequence[str], stored: Sequence[str]
) -> float:
    """The time of the innermost loop: that of its steps, or of vectors of them, where one of the
    last two runs along the last dimension of the result and of all that has its index: the compiler
    exchanges them, which takes time around them. It is no less than that of the turns without that
    loop."""
    for k, name in list(enumerate(loops))[1:][-2:]:
        having = [term for term in terms if name in term.indices]
        contiguous = all(not term.sparse and term.indices[-1] == name for term in having)
        if having and contiguous and stored[-1:] == [name]:
            turns = steps[-1] * steps[k - 1] / max(steps[k], 1e-9)
            if name == loops[-1]:
                return min(steps[-1], max(steps[-1] * IN_PLACE / VECTOR, turns))
            return min(steps[-1], max(steps[-1] / VECTOR, turns) + EXCHANGE * steps[k - 1])
    return steps[-1]


def _jumps(
    steps: Sequence[float], loops: Sequence[str], stored: Sequence[str], full: Container[str]
) -> float:
    """How many rows of a dense result are updated in no order: the innermost loops run along its
    last dimensions, where that is so, without gaps."""
    inner = 0
    while inner < min(len(loops), len(stored)) - 1:
        name = loops[-1 - inner]
        if name != stored[-1 - inner] or name not in full:
            break
        inner += 1
    return steps[-1 - inner]


def _steps(terms: Sequence[Term], sizes: Mapping[str, float], loops: Sequence[str]) -> list[float]:
    """The estimated number of iterations of each loop."""
    result: list[float] = []
    now = 1.0
    for k, name in enumerate(loops):
        now *= _factor(terms, sizes, loops[:k], name)
        result.append(now)
    return result


def _factor(
    terms: Sequence[Term], sizes: Mapping[str, float], outer: Sequence[str], name: str
) -> float:
    """The estimated iterations of one loop within others: what the operands that decide store, or
    else the sum of what all store."""
    having = [
        (t.decides, _width(t, sizes, outer, name), t.sparse) for t in terms if name in t.indices
    ]
    deciding = [width for decides, width, sparse in having if decides and sparse]
    if deciding:
        return max(min(deciding), 0.01)
    total = sum(width for _, width, _ in having)
    return (
        min(float(sizes[name]), total)
        if having and all(s for _, _, s in having)
        else float(sizes[name])
    )


def _width(term: Term, sizes: Mapping[str, float], outer: Sequence[str], name: str) -> float:
    """How many indices of a dimension an operand stores, on average, where those of the loops
    outside are fixed."""
    before = _reached(term, sizes, outer)
    return min(_reached(term, sizes, (*outer, name)) / max(before, 1e-9), float(sizes[name]))


def _reached(term: Term, sizes: Mapping[str, float], names: Sequence[str]) -> float:
    """How many combinations of the indices ``names`` an operand stores: what its levels say for the
    outermost of its dimensions; for others at most all, and at most one for each value."""
    prefix, total, every, whole = 1.0, 1.0, 1.0, True
    for index, fanout in zip(term.indices, term.fanouts, strict=True):
        there = index is None or index in names
        total *= fanout
        if there and not whole:
            prefix = 0.0
        whole = whole and there
        if there:
            prefix *= fanout
            every *= 1 if index is None else sizes[index]
    return prefix or min(every, total)


__all__ = ["Order", "Term", "appends", "choose", "in_order", "leading", "rounded"]
