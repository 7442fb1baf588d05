"""Lazy expressions: what they compute, what is planned, what is remembered."""

from __future__ import annotations

import math

import numpy as np
import pytest
import random_plans
from array_support import LEVELS, data, fa, same, tensor

from finch_array.plan.fusing import plan_of
from finch_array.plan.lazies import Lazy
from finch_array.plan.programs import Problem
from finch_array.plan.statistics import statistics
from finch_core import DimensionMismatch, FormatError, Tensor, kernel
from finch_levels import Dense, Element, SparseHash, SparseList

ROWS = ("Dense", "SparseList")
CSR = Dense(SparseList(Element(0.0)))


def pair(shape, seed, density=0.3):
    rng = np.random.default_rng(seed)
    array = np.where(rng.random(shape) < density, rng.random(shape), 0.0)
    return Tensor(CSR, array), array


def kernels(x):
    """The kernels of the plan of a lazy array."""
    plan, _ = plan_of([x.lazy_node])
    return [step.kernel for step in plan.steps]


# -- values -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(100, 108))
def test_random_graphs_give_what_numpy_gives(seed):
    assert random_plans.graph(seed) == ""


@pytest.mark.parametrize("seed", range(500, 506))
def test_random_expressions_give_what_numpy_gives(seed):
    assert random_plans.expression(seed) == ""


def test_lazy_arrays_have_the_operators_and_methods():
    A, a = pair((4, 5), 0)
    x = fa.lazy(A)
    assert isinstance(x + 1, Lazy)
    assert isinstance(np.sin(x), Lazy)
    same((2 * x + 1).T, (2 * a + 1).T)
    same(np.sum(x, axis=0), a.sum(axis=0))
    same(x.sum(), a.sum())
    assert float(x.sum()) == pytest.approx(a.sum())
    assert np.allclose(np.asarray(x @ A.T), a @ a.T)
    assert "Tensor 4 x 5" in repr(x * 1)
    x += 1
    same(x, a + 1)


def test_updates_keep_the_shape_and_the_dtype():
    def updated(x, y):
        x += y
        x *= 2.5
        return x

    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.full((2, 3), 0.5)
    for function in (updated, fa.fused(updated)):
        same(function(fa.asarray(x.copy()), fa.asarray(y)), ((x + y) * 2.5).astype(np.float32))
    with pytest.raises(ValueError, match=r"the result has shape \(4, 2, 3\)"):
        updated(fa.lazy(y), np.ones((4, 2, 3)))
    with pytest.raises(TypeError, match="float64 does not fit in an array of int64"):
        updated(fa.lazy(np.arange(2)), y[0, :2])
    number = fa.fused(lambda x, by: updated(by, x))
    same(number(y, 2.0), (2.0 + y) * 2.5)


def test_slices_and_new_dimensions_are_indices():
    A, a = pair((6, 7), 1)
    x = fa.lazy(A)
    same(x[1:5, ::2] * 2, a[1:5, ::2] * 2)
    same(x[:, ::-1][2], a[:, ::-1][2])
    same((x @ A.T)[:, 3], (a @ a.T)[:, 3])
    same(x[:, None, 1] + 1, a[:, None, 1] + 1)
    same(fa.squeeze(fa.expand_dims(x, axis=1)), a)
    assert len(kernels((x @ A.T)[2:4])) == 1


def test_results_have_the_format_that_is_asked_for():
    A, a = pair((4, 5), 2)
    found = fa.compute(fa.lazy(A) * 2, format=SparseList(SparseHash(Element(0.0))))
    assert found.format == SparseList(SparseHash(Element(0.0)))
    same(found, a * 2)
    with pytest.raises(FormatError, match="tree of levels"):
        fa.compute(fa.lazy(A), format="csr")


def test_several_are_computed_together():
    A, a = pair((4, 4), 3)
    x = fa.lazy(A) @ A
    found = fa.compute({"one": x + 1, "rest": [x.T, 3]})
    same(found["one"], a @ a + 1)
    same(found["rest"][0], (a @ a).T)
    assert found["rest"][1] == 3


def test_a_lazy_array_is_not_assigned_to():
    A, _ = pair((3, 3), 4)
    with pytest.raises(TypeError, match="not assigned to"):
        fa.lazy(A)[0, 0] = 1
    with pytest.raises(TypeError, match="no array"):
        fa.lazy(object())
    with pytest.raises(DimensionMismatch):
        fa.lazy(A) @ np.ones(7)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, bool, np.float32, np.complex128])
def test_sums_of_products_keep_the_dtype(dtype):
    a, b = data((5, 6), dtype, seed=1), data((6, 4), dtype, seed=2)
    A, B = fa.lazy(tensor(a, ROWS)), tensor(b, ROWS)
    same(A @ B, a @ b)
    same(fa.sum(A @ B), np.sum(a @ b))
    if np.dtype(dtype).kind != "c":
        same(fa.max(A @ B, axis=0), np.max(a @ b, axis=0))


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (1, 1), (1, 5)])
def test_empty_and_single_dimensions(shape):
    a = data(shape, np.float64)
    x = fa.lazy(tensor(a, ROWS))
    same(x @ x.T, a @ a.T)
    same(fa.sum(x @ x.T + 1), np.sum(a @ a.T + 1))
    same(x + fa.sum(x, axis=0, keepdims=True), a + a.sum(axis=0, keepdims=True))


def test_a_value_that_depends_on_a_sum_is_full():
    A, a = pair((4, 5), 5)
    x = fa.lazy(A)
    same(x + fa.sum(x), a + a.sum())
    same(x / fa.norm(x), a / np.linalg.norm(a))


# -- plans ------------------------------------------------------------------------------------


def test_sums_move_into_products():
    A, a = pair((200, 200), 6, 0.1)
    B, b = pair((200, 200), 7, 0.1)
    x = fa.sum(fa.lazy(A) @ B @ A)
    assert max(kernel.visits for kernel in kernels(x)) <= 2 * A.nnz
    same(x, (a @ b @ a).sum(), rtol=1e-9)


def test_infinity_stays_outside_of_a_sum():
    """Within it would meet the zeros, and give NaN. Finite numbers have the same types."""
    x = np.array([1.0, 0.0, 2.0])
    scaled = fa.fused(lambda x, by: fa.sum(x * x) * by)
    for by in (2.0, math.inf, np.float64(-math.inf), 3.0, math.nan):
        same(fa.compute(fa.sum(fa.lazy(x)) * by), np.asarray(3.0 * by))
        same(fa.compute(by * fa.sum(fa.lazy(x) + fa.sum(fa.lazy(x)))), np.asarray(12.0 * by))
        same(scaled(x, by), np.asarray(5.0 * by))


def test_a_sampled_product_visits_the_samples():
    S, s = pair((100, 90), 8, 0.01)
    U, V = np.random.default_rng(0).random((2, 100, 8))
    x = S * (fa.lazy(U) @ V[:90].T)
    (kernel,) = kernels(x)
    assert kernel.visits <= 8 * S.nnz
    same(x, s * (U @ V[:90].T))


def test_a_function_of_a_product_is_computed_where_it_is_needed():
    S, s = pair((300, 290), 9, 0.01)
    U, V = np.random.default_rng(0).random((2, 300, 8))
    x = fa.sum((fa.lazy(S) != 0) * fa.exp(fa.lazy(U) @ V[:290].T))
    first, last = kernels(x)
    assert first.masks
    assert first.visits <= 8 * S.nnz
    assert last.visits <= S.nnz
    same(x, ((s != 0) * np.exp(U @ V[:290].T)).sum())


def test_products_of_sparse_matrices_collect_rows():
    A, a = pair((500, 500), 10, 0.01)
    x = fa.lazy(A) @ A
    (kernel,) = kernels(x)
    assert kernel.loops[0] == kernel.out[0]
    assert kernel.loops[2] == kernel.out[1]  # Gustavson's: the sum in the middle
    same(x, a @ a)


def test_shared_parts_are_computed_once():
    A, a = pair((60, 60), 11)
    x = fa.lazy(A) @ A
    y = fa.exp(x) - x
    assert sum(kernel.op is not None for kernel in kernels(y)) == 1
    same(y, np.exp(a @ a) - a @ a)


def test_equal_expressions_are_one_node():
    A, _ = pair((3, 3), 12)
    assert (fa.lazy(A) + 1).lazy_node is (fa.lazy(A) + 1).lazy_node


def apart(n=400):
    """Three matrices with equal statistics; the first two store the same places, the third none of
    these."""
    i, j = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    places = (i - j) % n < 12
    return [np.where(p, 1.0, 0.0) for p in (places, places, np.roll(places, 200, axis=1))]


def test_a_wrong_estimate_is_planned_again():
    a, b, _ = apart()
    A, B, C = (fa.lazy(Tensor(CSR, x)) for x in (a, b, 2 * a))
    x = A * B
    y = fa.sum(x @ C, axis=0)
    estimated = [step.kernel.pattern.entries for step in Problem.of([x.lazy_node]).plan().steps]
    assert estimated[0] * 10 < np.count_nonzero(a * b)
    plan, _ = plan_of([x.lazy_node, y.lazy_node])
    assert plan.replanned == 1
    assert plan.steps[0].kernel.pattern.entries == np.count_nonzero(a * b)
    assert "planned again 1 times" in fa.explain((A * B, fa.sum((A * B) @ C, axis=0)))
    for found, wanted in zip(fa.compute(x, y), (a * b, (a * b @ (2 * a)).sum(axis=0)), strict=True):
        same(found, wanted)


def test_a_right_estimate_is_not_planned_again():
    A, a = pair((400, 400), 1, 0.03)
    B, b = pair((400, 400), 2, 0.03)
    x = fa.lazy(A) * B
    plan, _ = plan_of([x.lazy_node, (x @ A).lazy_node])
    assert plan.replanned == 0
    same(x @ A, a * b @ a)


# -- statistics -------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [
    ("Dense", "SparseList"), ("SparseList", "SparseList"), ("Dense", "Dense", "SparseList"),
    ("Dense", "SparseList", "SparseList"), ("SparseList",), ("Dense", "SparseHash"),
    ("SparseList", "Dense"),
])  # fmt: skip
@pytest.mark.parametrize("empty", [False, True])
def test_statistics_are_those_of_the_coordinates(names, empty):
    rng = np.random.default_rng(0)
    shape = (4, 5, 6)[: len(names)]
    shape = (*shape[:-1], 0) if empty else shape
    array = np.where(rng.random(shape) < 0.3, 1.0, 0.0)
    format = Element(0.0)
    for name in reversed(names):
        format = LEVELS[name](format)
    found = statistics(Tensor(format, array))
    places = np.nonzero(array)
    assert found.entries == len(places[0])
    for axis, n in enumerate(shape):
        counts = np.bincount(places[axis], minlength=n)
        np.testing.assert_array_equal(found.counts[axis], counts)
        assert found.counts[axis].dtype == np.float64
        assert found.distinct[axis] == np.count_nonzero(counts)
        assert found.degrees[axis] == counts.max(initial=0)


def test_statistics_follow_the_tensor():
    a = np.zeros((5, 6))
    a[1, [0, 2, 4]] = 1
    a[3, 2] = 1
    A = Tensor(CSR, a)
    found = statistics(A)
    assert found.entries == 4
    assert found.distinct == (2, 3)
    assert found.degrees == (3, 2)
    assert statistics(A) is found
    assert statistics(A.T).degrees == (2, 3)
    A[4, 4] = 1
    assert statistics(A).entries == 5


def test_results_follow_what_is_changed():
    A, a = pair((4, 4), 13)
    x = fa.lazy(A) @ np.ones(4)
    same(x, a @ np.ones(4))
    A[0, 0] = a[0, 0] = 5.0
    same(fa.lazy(A) @ np.ones(4), a @ np.ones(4))


@kernel
def counted(y, n):
    y[...] = 0
    for i in range(n):
        y[i] = i + 1


@pytest.mark.parametrize("level", [Dense, SparseList])
@pytest.mark.parametrize("length", [3, 9])
def test_an_operand_of_another_shape_is_noticed(level, length):
    operand = Tensor(level(Element(0.0)))
    counted(operand, 5)
    x = fa.lazy(operand)
    twice, total = x * 2, fa.sum(x)
    assert float(total) == 15
    counted(operand, length)
    for made in (x, twice, total):
        with pytest.raises(DimensionMismatch, match=rf"\(5,\), .* shape \({length},\) now"):
            fa.compute(made)
    assert float(fa.sum(fa.lazy(operand))) == operand.to_numpy().sum()
    counted(operand, 5)
    assert float(total) == 15


def test_a_lazy_array_stays_an_expression():
    A, a = pair((4, 4), 13)
    x = fa.lazy(A) * 2
    found = fa.compute(x)
    found *= 10
    same(x, a * 2)
    dense = np.asarray(x)
    dense[:] = -1
    same(x, a * 2)
    A[0, 0] = a[0, 0] = 5.0
    same(x - 2 * fa.lazy(A), a * 0)


# -- fused functions --------------------------------------------------------------------------


def test_a_function_is_traced_once_for_its_kinds_of_arguments():
    traced = []

    @fa.fused
    def gradient(X, y, w):
        traced.append(X.shape)
        return X.T @ (fa.expit(X @ w) - y)

    for seed, rows in ((1, 30), (2, 30), (3, 40)):
        X, x = pair((rows, 7), seed)
        y, w = np.ones(rows), np.arange(7.0)
        same(gradient(X, y, w), x.T @ (1 / (1 + np.exp(-(x @ w))) - y), rtol=1e-9)
    assert traced == [(30, 7), (40, 7)]


def test_numbers_are_arguments_of_a_plan():
    traced = []

    @fa.fused
    def scaled(A, s, k):
        traced.append(k)
        return A * s + k

    A, a = pair((5, 6), 1)
    for s, k in ((2.0, 1), (3.0, 1), (3.0, 2)):
        same(scaled(A, s, k), a * s + k)
    assert traced == [1, 2]


def test_a_function_that_looks_at_a_value_is_traced_again():
    @fa.fused
    def halved(A):
        return A / 2 if float(fa.sum(A)) > 3 else A

    same(halved(np.ones((2, 2))), np.full((2, 2), 0.5))
    same(halved(np.zeros((2, 2))), np.zeros((2, 2)))


def test_what_a_function_reads_besides_its_arguments_is_noticed():
    factor = np.ones(3)

    @fa.fused
    def times(A):
        return A * factor

    same(times(np.ones(3)), np.ones(3))
    factor = np.full(3, 2.0)
    same(times(np.ones(3)), np.full(3, 2.0))


def test_explain_shows_estimates_and_what_was_found():
    A, _ = pair((50, 50), 14)
    told = fa.explain(fa.lazy(A) @ A)
    assert "1 kernel" in told
    assert "loops" in told
    told = fa.explain(lambda A: fa.sum(A, axis=0), A)
    assert "50 found" in told
    assert fa.explain(fa.lazy(A)) == "nothing to compute"


def test_another_fill_of_a_lazy_array():
    A, a = pair((4, 5), 15)
    found = (fa.lazy(A) * 2.0).with_fill_value(1.0)
    same(found, a * 2.0)
    assert found.fill_value == 1.0


def test_lazy_arrays_are_pickled_as_values():
    import pickle

    A, a = pair((4, 5), 15)
    same(pickle.loads(pickle.dumps(fa.lazy(A) + 1)), a + 1)
    assert fa.lazy(fa.lazy(A)).lazy_node is fa.lazy(A).lazy_node


# -- all alternatives -------------------------------------------------------------------------


@pytest.fixture(params=random_plans.PLANS)
def forced(request):
    """Plans that are not the cheapest (``random_plans.PLANS``)."""
    with random_plans.forcing(request.param):
        yield


@pytest.mark.usefixtures("forced")
@pytest.mark.parametrize("pattern", ["ij,jk,kl->il", "ij,jk,ki->", "ij,jk,kl,li->i", "ij,kj,k->i"])
def test_every_plan_gives_the_same(pattern):
    parts = pattern.split("->")[0].split(",")
    operands = [
        pair((7, 7), seed, 0.5) if len(part) == 2 else (np.arange(7.0), np.arange(7.0))
        for seed, part in enumerate(parts)
    ]
    found = fa.einsum(pattern, *[fa.lazy(x) for x, _ in operands])
    same(found, np.einsum(pattern, *[a for _, a in operands]), rtol=1e-9)


@pytest.mark.usefixtures("forced")
@pytest.mark.parametrize("seed", [3, 7])
def test_every_plan_of_a_random_graph_gives_the_same(seed):
    assert random_plans.graph(seed) == ""


def test_attributes_of_the_name_of_a_global_array_do_not_trace_a_function_again():
    (A, a), traced = pair((5, 6), 1), []
    names = {"T": A, "traced": traced}
    exec("def turned(A):\n    traced.append(1)\n    return A.T * 2.0", names)
    turned = fa.fused(names["turned"])
    for _ in range(3):
        same(turned(A), a.T * 2.0)
    assert traced == [1]


def test_numbers_in_a_function_do_not_trace_it_again():
    traced = []

    @fa.fused
    def kept(A, B):
        traced.append(1)
        return fa.where(A > B, A, 0.5) * 2.0

    (A, a), (B, b) = pair((5, 6), 1), pair((5, 6), 2)
    for _ in range(3):
        same(kept(A, B), np.where(a > b, a, 0.5) * 2.0)
    assert traced == [1]


def products_and_sums():
    """A function whose plan depends on how many places two arrays share."""

    @fa.fused
    def both(A, B):
        x = A * B
        return x, fa.sum(x @ A, axis=0)

    return both


def test_a_plan_that_has_turned_bad_is_left(monkeypatch):
    from finch_array.plan import programs

    monkeypatch.setattr(programs, "SOME", 50.0)
    a, alike, other = apart()
    A, B, C = (Tensor(CSR, x) for x in (a, alike, other))

    both = products_and_sums()

    def check(B, b):
        for found, wanted in zip(both(A, B), (a * b, (a * b @ a).sum(axis=0)), strict=True):
            same(found, wanted)

    for _ in range(2):
        check(C, other)
    (known,) = both._known.values()
    assert not known[0].bad
    check(B, alike)  # by the plan for few entries, which is left
    assert known[0].bad
    assert not both._known
    for _ in range(2):
        check(B, alike)
    (known,) = both._known.values()
    assert known[0].steps[0].entries == np.count_nonzero(a * alike)
    check(C, other)  # fewer entries than planned for do not cost more
    assert both._known


def test_memory_that_other_results_needed_is_no_sign_of_a_bad_plan(monkeypatch):
    from finch_array.plan import programs

    monkeypatch.setattr(programs, "SOME", 50.0)
    a, alike, other = apart()
    A, B, C = (Tensor(CSR, x) for x in (a, alike, other))

    both = products_and_sums()

    both(A, C)
    ((plan, *_),) = both._known.values()
    monkeypatch.setattr(programs, "entries", lambda array: 10**6)
    both(A, C)
    assert not plan.bad
    both(A, B)
    assert plan.bad


def test_rows_that_are_merged_again_and_again_are_looked_up():
    rng = np.random.default_rng(0)
    a = np.tril(rng.random((300, 300)) < 0.1, -1).astype(float)
    x = fa.lazy(Tensor(CSR, a))
    total = fa.sum((x @ x) * x)
    (kernel,) = kernels(total)
    assert kernel.marked
    same(total, ((a @ a) * a).sum())


def test_a_statement_reads_the_array_of_its_result_name():
    A, a = pair((6, 6), 3)
    found = fa.einsum("x[j] += A[i, j] * x[i]", A=fa.lazy(A), x=np.arange(6.0))
    same(found, a.T @ np.arange(6.0))


def test_a_kernel_reads_what_a_lazy_array_computes():
    @kernel
    def rows(y, A):
        for i in range(len(y)):
            for j in range(A.shape[1]):
                y[i] += A[i, j]

    A, a = pair((6, 4), 3)
    x = fa.lazy(A) * 2.0
    for factor in (1.0, 3.0):
        y = np.zeros(6)
        rows(y, x)
        np.testing.assert_allclose(y, 2.0 * factor * a.sum(axis=1))
        A *= 3.0
    with pytest.raises(FormatError, match="y is written, and lazy arrays are read only"):
        rows(fa.lazy(np.zeros(6)), A)


def test_tensors_are_made_of_lazy_arrays():
    """They had no array."""
    x = np.array([[0.0, 1], [2, 0]])
    made = Tensor(Dense(SparseList(Element(0.0))), fa.lazy(fa.asarray(x)) * 2)
    assert made.nstored == 2
    assert made.to_numpy().tolist() == (x * 2).tolist()
