"""Fills that change are passed to one kernel: results are those of kernels for each fill alone."""

from __future__ import annotations

import numpy as np
import pytest
from array_support import MATRICES, data, fa, tensor

from finch_array import run
from finch_array.fill_arguments import PassedNumbers
from finch_array.operands import stored
from finch_core import Tensor
from finch_core.runtime.specialization import Specialization
from finch_levels import (
    Dense,
    Element,
    RunList,
    SparseBlockList,
    SparseByteMap,
    SparseHash,
    SparseList,
)
from finch_wrappers import stride

OTHER = data((4, 5), seed=7)
DENSE = np.random.default_rng(2).random((5, 3))
VECTOR = np.array([1.0, -2, 0, 3, 0.5])

FUNCTIONS = {
    "A @ v": lambda of, x, _: x @ VECTOR,
    "A.T @ v": lambda of, x, _: x.T @ VECTOR[:4],
    "A @ D": lambda of, x, _: x @ DENSE,
    "A @ B.T": lambda of, x, other: x @ other.T,
    "A @ A.T": lambda of, x, _: x @ x.T,
    "A * B": lambda of, x, other: x * other,
    "A - B": lambda of, x, other: x - other,
    "A - v": lambda of, x, _: x - VECTOR,
    "A * A": lambda of, x, _: x * x,
    "where": lambda of, x, other: of.where(other > 2, x, other),
    "minimum": lambda of, x, other: of.minimum(x, other),
    "tril": lambda of, x, _: of.tril(x),
    "sum": lambda of, x, _: of.sum(x),
    "sum of columns": lambda of, x, _: of.sum(x, axis=0),
    "max of rows": lambda of, x, _: of.max(x, axis=1),
    "prod of columns": lambda of, x, _: of.prod(x, axis=0),
    "count": lambda of, x, _: of.count_nonzero(x, axis=1),
    "any": lambda of, x, _: of.any(x, axis=0),
    "cumulative": lambda of, x, _: of.cumsum(x, axis=0),
    "row": lambda of, x, other: x[:1] + other,
}  # fmt: skip

FILLS = {np.float64: (2.5, -1.5, np.inf, 3.0), np.int16: (3, 1, -2)}

OTHER_FORMATS = ("A @ D", "A * B", "A - B", "A * A", "max of rows", "tril")


@pytest.fixture
def passed_calls(monkeypatch):
    """The fills of the results of calls to which fills are passed."""
    calls, finished = [], PassedNumbers.finished

    def counted(self, found):
        calls.append(self.fill)
        return finished(self, found)

    monkeypatch.setattr(PassedNumbers, "finished", counted)
    return calls


def levels(array):
    found = stored(array)
    return found.axes, found.source.format.levels()[:-1], found.source.dtype


def outcome(name, A, B):
    with np.errstate(all="ignore"):
        return FUNCTIONS[name](fa if name != "cumulative" else np, A, B)


def alone(name, A, B):
    """The result of kernels for these fills alone."""
    run._cases.clear()
    run._quick.clear()
    return outcome(name, A, B)


CASES = [
    (name, kind)
    for name in FUNCTIONS
    for kind in MATRICES
    if kind == "rows" or name in OTHER_FORMATS
]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_results_are_those_of_a_kernel_for_each_fill(name, kind):
    for dtype, fills in FILLS.items():
        arrays = [tensor(data((4, 5), dtype, f, seed=3), MATRICES[kind], f) for f in fills]
        B = tensor(OTHER.astype(dtype), MATRICES["rows"])
        wanted = [alone(name, A, B) for A in arrays]
        run._cases.clear()
        run._quick.clear()
        for A, expected in zip(arrays, wanted, strict=True):
            for found in (outcome(name, A, B), outcome(name, A, B)):
                assert levels(found) == levels(expected)
                assert found.fill_value.tobytes() == expected.fill_value.tobytes() or (
                    found.fill_value == expected.fill_value
                    or np.isnan([found.fill_value, expected.fill_value]).all()
                )
                assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
                with np.errstate(all="ignore"):
                    plain = FUNCTIONS[name](np, A.to_numpy(), B.to_numpy())
                np.testing.assert_allclose(found.to_numpy(), expected.to_numpy(), rtol=1e-12)
                if np.isfinite(float(A.fill_value)):  # else a fill of 0 absorbs what is infinite
                    np.testing.assert_allclose(found.to_numpy(), plain, rtol=1e-12)


@pytest.mark.parametrize("name", ["A @ v", "A @ D", "A - B", "count", "tril"])
def test_a_fill_that_changes_needs_no_new_kernel(name, passed_calls):
    S, B = (tensor(data((4, 5), seed=k), MATRICES["rows"]) for k in (1, 2))
    run._cases.clear()
    run._quick.clear()
    for m in (0.625, 0.75):
        outcome(name, S - m, B)
    count = len(run._plans)
    passed_calls.clear()
    for m in (0.5, 2.25, -1.25, 7.0):
        found = outcome(name, S - m, B)
        with np.errstate(all="ignore"):
            wanted = FUNCTIONS[name](np, S.to_numpy() - m, B.to_numpy())
        np.testing.assert_allclose(found.to_numpy(), wanted)
    assert len(run._plans) == count
    assert len(passed_calls) >= 4


def test_a_fill_that_a_kernel_skips_has_a_kernel_of_its_own(passed_calls):
    """Least sums over paths visit what is stored, though another fill was visited before."""
    a = data((6, 6), fill=np.inf, seed=5)
    B = tensor(a, MATRICES["rows"], np.inf)
    for fill in (5.0, 6.0, 7.0, np.inf):
        A = tensor(data((6, 6), fill=fill, seed=4), MATRICES["rows"], fill)
        passed_calls.clear()
        found = fa.einsum("C[i,j] min= A[i,k] + B[k,j]", A=A, B=B)
        wanted = (A.to_numpy()[:, :, None] + a).min(axis=1)
        np.testing.assert_array_equal(found.to_numpy(), wanted)
        assert bool(passed_calls) == (fill in (6.0, 7.0))


def test_both_operands_may_have_fills():
    for one, other in ((1.5, 2.0), (2.5, 3.0), (3.5, 0.0), (0.0, 4.0), (5.0, 6.0)):
        a, b = data((4, 5), fill=one, seed=1), data((4, 5), fill=other, seed=2)
        A, B = tensor(a, MATRICES["rows"], one), tensor(b, MATRICES["lists"], other)
        np.testing.assert_allclose((A * B - A).to_numpy(), a * b - a)
        np.testing.assert_allclose((A @ B.T).to_numpy(), a @ b.T)
        assert (A * B).fill_value == one * other


def row(levels, values, fill):
    return tensor(np.full((1, 3), values, float), levels, fill)


CASES_OF_DIMENSIONS_OF_SIZE_1 = {
    "stretched": (
        lambda of, x: of.hypot(x, np.zeros((2, 3))) if of is np else of.hypot(x, ZEROS),
        ("SparseList", "SparseByteMap"),
    ),
    "both": (lambda of, x: x[:, :1] + x, ("SparseByteMap", "SparseRunList")),
    "kron": (lambda of, x: of.kron(x, x), ("Dense", "SparseRunList")),
    "runs below lists": (lambda of, x: of.sum(x, axis=0), ("SparseList", "RunList")),
    "runs transposed": (lambda of, x: x.T @ np.ones(1), ("SparseList", "RunList")),
    "blocks": (lambda of, x: of.sum(x * 2, axis=0), ("SparseList", "SparseBlockList")),
    "dropped": (lambda of, x: of.reshape(x, (3,)), ("SparseList", "RunList")),
}  # fmt: skip
ZEROS = fa.asarray(np.zeros((2, 3)), format=Dense(SparseList(Element(0.0))))


@pytest.mark.parametrize("value", ["fill", 0.0, 7.0])
@pytest.mark.parametrize("name", CASES_OF_DIMENSIONS_OF_SIZE_1)
def test_dimensions_of_size_1_that_store_nothing(name, value):
    """Where nothing is stored, the result is the function of the fills, not the kernel's 0."""
    function, levels_ = CASES_OF_DIMENSIONS_OF_SIZE_1[name]
    for fill in (2.5, 3.5, 4.5):
        X = row(levels_, fill if value == "fill" else value, fill)
        found, wanted = function(fa, X), function(np, X.to_numpy())
        np.testing.assert_allclose(np.asarray(found), wanted)


OTHERS = {
    "coordinates": ("SparseCOO", "SparseCOO"),
    "lists of runs": ("SparseList", "SparseRunList"),
    "byte maps": ("SparseByteMap", "SparseByteMap"),
}
STORED = [*MATRICES, *OTHERS]


@pytest.mark.parametrize("kind", STORED)
def test_zeros_that_are_stored_are_no_fills(kind):
    """Operands that are copied in another order keep the zeros that they store."""
    for fill in (5.0, 6.0, 7.0):
        a = np.array([[fill], [0], [fill]]) * np.ones((3, 4))
        a[0, 2] = 0
        A = tensor(a, MATRICES[kind] if kind in MATRICES else OTHERS[kind], fill)
        np.testing.assert_allclose(fa.sum(A, axis=0).to_numpy(), a.sum(0))
        np.testing.assert_allclose((A.T @ np.arange(3.0)).to_numpy(), a.T @ np.arange(3))
        np.testing.assert_allclose((A + A[:1]).to_numpy(), a + a[:1])


@pytest.mark.parametrize("kind", ["coordinates", "hashes", "byte maps"])
@pytest.mark.parametrize("name", ["sum of columns", "row of a view", "largest"])
def test_other_formats_need_no_new_kernel(kind, name, monkeypatch):
    functions = {
        "sum of columns": lambda of, x: of.sum(x, axis=0),
        "row of a view": lambda of, x: x[[2, 0]],
        "largest": lambda of, x: of.argmax(x, axis=1),
    }
    made, checked, finish = [], [], Specialization.__init__

    def counted(self, *args):
        made.append(self)
        finish(self, *args)

    levels_ = MATRICES[kind] if kind in MATRICES else OTHERS[kind]
    a = data((4, 5), seed=1)
    S = tensor(a, levels_)
    for m in (0.625, 0.75, 1.5):
        functions[name](fa, S - m)
    monkeypatch.setattr(Specialization, "__init__", counted)
    for m in (0.5, 2.25, -1.25, 7.0):
        found, wanted = functions[name](fa, S - m), functions[name](np, a - m)
        checked.append((found, wanted))
    assert not made
    for found, wanted in checked:
        np.testing.assert_allclose(found.to_numpy(), wanted)


def test_views_that_are_copied():
    for fill in (3.0, 5.0, 6.0, 7.0):
        a = data((4, 6), fill=fill, seed=3)
        a[1, 2] = 0
        for kind in ("rows", "hashes", "runs", "byte maps"):
            A = tensor(a, MATRICES[kind] if kind in MATRICES else OTHERS[kind], fill)
            V, v = stride(A, slice(None, None, -2), slice(None, None, 2)), a[::-2, ::2]
            np.testing.assert_allclose(fa.sum(V, axis=0).to_numpy(), v.sum(0))
            np.testing.assert_allclose(fa.einsum("ij,i->j", V, [1.0, 2]).to_numpy(), [1, 2] @ v)


@pytest.mark.parametrize("inner", [Dense, RunList, SparseList])
@pytest.mark.parametrize("outer", [Dense, SparseList, SparseByteMap, SparseHash, SparseBlockList])
def test_rows_without_elements_of_parts_at_one_index(outer, inner, monkeypatch):
    """Whatever the level is that is read at this index: nothing is stored in the rows around it."""
    monkeypatch.setenv("FINCH_BACKEND", "interpreter")
    a = np.zeros((3, 3, 2))
    a[0, 1], a[2, :2, 1] = (3, 1), (4, 2)
    for index in ((slice(None), 1), (slice(None), slice(None), 1), (slice(None), 1, 1)):
        for fill in (5.0, 2.0, 7.0):
            x = np.where(a == 0, fill, a)
            A = Tensor(outer(inner(Dense(Element(fill)))), x)
            assert np.array_equal(np.asarray(A[index]), x[index])
