"""Programs: the steps that compute some nodes of a graph, planned and remembered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from finch_array.operands import entries, is_dense, levels_of, stored
from finch_array.plan.graph import Node, Source, Step, ordered
from finch_array.plan.kernels import Book, Known
from finch_array.plan.normal import Forms, indices_of, normal_forms
from finch_array.plan.products import identity
from finch_array.plan.search import Lowering
from finch_array.plan.statistics import statistics
from finch_array.plan.steps import Runnable, as_operand, stored_entries
from finch_core.records import define, evolve, field

WRONG = 10.0
"""What follows is planned again where a result has so many times more or fewer entries."""
SOME = 1000.0
"""Results of fewer entries, estimated and real, are never wrong."""
GROWN = 4.0
"""The memory of a result, relative to its entries, that is no sign of more entries."""
BRANCHES, KERNELS = 3, 8
"""Up to ``BRANCHES`` reductions that are read more than once, of a plan of up to ``KERNELS``, plans
without storing them are tried."""


@define(eq=False)
class Plan:
    """Steps in order, the slots of the sources, and the names of the results."""

    steps: list[Runnable]
    slots: tuple[tuple[str, int], ...]
    results: tuple[str, ...]
    price: float
    replanned: int = 0
    bad: bool = False
    """Whether a result has had far more entries than when this was planned: it is planned anew."""

    def run(self, sources: Sequence[Any]) -> tuple[Any, ...]:
        """The results, from the arrays of the sources; those of ``kept`` steps are tensors."""
        arrays = {name: sources[k] for name, k in self.slots}
        for step in self.steps:
            found = step(arrays)
            whole = step.kept or step.kernel.out
            arrays[step.kernel.name] = found if whole else as_operand(found)
            if step.entries is not None and not step.kernel.dense and step.kernel.out:
                most = WRONG * max(step.entries, SOME)
                # memory is looked at first: to count takes longer than a small kernel
                if entries(found) > GROWN * most:
                    self.bad |= stored_entries(found) > most
        return tuple([arrays[name] for name in self.results])


@define(eq=False)
class Problem:
    """Nodes to compute, the sources below, and what earlier runs have told of results."""

    roots: tuple[Node, ...]
    sources: tuple[Source, ...]
    truths: dict[Any, float] = field(factory=dict)

    @classmethod
    def of(cls, roots: Sequence[Node]) -> Problem:
        found = [n for n in ordered(roots) if isinstance(n, Source)]
        return cls(tuple(roots), tuple(found))

    def plan(self, exact: bool = False) -> Plan:
        """The cheapest plan: with reductions that are read more than once stored, or not."""
        best = self.planned(frozenset(), exact)
        if exact:
            return best
        again = reread(self.roots)
        if 0 < len(again) <= BRANCHES and len(best.steps) <= KERNELS:
            other = self.planned(frozenset(again), exact)
            if other.price < best.price:
                best = other
        return best

    def planned(self, inlined: frozenset[Node], exact: bool = False) -> Plan:
        """A plan that computes the nodes ``inlined`` again for each that reads them."""
        wanted = [n for n in self.roots if isinstance(n, Step)]
        forms = normal_forms(wanted, inlined, exact)
        book = Book({}, forms.sizes, truths=self.truths)
        for name, node in forms.arrays.items():
            if isinstance(node, Source):
                book.arrays[name] = known_source(node)
        lowering = Lowering(book)
        for node, (out, expr) in forms.forms.items():
            lowering.store(forms.name(node), out, expr, node.dtype)
        steps = [Runnable(kernel, book) for kernel in lowering.kernels]
        numbers = [step for step in steps if not step.kernel.out and step.kernel.op is not None]
        read = {name for step in steps for name, _ in step.canonical.operands} if numbers else ()
        for step in numbers:
            step.kept = step.kernel.name not in read and makes_number(step)
        return Plan(
            steps, self.slots(forms), tuple(forms.name(n) for n in self.roots),
            sum(k.price for k in lowering.kernels),
        )  # fmt: skip

    def slots(self, forms: Forms) -> tuple[tuple[str, int], ...]:
        """The names of the sources, with their places."""
        return tuple((forms.name(n), k) for k, n in enumerate(self.sources))

    def run(self, plan: Plan, arrays: Sequence[Any]) -> tuple[Plan, tuple[Any, ...]]:
        """The results by a new plan, and the plan; planned again where estimates were wrong."""
        known: dict[str, Any] = {name: arrays[k] for name, k in plan.slots}
        done: dict[Any, Any] = {}
        place = 0
        while place < len(plan.steps):
            step = plan.steps[place]
            identity, key = step.kernel.identity, (step.kernel.identity, step.kernel.out)
            if key in done:
                found = done[key]
            else:
                found = step(known)
                found = as_operand(found) if not step.kernel.out else found
                done[key] = found
            known[step.kernel.name] = found
            place += 1
            if step.entries is None:
                step.entries = stored_entries(found)
                self.truths[identity] = step.entries
                if wrong(step) and place < len(plan.steps) and plan.replanned < 3:
                    again = evolve(self.plan(), replanned=plan.replanned + 1)
                    plan, place = again, 0
                    known = {name: arrays[k] for name, k in plan.slots}
        for step in plan.steps:
            if step.entries is None:
                step.entries = self.truths.get(step.kernel.identity)
        return plan, tuple(known[name] for name in plan.results)


def wrong(step: Runnable) -> bool:
    """Whether the result of a step differs from its estimate by more than an order."""
    kernel = step.kernel
    assert step.entries is not None
    assert kernel.pattern is not None
    if kernel.dense or max(step.entries, kernel.pattern.entries) < SOME:
        return False
    ratio = max(step.entries, 1.0) / max(kernel.pattern.entries, 1.0)
    return not 1 / WRONG <= ratio <= WRONG


def makes_number(step: Runnable) -> bool:
    """Whether the result of a reduction to a number is a tensor as ``array_operand`` makes one of
    it."""
    op, dtype = step.kernel.op, step.kernel.dtype
    assert op is not None
    return step.canonical.contraction is None and bool(identity(op, dtype) == 0)


def reread(roots: Sequence[Node]) -> list[Node]:
    """The steps with reductions that several others read."""
    from finch_array.plan.normal import uses

    found = uses(roots)
    return [
        n for n, k in found.items()
        if k > 1 and isinstance(n, Step) and n not in roots
    ]  # fmt: skip


def known_source(node: Source) -> Known:
    """What is known of a source."""
    if not node.shape:
        return Known(statistics(0), None, (), False, ())
    found = stored(node.array)
    sparse = not is_dense(found.source)
    levels = levels_of(found.source)
    along = [level.structure.gaps for level in levels] if levels else [sparse] * len(node.shape)
    gaps = tuple(along[found.axes.index(k)] for k in range(len(node.shape)))
    return Known(statistics(node.array), np.asarray(node.fill)[()], found.axes, sparse, gaps)


__all__ = ["Mapping", "Plan", "Problem", "indices_of", "known_source"]
