"""The search for plans: how much it evaluates, and what it finds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from array_support import fa

from finch_array.plan import loops, search
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
    from finch_array.plan.estimates import Join

    priced, counted = [], []
    price, count, count_of_one = search.priced, Join.count, loops.count_of_one

    def pricing(*args):
        priced.append(1)
        return price(*args)

    def counting(*args):
        counted.append(1)
        return count(*args)

    def counting_one(*args):
        counted.append(1)
        return count_of_one(*args)

    monkeypatch.setattr(search, "priced", pricing)
    monkeypatch.setattr(loops, "count_of_one", counting_one)
    monkeypatch.setattr(Join, "count", counting)
    Problem.of([x.lazy_node]).plan()
    return len(priced), len(counted)


@pytest.mark.parametrize(("operators", "kernels", "sizes"), [
    (3, 10, 65), (7, 54, 320), (10, 44, 280), (50, 225, 1350),
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


@pytest.mark.parametrize("n", [4, 200])
def test_numpy_is_called_where_a_product_is_worth_it(n):
    U = fa.asarray(np.ones((n, n)))
    (step,) = Problem.of([(fa.lazy(U) @ U).lazy_node]).plan().steps
    assert (step.canonical.contraction is not None) == (n == 200)


@pytest.mark.parametrize("reduction", [fa.sum, fa.max, fa.prod])
def test_a_remembered_plan_gives_numbers_as_the_first_call_does(reduction):
    def function(a):
        found = reduction(a)
        return found, reduction(a * 2.0), found + 1.0

    made, A = fa.fused(function), Tensor(CSR, np.diag([1.0, -2.0, 3.0]))
    first, later = made(A), made(A)
    for x, y in zip(first, later, strict=True):
        assert (x.signature, x.fill_value, x.value) == (y.signature, y.fill_value, y.value)


def test_a_chain_of_little_work_is_one_kernel():
    (kernel,) = [step.kernel for step in Problem.of([chain(3).lazy_node]).plan().steps]
    assert len(kernel.factors) == 4


def test_a_result_is_known_as_its_statistics_tell(monkeypatch):
    """What the search takes from the estimate of a kernel is what an array of these statistics
    would have."""
    from finch_array.plan import kernels
    from finch_array.plan.estimates import expression_pattern

    seen = []
    plain = kernels.result_factor

    def checked(kernel, read, book):
        factor = plain(kernel, read, book)
        arrays = {kernel.name: kernels.known_result(kernel, book)}
        told = kernels.Book(arrays, book.sizes)
        pattern = expression_pattern(read, arrays, book.sizes)
        other = kernels.reads_of(read, told)
        for a, b in ((factor.pattern, pattern), (factor.reads[0][0].pattern, pattern)):
            assert (a.names, a.entries, a.full, a.fill) == (b.names, b.entries, b.full, b.fill)
            assert (a.distinct, a.degrees, a.within) == (b.distinct, b.degrees, b.within)
        ((mine, alone),), ((theirs, other_alone),) = factor.reads, other
        assert (mine.indices, mine.sparse, mine.lists) == (
            theirs.indices, theirs.sparse, theirs.lists,
        )  # fmt: skip
        assert alone == other_alone
        seen.append(kernel.dense)
        return factor

    monkeypatch.setattr(kernels, "result_factor", checked)
    S = Tensor(CSR, np.where(np.random.default_rng(0).random((1000, 1000)) < 0.005, 1.0, 0.0))
    x = fa.lazy(S)
    masked = S * fa.exp(x @ S)
    Problem.of([(x @ S @ S @ S).lazy_node, (masked @ S).lazy_node, chain(10).lazy_node]).plan()
    assert set(seen) == {False, True}


# -- loop orders ------------------------------------------------------------------------------


def term(names, array, lists, decides=True):
    """An operand with the statistics of an array."""
    from finch_array.plan.estimates import pattern_of
    from finch_array.plan.loops import Term
    from finch_array.plan.statistics import statistics

    pattern = pattern_of(names, statistics(Tensor(CSR, array)), 0.0)
    return Term(tuple(names), pattern, True, frozenset(lists), decides)


def test_a_copy_in_another_order_has_lists_along_its_last_dimension():
    copied = term("ab", np.eye(3), "b").reordered("ba")
    assert copied.indices == ("b", "a")
    assert copied.lists == {"a"}
    assert term("ab", np.eye(3), "ab").reordered("b").lists == {"a", "b"}


def test_a_copy_restricts_loops_where_its_lists_are():
    from finch_array.plan.loops import Result, Space

    array = np.zeros((4, 100))
    array[0, :5] = 1.0
    one = term("ab", array, "b")
    sizes = {"a": 4, "b": 100}
    space = Space([one], [((0,), one.pattern)], ("a", "b"), Result((), False, True, 1.0), sizes)
    a, b = space.bits["a"], space.bits["b"]
    assert (space.visits(a), space.visits(b), space.visits(a | b)) == (4, 5, 5)
    copied = space.with_copies([0], ("b",))
    assert (copied.visits(a), copied.visits(b), copied.visits(a | b)) == (1, 100, 5)
    assert copied.copied == (0,)


def test_what_many_kernels_need_is_found_once(monkeypatch):
    """The fields of formats, the values of equal steps, and how skewed each pair of operands is."""
    from finch_array.plan import estimates, graph

    chain(3)  # layouts are made
    asked, skewed = [], []
    plain, fields = estimates._join_ratio, SparseList.fields
    monkeypatch.setattr(SparseList, "fields", property(lambda x: asked.append(x) or fields.fget(x)))
    monkeypatch.setattr(estimates, "_join_ratio", lambda *x: skewed.append(x) or plain(*x))
    graph._body.cache_clear()
    Problem.of([chain(10, seed=5).lazy_node]).plan()
    assert not asked
    assert len(skewed) <= 10
    assert graph._body.cache_info().misses == 1
