"""The search for plans: how much it evaluates, and what it finds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from array_support import fa

from finch_array.plan import kernels as plan_kernels
from finch_array.plan import search
from finch_array.plan.programs import Problem
from finch_core import Tensor
from finch_levels import Dense, Element, SparseList

CSR = Dense(SparseList(Element(0.0)))


def chain(operators, seed=0):
    """A lazy product of sparse matrices of random shapes."""
    rng = np.random.default_rng(seed)
    shape = [int(n) for n in 2 ** rng.uniform(3, 7, operators + 2)]
    factors = [
        Tensor(CSR, np.where(rng.random((m, n)) < 0.1, 1.0, 0.0))
        for m, n in itertools.pairwise(shape)
    ]
    found = fa.lazy(factors[0])
    for factor in factors[1:]:
        found = found @ factor
    return found


def evaluated(x, monkeypatch):
    """How many kernels the search for a plan of ``x`` prices, and how many sizes it estimates."""
    priced, counted = [], []
    price, count = search.priced, plan_kernels.count

    def pricing(*args):
        priced.append(1)
        return price(*args)

    def counting(*args):
        counted.append(1)
        return count(*args)

    from finch_array.plan import loops

    monkeypatch.setattr(search, "priced", pricing)
    for module in (plan_kernels, loops):
        monkeypatch.setattr(module, "count", counting)
    Problem.of([x.lazy_node]).plan()
    return len(priced), len(counted)


@pytest.mark.parametrize(("operators", "kernels", "sizes"), [
    (3, 15, 80), (7, 64, 380), (10, 60, 360), (50, 270, 1600),
])  # fmt: skip
def test_the_search_evaluates_few_candidates(operators, kernels, sizes, monkeypatch):
    found = evaluated(chain(operators), monkeypatch)
    assert found[0] <= kernels
    assert found[1] <= sizes


def test_a_graph_of_functions_is_planned_kernel_by_kernel(monkeypatch):
    x = y = chain(0)
    for k in range(50):
        y = fa.exp(y) + x if k % 10 else fa.sum(y, axis=0) * x
    assert evaluated(y, monkeypatch)[0] <= 60
