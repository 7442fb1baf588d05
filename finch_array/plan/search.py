"""The search: the kernels that compute a normal form, and what each of them sums.

A reduction of a product is computed by eliminating its indices: an order of elimination says which
factors are multiplied first, and what is stored in between. ``Elimination`` finds the cheapest
order exactly for few indices (each connected set of indices is solved once, by the index that is
summed last or by one kernel for all of it), greedily for many. A factor that is zero where another
is not needed is a mask of what is stored in between.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from typing import Any

from finch_array.plan.estimates import decides
from finch_array.plan.kernels import (
    Book,
    Kernel,
    Sketch,
    access,
    identity_of,
    known_result,
    priced,
    sketched,
)
from finch_array.plan.loops import LAUNCH, NEAR
from finch_array.plan.merging import merged
from finch_array.plan.normal import Reduced, in_turn, indices_of, repetition
from finch_array.plan.products import annihilates, product_of, times_for
from finch_core.ir.expressions import Access, Call, Expr
from finch_core.ir.operators import Operator
from finch_core.records import define, field, frozen

EXACT = 8
"""Reductions of up to this many connected indices are searched exactly."""

TOGETHER = 3
"""More indices than this are summed by one kernel only where the factors form a cycle, whatever it
costs to launch several."""

Solution = tuple[float, tuple[Kernel, ...]]
"""A price, and kernels; the last one has the result."""


@frozen(eq=False)
class Ending:
    """What a last kernel may follow: the kernels before it, their price, those whose results it
    reads, and the factors that are left to it."""

    price: float
    kernels: list[Kernel]
    results: list[Kernel]
    factors: list[Expr]


# -- expressions ------------------------------------------------------------------------------


@define(eq=False)
class Lowering:
    """Kernels for the normal forms of one graph, in the order of their computation."""

    book: Book
    kernels: list[Kernel] = field(factory=list)
    exhaustive: bool = True

    def store(self, name: str, out: tuple[str, ...], expr: Expr, dtype: Any) -> None:
        """Add the kernels that compute ``name[out] = expr``."""
        if isinstance(expr, Reduced):
            self.reduction(name, out, expr, (), fixed=True)
            return
        body = self.without_reductions(expr, ())
        kernel = Kernel(name, out, None, None, (body,), (), dtype, fixed=True)
        self.add([kernel])

    def add(self, kernels: Sequence[Kernel]) -> None:
        for kernel in kernels:
            if kernel.pattern is None:
                priced(sketched(kernel, self.book), self.book)
            self.book.arrays[kernel.name] = known_result(kernel, self.book)
            self.book.identities[kernel.name] = identity_of(kernel, self.book)
            self.kernels.append(kernel)

    def without_reductions(self, expr: Expr, masks: tuple[Expr, ...]) -> Expr:
        """``expr`` with the reductions inside of it stored by kernels before."""
        if isinstance(expr, Reduced):
            free = in_turn(indices_of(expr))
            name = self.book.name()
            return self.reduction(name, free, expr, masks, fixed=False)
        if not expr.children or isinstance(expr, Access):
            return expr
        new = [
            self.without_reductions(child, (*masks, *self.siblings(expr, k)))
            for k, child in enumerate(expr.children)
        ]
        same = all(a is b for a, b in zip(new, expr.children, strict=True))
        return expr if same else expr.rebuild(tuple(new))

    def siblings(self, expr: Expr, k: int) -> Iterator[Expr]:
        """The operands beside operand ``k`` where it is not needed if they are their fills."""
        if not isinstance(expr, Call):
            return
        for n, other in enumerate(expr.args):
            if n != k and self.book.is_mask(other):
                fills = [None] * len(expr.args)
                fills[n] = self.book.pattern(other).fill
                if decides(expr.op, n, expr.args, fills):
                    yield other

    # -- reductions ---------------------------------------------------------------------

    def reduction(
        self, name: str, out: tuple[str, ...], expr: Reduced, masks: tuple[Expr, ...], fixed: bool
    ) -> Expr:
        """Add the kernels of a reduction; the result is its access."""
        times, factors = product_of(expr.op, expr.body)
        if times is None:
            times = times_for(expr.op, expr.type)
        masks = tuple(dict.fromkeys(m for m in masks if indices_of(m) <= set(out)))
        plain = [f for f in factors if self.book.is_mask(f)]
        beside = [
            f
            for f in plain
            if len(factors) > 1 and annihilates(times, self.book.pattern(f).fill, expr.type)
        ]
        factors = tuple(
            self.without_reductions(f, (*masks, *(m for m in beside if m is not f)))
            for f in factors
        )
        search = Elimination(self.book, expr.op, times, factors, masks, expr, self.exhaustive)
        kernels = merged(search.kernels(name, out, fixed), self.book)
        self.add(kernels)
        return access(kernels[-1])


# -- the order of elimination -----------------------------------------------------------------


class Elimination:
    """The search for one reduction of a product of factors."""

    def __init__(
        self, book: Book, op: Operator, times: Operator | None, factors: Sequence[Expr],
        masks: tuple[Expr, ...], expr: Reduced, exhaustive: bool,
    ) -> None:  # fmt: skip
        self.book, self.op, self.times, self.expr = book, op, times, expr
        self.factors, self.masks = list(factors), masks
        self.indices = [book.indices(f) for f in factors]
        self.present = in_turn(frozenset[str]().union(*self.indices))
        self.bits = {name: 1 << k for k, name in enumerate(self.present)}
        self.own = [self.mask(names) for names in self.indices]
        self.near = dict.fromkeys(self.bits.values(), 0)
        self.at = dict.fromkeys(self.bits.values(), 0)
        for k, own in enumerate(self.own):
            for i in self.indices[k]:
                self.near[self.bits[i]] |= own
                self.at[self.bits[i]] |= 1 << k
        self.best: dict[int, Solution] = {}
        self.exhaustive = exhaustive
        self.masking = [k for k, f in enumerate(factors) if self.own[k] and self.restricts(f)]
        self.fixed: tuple[int, tuple[str, ...]] | None = None
        """The indices whose sum is the result, and the order in which its dimensions are wanted."""

    # Sets of indices, and of factors by number, are the bits of integers.

    def mask(self, names: Iterable[str]) -> int:
        """A set of indices."""
        return sum([self.bits[i] for i in names])

    def named(self, names: int) -> tuple[str, ...]:
        """The names of a set of indices, in turn."""
        return tuple([self.present[k] for k in _places(names)])

    def restricts(self, factor: Expr) -> bool:
        """Whether a factor is a mask: where it is its fill, the others are not needed."""
        if not self.book.is_mask(factor):
            return False
        return annihilates(self.times, self.book.pattern(factor).fill, self.expr.type)

    def kernels(self, name: str, out: tuple[str, ...], fixed: bool) -> list[Kernel]:
        """The kernels that compute the reduction over ``out``; the last one is ``name``."""
        found: list[Kernel] = []
        names = self.mask(i for i in self.expr.names if i in self.bits)
        rest = [f for f, own in zip(self.factors, self.own, strict=True) if not own & names]
        lone = [i for i in self.expr.names if i not in self.bits]
        if fixed and not rest and not lone and self.bits.keys() >= set(out):
            self.fixed = names, out
        results: list[Expr] = []
        for part in self.components(names):
            _, kernels = self.solve(part)
            found += kernels
            results.append(access(kernels[-1]))
        if lone:
            product = Kernel("", out, None, self.times, (*results, *rest), (), self.expr.type)
            count = math.prod(self.book.sizes[i] for i in lone)
            rest, results = [self.repeated(product.value, count)], []
        last = Kernel(name, out, None, self.times, (*results, *rest), (), self.expr.type, fixed)
        return [*found, last]

    def repeated(self, value: Expr, count: int) -> Expr:
        """A value reduced with itself ``count`` times."""
        if self.op.idempotent or self.op.repeated is None:
            return value
        return repetition(self.op, value, count, self.expr.type)

    def components(self, names: int) -> list[int]:
        """The sets of indices that are connected by factors."""
        found = []
        while names:
            part = left = names & -names
            while left:
                bit = left & -left
                new = self.near[bit] & names & ~part
                part |= new
                left = (left ^ bit) | new
            found.append(part)
            names &= ~part
        return found

    def touching(self, names: int) -> int:
        """The factors with one of the indices."""
        return _union(self.at, names)

    def chosen(self, numbers: int) -> list[Expr]:
        """The factors of a set."""
        return [self.factors[k] for k in _places(numbers)]

    def solve(self, names: int) -> Solution:
        """The cheapest kernels that sum a connected set of indices, but for a part ``NEAR``."""
        found = self.best.get(names)
        if found is None:
            count = names.bit_count()
            endings = self.endings(names) if count > 1 else []
            first = count <= 1 or (bool(endings) and count <= TOGETHER and _little(endings[0]))
            if first:
                found = self.together(names, math.inf)
            found = self.ended(names, endings, found) or found
            if found is None or (not first and self.may_be_one(names, found)):
                found = self.together(names, NEAR * found[0] if found else math.inf) or found
            assert found is not None
            self.best[names] = found
        return found

    def may_be_one(self, names: int, found: Solution) -> bool:
        """Whether one kernel may be cheaper than the kernels found: in a cycle, and where the work
        of several is little beside launching them."""
        launches = LAUNCH * len(found[1])
        little = names.bit_count() <= TOGETHER and found[0] - launches < launches
        return little or self.cyclic(names)

    def endings(self, names: int) -> list[Ending]:
        """The last kernels by the index that is summed last, those first for which the kernels
        before cost the least."""
        found = [self.ending(names, last) for last in self.candidates(names)]
        return sorted(found, key=lambda x: x.price)

    def ending(self, names: int, last: int) -> Ending:
        """The last kernel if ``last`` is summed last. It reads the results of those before it, or
        sums more indices than the one before it, in whose place it is."""
        price = 0.0
        kernels: list[Kernel] = []
        results: list[Kernel] = []
        for part in self.components(names & ~last):
            cost, found = self.solve(part)
            price += cost
            kernels += found
            results.append(found[-1])
        direct = self.chosen(self.touching(names) & ~self.touching(names & ~last))
        if len(results) == 1 and not direct:
            return Ending(price - results[0].price, kernels[:-1], [], list(results[0].factors))
        return Ending(price, kernels, results, direct)

    def ended(
        self, names: int, endings: Sequence[Ending], found: Solution | None
    ) -> Solution | None:
        """The cheapest kernels that sum ``names`` with one of the ``endings`` last: those first
        that may be the cheapest. ``found``: kernels that they must be cheaper than."""
        limit = NEAR * found[0] if found else math.inf
        queue: list[tuple[float, int, Ending, Sketch | None]]
        queue = [(e.price + LAUNCH, n, e, None) for n, e in enumerate(endings)]  # a heap
        while queue:
            least, n, ending, sketch = heappop(queue)
            if least >= limit:
                break
            if sketch is None:
                sketch = self.last(names, ending)
                heappush(queue, (ending.price + sketch.least, n, ending, sketch))
            elif priced(sketch, self.book, limit - ending.price):
                kernel = sketch.kernel
                found = ending.price + kernel.price, (*ending.kernels, kernel)
                limit = NEAR * found[0]
        return found

    def last(self, names: int, ending: Ending) -> Sketch:
        """The last kernel of an ending."""
        book = self.book
        if book.truths:
            for made in ending.results:
                if made.name not in book.identities:
                    book.identities[made.name] = identity_of(made, book)
        factors = [*map(book.result, ending.results), *ending.factors]
        return sketched(self.kernel(names, factors), book)

    def candidates(self, names: int) -> Sequence[int]:
        """The indices that may be summed last: all, or of many the one in most factors."""
        bits = [1 << k for k in _places(names)]
        if len(bits) <= EXACT and self.exhaustive:
            return bits

        def balance(bit: int) -> tuple[int, int]:
            parts = self.components(names & ~bit)
            return max([p.bit_count() for p in parts], default=0), -self.at[bit].bit_count()

        return sorted(bits, key=balance)[:1]

    def cyclic(self, names: int) -> bool:
        """Whether the factors form a cycle: then one kernel may visit less than any sequence of
        kernels of two."""
        edges = [self.own[k] for k in _places(self.touching(names))]
        pairs, ends = {e for e in edges if e & (e - 1)}, _union(self.near, names)
        if len(pairs) < ends.bit_count() and all(e.bit_count() == 2 for e in pairs):
            return False  # a tree
        while True:
            once = several = 0
            for e in edges:
                several |= once & e
                once |= e
            left = sorted({e & several for e in edges}, key=int.bit_count)
            kept = [e for k, e in enumerate(left) if not any(e | o == o for o in left[k + 1 :])]
            if len(kept) <= 1:
                return False
            if len(kept) == len(edges) and set(kept) == set(edges):
                return True
            edges = kept

    def together(self, names: int, limit: float) -> Solution | None:
        """One kernel for all of the indices; None if its price is not below ``limit``."""
        kernel = self.kernel(names, self.chosen(self.touching(names)))
        sketch = sketched(kernel, self.book)
        return (kernel.price, (kernel,)) if priced(sketch, self.book, limit) else None

    def kernel(self, names: int, factors: Sequence[Expr]) -> Kernel:
        edge = _union(self.near, names) & ~names
        outside = [self.factors[k] for k in self.masking if not self.own[k] & ~edge]
        if self.masks:
            out = set(self.named(edge))
            outside += [m for m in self.masks if self.book.indices(m).issubset(out)]
        fixed = self.fixed is not None and names == self.fixed[0]
        return Kernel(
            self.book.name(), self.fixed[1] if self.fixed and fixed else self.named(edge), self.op,
            self.times, tuple(factors), tuple(dict.fromkeys(outside)), self.expr.type, fixed,
        )  # fmt: skip


def _little(ending: Ending) -> bool:
    """Whether the work of the kernels before the last one is little beside launching them."""
    launches = LAUNCH * len(ending.kernels)
    return ending.price - launches < launches


def _union(sets: Mapping[int, int], names: int) -> int:
    """The sets of some indices, together."""
    found = 0
    while names:
        bit = names & -names
        found |= sets[bit]
        names ^= bit
    return found


def _places(numbers: int) -> Iterator[int]:
    """The numbers in a set, in turn."""
    while numbers:
        bit = numbers & -numbers
        yield bit.bit_length() - 1
        numbers ^= bit


__all__ = ["Callable", "Elimination", "Lowering"]
