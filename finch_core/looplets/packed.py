"""Packed: words tell, by a bit for each index, which subtensors are there.

    for i in range(0, n):                        for k in range(0, n // 64):
        if a[i] and b[i]: s += 1       ->            count += popcount(a_words[k] & b_words[k])
                                                 s += count

A body that depends on the index runs where a bit is set:

    for i in range(0, n):                        for k in range(0, n // 64):
        if a[i] and b[i]: s += x[i]    ->            rest = a_words[k] & b_words[k]
                                                     while rest:
                                                         i = 64 * k + ctz(rest)
                                                         s += x[i]
                                                         rest &= rest - 1
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial, reduce
from itertools import combinations, product
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from finch_core.interface.looplet import Looplet, Precedence
from finch_core.interface.run import Part, Run, as_subtensor
from finch_core.interface.tensorlike import TensorLike
from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import INTP
from finch_core.ir.expected import integer, of_dtype
from finch_core.ir.expressions import Expr, Literal, call, lift
from finch_core.ir.program import Sequential, Stmt, Update, leaves
from finch_core.looplets.invariant import is_unordered, repetition
from finch_core.looplets.lookup import Lookup
from finch_core.looplets.merge_cost import written_slots
from finch_core.looplets.region import Region, is_empty
from finch_core.looplets.spike import Spike
from finch_core.looplets.stepper import Stepper
from finch_core.looplets.switch import Switch
from finch_core.looplets.thunk import Thunk
from finch_core.records import evolve, frozen

if TYPE_CHECKING:
    from finch_core.interface.context import Context

WORD = np.dtype(np.uint64)
"""The dtype of words."""

BITS = 64
"""Their number of bits."""

TOGETHER = 3
"""The largest number of operands whose words are combined: N have 2^N cases."""

Case = Mapping[int, bool]
"""Whether the bit of the operand in each slot is set."""


def _word(value: int) -> Literal:
    return Literal(np.uint64(value), WORD)


ZERO, ONE, ALL = _word(0), _word(1), _word(2**64 - 1)


@frozen(eq=False)
class Packed(Looplet):
    """``body(ctx, i)`` at each index ``i`` whose bit is set, ``fill`` at the others.

    ``word(k)`` loads word ``k``. Its bit ``b`` is that of index ``start + 64 * k + b``; the fiber
    ends at ``stop``, and bits beyond are not set.

    A loop that only counts takes a word at a time, of several packed operands too. Others visit the
    bits that are set, in order; beside a looplet that leads the loop, single bits are tested.
    """

    word: Callable[[Expr], Expr]
    body: Callable[[Context, Expr], TensorLike]
    fill: TensorLike
    start: Expr
    stop: Expr
    precedence: ClassVar[Precedence] = Precedence.PACKED

    def __attrs_post_init__(self) -> None:
        for name in ("start", "stop"):
            object.__setattr__(self, name, integer(getattr(self, name), f"the {name} of a Packed"))
        of_dtype(self.word(lift(0)), WORD, "a word of a Packed")

    def lower(self, ctx: Context, region: Region, slot: int) -> None:
        if region.is_point(ctx):
            region.put(slot, self.at(ctx, region.start)).lower(ctx)
            return
        found = _operands(ctx, region, slot, self)
        cases = _cases(ctx, region, found)
        if cases is not None:
            groups = _groups(ctx, region, found, cases)
            if groups is not None:
                _count(ctx, region, found, groups)
                return
            if len(cases) == 1 and all(cases[0][0].values()):
                _walk(ctx, region, slot, found)
                return
        _walk(ctx, region, slot, {slot: self})

    def at(self, ctx: Context, index: Expr) -> Looplet:
        """The choice at a single index."""
        place = index - self.start
        bit = self.word(place >> 6) >> (place & (BITS - 1)).cast(WORD) & ONE
        return Switch(bit.ne(0), self.part(ctx, index), self.fill)

    def part(self, ctx: Context, index: Expr) -> TensorLike:
        """What is at an index whose bit is set."""
        return as_subtensor(self.body(ctx, index), self.body)


def _operands(ctx: Context, region: Region, slot: int, packed: Packed) -> dict[int, Packed]:
    """The packed operands of a region whose words are about the same indices."""
    found = {
        k: looplet
        for k, looplet in region.looplets.items()
        if isinstance(looplet, Packed) and ctx.prover.equal(looplet.start, packed.start)
    }
    return found if len(found) <= TOGETHER else {slot: packed}


def _cases(
    ctx: Context, region: Region, operands: Mapping[int, Packed]
) -> list[tuple[Case, Region]] | None:
    """The cases in which something happens, with what is left of the region there.

    None if that is code, or an update of the operands.
    """
    updated = {
        getattr(part.target.tensor, "number", None)
        for part in region.body.walk()
        if isinstance(part, Update)
    }
    if updated.intersection(operands) or written_slots(region).intersection(operands):
        return None
    found: list[tuple[Case, Region]] = []
    with ctx.block() as emitted, ctx.prover.assuming():
        for bits in product((False, True), repeat=len(operands)):
            case, left = dict(zip(operands, bits, strict=True)), region
            for k, packed in operands.items():
                part = packed.part(ctx, region.index) if case[k] else packed.fill
                left = left.fill(ctx, k, part)
            if not is_empty(left.body):
                found.append((case, left))
    return None if emitted else found


# -- loops that count ---------------------------------------------------------------------------


def _groups(
    ctx: Context,
    region: Region,
    operands: Mapping[int, Packed],
    cases: list[tuple[Case, Region]],
) -> dict[Stmt, list[Case]] | None:
    """The cases by their statements; None if these cannot be executed a number of times at once."""
    if any(packed.fill.ndim for packed in operands.values()):
        return None
    groups: dict[Stmt, list[Case]] = {}
    for case, left in cases:
        if repetition(ctx, left, region.stop) is None:
            return None
        groups.setdefault(left.body, []).append(case)
    whole = Sequential(tuple(groups))
    ways = [part.op for part in whole.walk() if isinstance(part, Update)]
    together = not leaves(whole) and None not in ways and is_unordered(whole)
    return groups if len(groups) == 1 or together else None


def _count(
    ctx: Context,
    region: Region,
    operands: Mapping[int, Packed],
    groups: Mapping[Stmt, list[Case]],
) -> None:
    """Emit the region by counting the indices of each group of cases."""
    counts = [ctx.var(f"{region.index.name}_count", 0) for _ in groups]

    def add(k: Expr, below: Expr | None, sign: int = 1) -> None:
        words = {slot: packed.word(k) for slot, packed in operands.items()}
        for count, cases in zip(counts, groups.values(), strict=True):
            word = reduce(lambda a, b: a | b, (_where(words, case) for case in implicants(cases)))
            if below is not None:
                word = word & ((ONE << below.cast(WORD)) - ONE)
            ones = call(prim.popcount, word).cast(INTP)
            ctx.assign(count, count + ones if sign > 0 else count - ones)

    beyond = any(not any(case.values()) for cases in groups.values() for case in cases)
    _each_word(ctx, region, operands, beyond, add)
    for count, body in zip(counts, groups, strict=True):
        again = repetition(ctx, evolve(region, body=body, looplets={}), count)
        assert again is not None
        ctx.fork(ctx.lift(0) < count, partial(ctx.lower, ctx.simplify(again)))


def implicants(cases: list[Case]) -> list[Case]:
    """The prime implicants of cases: without operands whose bit makes no difference."""
    found = cases
    while True:
        pairs = [
            (a, b, {k: v for k, v in a.items() if b[k] == v})
            for a, b in combinations(found, 2)
            if a.keys() == b.keys() and sum(a[k] != b[k] for k in a) == 1
        ]
        if not pairs:
            return found
        used = [case for a, b, _ in pairs for case in (a, b)]
        merged = [case for _, _, case in pairs] + [case for case in found if case not in used]
        found = [case for k, case in enumerate(merged) if case not in merged[:k]]


def _where(words: Mapping[int, Expr], case: Case) -> Expr:
    """The bits at which a case applies."""
    bits = [words[k] if is_set else words[k] ^ ALL for k, is_set in case.items()]
    return reduce(lambda a, b: a & b, bits) if bits else ALL


def _each_word(
    ctx: Context,
    region: Region,
    operands: Mapping[int, Packed],
    beyond: bool,
    add: Callable[..., None],
) -> None:
    """``add(k, below)`` for the words of a region: all bits, or those ``below`` a number.

    ``beyond``: bits beyond the end of the fiber would count, too.
    """
    origin = next(iter(operands.values())).start
    begin = ctx.bind("begin", region.start - origin)
    end = ctx.bind("end", region.stop - origin)
    covered = not beyond and all(ctx.prover.le(p.stop, region.stop) for p in operands.values())
    from_zero = ctx.prover.equal(region.start, origin)

    def emit() -> None:
        first = ctx.lift(0) if from_zero else ctx.let("first_word", begin >> 6)
        with ctx.for_("k", first, (end + (BITS - 1)) >> 6 if covered else end >> 6) as k:
            add(k, None)
        if not covered:
            with ctx.if_((end & (BITS - 1)).ne(0)):
                add(end >> 6, end & (BITS - 1))
        if not from_zero:
            with ctx.if_((begin & (BITS - 1)).ne(0)):
                add(first, begin & (BITS - 1), -1)

    if from_zero and (covered or ctx.prover.le(begin, end)):
        emit()
    else:
        ctx.fork(begin < end, emit)


# -- loops that visit the bits --------------------------------------------------------------------


def _walk(ctx: Context, region: Region, slot: int, operands: Mapping[int, Packed]) -> None:
    """Emit the region at the bits that are set in all operands."""
    for k, packed in operands.items():
        if k != slot:  # its bit is set wherever the walk stops, and elsewhere it does not matter
            region = region.put(k, Lookup(packed.part))
    region.put(slot, Thunk(partial(_steps, operands[slot], tuple(operands.values())))).lower(ctx)


def _steps(packed: Packed, operands: tuple[Packed, ...], ctx: Context) -> Iterator[Part]:
    """A step for each bit that is set in all operands."""
    start, stop = packed.start, packed.stop
    words = ctx.let("words", (stop - start + (BITS - 1)) >> 6)
    k, rest, position = ctx.var("k", -1), ctx.var("rest", ZERO, WORD), ctx.var("next", stop)

    def word(k: Expr) -> Expr:
        return reduce(lambda a, b: a & b, (p.word(k) for p in operands))

    def skip(ctx: Context) -> None:
        with ctx.while_(rest.eq(0).and_(k + 1 < words)):
            ctx.assign(k, k + 1)
            ctx.assign(rest, word(k))
        found = start + k * BITS + call(prim.ctz, rest).cast(INTP)
        ctx.assign(position, ctx.ifelse(rest.ne(0), found, stop))

    def following(ctx: Context) -> None:
        ctx.assign(rest, rest & (rest - ONE))
        skip(ctx)

    def seek(ctx: Context, i: Expr) -> None:
        place = ctx.let("place", i - start)
        ctx.assign(rest, ZERO)
        ctx.assign(k, words)
        with ctx.if_(ctx.prover.decide(start <= i).and_(i < stop)):  # a loop before it has no turn
            ctx.assign(k, place >> 6)
            ctx.assign(rest, word(k) & ALL << (place & (BITS - 1)).cast(WORD))
        skip(ctx)

    skip(ctx)
    yield Stepper(
        position=position,
        end=stop,
        stop=lambda q: q + 1,
        body=lambda ctx, q: Spike(packed.fill, packed.part(ctx, q)),
        seek=seek,
        bound=stop,
        tail=Run(packed.fill),
        start=start,
        following=following,
        last=lambda ctx: start + _last(ctx, word, words),
    )


def _last(ctx: Context, word: Callable[[Expr], Expr], words: Expr) -> Expr:
    """The number of bits up to the last one that is set."""
    k = ctx.var("last", words)
    with ctx.while_((ctx.lift(0) < k).and_(word(k - 1).eq(0))):
        ctx.assign(k, k - 1)
    found = ctx.var("found", 0)
    with ctx.if_(ctx.lift(0) < k):
        bits = ctx.var("bits", word(k - 1), WORD)
        for shift in (1, 2, 4, 8, 16, 32):  # set all bits below the highest, and count them
            ctx.assign(bits, bits | bits >> _word(shift))
        ctx.assign(found, (k - 1) * BITS + call(prim.popcount, bits).cast(INTP))
    return found


__all__ = ["Packed"]
