"""The search: the kernels that compute a normal form, and what each of them sums.

A reduction of a product is computed by eliminating its indices: an order of elimination says which
factors are multiplied first, and what is stored in between. ``Elimination`` finds the cheapest
order exactly for few indices (each connected set of indices is solved once, by the index that is
summed last or by one kernel for all of it), greedily for many. A factor that is zero where another
is not needed is a mask of what is stored in between.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from finch_array.plan.estimates import decides
from finch_array.plan.kernels import (
    Book,
    Kernel,
    access,
    annihilates,
    identity_of,
    known_result,
    priced,
    product_of,
    result_fill,
    times_for,
)
from finch_array.plan.loops import LAUNCH, NEAR
from finch_array.plan.normal import Reduced, in_turn, indices_of
from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Access, Call, Expr, Index, Literal, Name
from finch_core.ir.operators import Operator, cast_value
from finch_core.records import define, evolve, field, frozen

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
                priced(kernel, self.book)
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
            if n != k and self.is_mask(other):
                fills = [None] * len(expr.args)
                fills[n] = self.book.pattern(other).fill
                if decides(expr.op, n, expr.args, fills):
                    yield other

    def is_mask(self, expr: Expr) -> bool:
        """Whether an expression can restrict others: a function of one array that stores few
        elements."""
        return is_mask(expr, self.book)

    # -- reductions ---------------------------------------------------------------------

    def reduction(
        self, name: str, out: tuple[str, ...], expr: Reduced, masks: tuple[Expr, ...], fixed: bool
    ) -> Expr:
        """Add the kernels of a reduction; the result is its access."""
        times, factors = product_of(expr.op, expr.body)
        if times is None:
            times = times_for(expr.op, expr.type)
        masks = tuple(dict.fromkeys(m for m in masks if indices_of(m) <= set(out)))
        plain = [f for f in factors if self.is_mask(f)]
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


def is_mask(expr: Expr, book: Book) -> bool:
    """Whether an expression is a function of one array that stores few elements."""
    reads = [part for part in expr.walk() if isinstance(part, (Access, Name, Reduced))]
    if len(reads) != 1 or not isinstance(reads[0], Access):
        return False
    if not all(isinstance(i, Index) for i in reads[0].indices):
        return False
    pattern = book.pattern(expr)
    return not pattern.full and pattern.fill is not None and bool(pattern.names)


# -- the order of elimination -----------------------------------------------------------------


class Elimination:
    """The search for one reduction of a product of factors."""

    def __init__(
        self, book: Book, op: Operator, times: Operator | None, factors: Sequence[Expr],
        masks: tuple[Expr, ...], expr: Reduced, exhaustive: bool,
    ) -> None:  # fmt: skip
        self.book, self.op, self.times, self.expr = book, op, times, expr
        self.factors, self.masks = list(factors), masks
        self.own = [indices_of(f) for f in factors]
        self.best: dict[frozenset[str], Solution] = {}
        self.exhaustive = exhaustive
        self.masking = [k for k, f in enumerate(factors) if self.own[k] and self.restricts(f)]
        self.fixed: tuple[frozenset[str], tuple[str, ...]] | None = None
        """The indices whose sum is the result, and the order in which its dimensions are wanted."""

    def restricts(self, factor: Expr) -> bool:
        """Whether a factor is a mask: where it is its fill, the others are not needed."""
        if not is_mask(factor, self.book):
            return False
        return annihilates(self.times, self.book.pattern(factor).fill, self.expr.type)

    def kernels(self, name: str, out: tuple[str, ...], fixed: bool) -> list[Kernel]:
        """The kernels that compute the reduction over ``out``; the last one is ``name``."""
        present = frozenset[str]().union(*self.own)
        found: list[Kernel] = []
        rest = [f for f, own in zip(self.factors, self.own, strict=True)
                if not own & set(self.expr.names)]  # fmt: skip
        if fixed and not rest and set(out) <= present:
            self.fixed = frozenset(self.expr.names), out
        lone = [i for i in self.expr.names if i not in present]
        results: list[Expr] = []
        for part in self.components(frozenset(self.expr.names) & present):
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
        number = Literal(cast_value(count, self.expr.type), self.expr.type)
        return Call(self.op.repeated, (value, number))

    def components(self, names: frozenset[str]) -> list[frozenset[str]]:
        """The sets of indices that are connected by factors."""
        left, found = set(names), []
        while left:
            part, stack = set[str](), [min(left)]
            while stack:
                name = stack.pop()
                if name in part:
                    continue
                part.add(name)
                for own in self.own:
                    if name in own:
                        stack += (own & left) - part
            found.append(frozenset(part))
            left -= part
        return found

    def touching(self, names: frozenset[str]) -> list[int]:
        return [k for k, own in enumerate(self.own) if own & names]

    def solve(self, names: frozenset[str]) -> Solution:
        """The cheapest kernels that sum a connected set of indices, but for a part ``NEAR``."""
        found = self.best.get(names)
        if found is None:
            for ending in self.endings(names) if len(names) > 1 else ():
                limit = NEAR * found[0] if found else math.inf
                if ending.price + LAUNCH < limit:
                    found = self.ended(names, ending, limit) or found
            if found is None or self.may_be_one(names, found):
                found = self.together(names, NEAR * found[0] if found else math.inf) or found
            assert found is not None
            self.best[names] = found
        return found

    def may_be_one(self, names: frozenset[str], found: Solution) -> bool:
        """Whether one kernel may be cheaper than the kernels found: for two indices, in a cycle,
        and where the work of several is little beside launching them."""
        launches = LAUNCH * len(found[1])
        little = len(names) <= TOGETHER and found[0] - launches < launches
        return len(names) <= 2 or little or self.cyclic(names)

    def endings(self, names: frozenset[str]) -> list[Ending]:
        """The last kernels by the index that is summed last, those first for which the kernels
        before cost the least."""
        found = [self.ending(names, last) for last in self.candidates(names)]
        return sorted(found, key=lambda x: x.price)

    def ending(self, names: frozenset[str], last: str) -> Ending:
        """The last kernel if ``last`` is summed last. It reads the results of those before it, or
        sums more indices than the one before it, in whose place it is."""
        price = 0.0
        kernels: list[Kernel] = []
        results: list[Kernel] = []
        inside: set[int] = set()
        for part in self.components(names - {last}):
            cost, found = self.solve(part)
            price += cost
            kernels += found
            results.append(found[-1])
            inside.update(self.touching(part))
        direct = [self.factors[k] for k in self.touching(names) if k not in inside]
        if len(results) == 1 and not direct:
            return Ending(price - results[0].price, kernels[:-1], [], list(results[0].factors))
        return Ending(price, kernels, results, direct)

    def ended(self, names: frozenset[str], ending: Ending, limit: float) -> Solution | None:
        """Kernels that sum ``names``; None if their price is not below ``limit``."""
        for made in ending.results:
            if made.name not in self.book.arrays:
                self.book.arrays[made.name] = known_result(made, self.book)
                if self.book.truths:
                    self.book.identities[made.name] = identity_of(made, self.book)
        kernel = self.kernel(names, [*map(access, ending.results), *ending.factors])
        if not priced(kernel, self.book, limit - ending.price):
            return None
        return ending.price + kernel.price, (*ending.kernels, kernel)

    def candidates(self, names: frozenset[str]) -> Sequence[str]:
        """The indices that may be summed last: all, or of many the one in most factors."""
        if len(names) <= EXACT and self.exhaustive:
            return sorted(names)
        degree = {i: sum(i in own for own in self.own) for i in names}

        def balance(name: str) -> tuple[int, int]:
            parts = self.components(names - {name})
            return max(map(len, parts), default=0), -degree[name]

        return sorted(names, key=balance)[:1]

    def cyclic(self, names: frozenset[str]) -> bool:
        """Whether the factors form a cycle: then one kernel may visit less than any sequence of
        kernels of two."""
        edges = [set(self.own[k]) for k in self.touching(names)]
        while True:
            lone = {i for e in edges for i in e if sum(i in other for other in edges) == 1}
            left = [e - lone for e in edges]
            kept = [
                e for k, e in enumerate(left)
                if not any(e < o or (e == o and k > n) for n, o in enumerate(left) if n != k)
            ]  # fmt: skip
            if len(kept) <= 1:
                return False
            if kept == edges:
                return True
            edges = kept

    def boundary(self, names: frozenset[str]) -> tuple[str, ...]:
        own = frozenset[str]().union(*(self.own[k] for k in self.touching(names)))
        return in_turn(own - names)

    def together(self, names: frozenset[str], limit: float) -> Solution | None:
        """One kernel for all of the indices; None if its price is not below ``limit``."""
        factors = [self.factors[k] for k in self.touching(names)]
        kernel = self.kernel(names, factors)
        return (kernel.price, (kernel,)) if priced(kernel, self.book, limit) else None

    def kernel(self, names: frozenset[str], factors: Sequence[Expr]) -> Kernel:
        out = self.boundary(names)
        outside = [
            self.factors[k] for k in self.masking
            if not self.own[k] & names and self.own[k].issubset(out)
        ]  # fmt: skip
        masks = [m for m in self.masks if indices_of(m) <= set(out)]
        whole, wanted = self.fixed or (None, out)
        fixed = names == whole
        if fixed:
            out = wanted
        return Kernel(
            self.book.name(), out, self.op, self.times, tuple(factors),
            tuple(dict.fromkeys([*outside, *masks])), self.expr.type, fixed,
        )  # fmt: skip


# -- kernels merged ---------------------------------------------------------------------------


def merged(kernels: Sequence[Kernel], book: Book) -> list[Kernel]:
    """The last kernel, a product without a reduction, as a part of those before where it is that
    little: factors move into the kernel of another, and a kernel of one result vanishes."""
    if len(kernels) < 2:
        return list(kernels)
    *before, last = kernels
    results = {k.name: k for k in before}
    for factor in last.factors:
        inner = results.get(_name(factor))
        if inner is None or inner.op is None or last.op is not None:
            continue
        moved = [f for f in last.factors if f is not factor and _moves(f, inner, results, book)]
        if len(moved) + 1 < len(last.factors) or set(inner.out) != set(last.out):
            continue
        if not moved and inner.out == last.out:
            return [*(k for k in before if k is not inner), evolve(inner, name=last.name)]
        masks = tuple(m for m in inner.masks if m not in moved)
        made = Kernel(
            last.name, last.out, inner.op, inner.times, (*inner.factors, *moved), masks,
            inner.dtype, last.fixed,
        )  # fmt: skip
        return [*(k for k in before if k is not inner), made]
    return list(kernels)


def _name(factor: Expr) -> str:
    return factor.tensor.name if isinstance(factor, Access) else getattr(factor, "name", "")


def _moves(factor: Expr, inner: Kernel, results: dict[str, Kernel], book: Book) -> bool:
    """Whether a factor may be multiplied before the sum: where it restricts it, or costs little."""
    if not indices_of(factor) <= set(inner.out) or inner.times is None:
        return False
    if any(_name(part) in results for part in factor.walk() if isinstance(part, Access)):
        return False
    if factor in inner.masks or not indices_of(factor):
        return True
    assert inner.pattern is not None
    return inner.visits <= 4 * inner.pattern.entries + 5000


def masked_value(kernel: Kernel, book: Book) -> Expr:
    """The value of a kernel at an index, with its masks."""
    value = kernel.value
    if not kernel.masks:
        return value
    condition: Expr | None = None
    for mask in kernel.masks:
        fill, dtype = book.pattern(mask).fill, concrete(mask.dtype)
        test = mask
        if dtype.kind != "b" or fill:
            test = Call(prim.ne, (mask, Literal(cast_value(fill, dtype), dtype)))
        condition = test if condition is None else Call(prim.and_, (condition, test))
    assert condition is not None
    start = result_fill(kernel, book)
    return Call(prim.ifelse, (condition, value, Literal(start, kernel.dtype, structural=True)))


__all__ = ["Callable", "Elimination", "Lowering", "masked_value", "merged"]
