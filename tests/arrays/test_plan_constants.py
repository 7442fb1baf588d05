"""Numbers of lazy arrays that change are passed to one kernel: results are those of kernels for
each number alone."""

from __future__ import annotations

import numpy as np
import pytest
from array_support import MATRICES, data, fa, tensor

from finch_array import run
from finch_array.fill_arguments import PassedNumbers
from finch_array.operands import stored
from finch_array.plan import fusing

VECTOR = np.array([1.0, -2, 0, 3, 0.5])

FUNCTIONS = {
    "(A - n) @ v": lambda of, x, y, n: (x - n) @ VECTOR,
    "sum of squares": lambda of, x, y, n: of.sum((x - n) * (x - n)),
    "sum of columns": lambda of, x, y, n: of.sum(of.maximum(x - n, y), axis=0),
    "A - n": lambda of, x, y, n: x - n,
    "n * A + B": lambda of, x, y, n: n * x + y,
    "A < n": lambda of, x, y, n: x < n,
    "where": lambda of, x, y, n: of.where(x > n, x, y),
    "where number": lambda of, x, y, n: of.where(x > y, x, n),
    "two": lambda of, x, y, n: of.max(x * n - (y + n), axis=1),
    "slice": lambda of, x, y, n: (x - n)[1:, ::2] * 2.5,
    "product": lambda of, x, y, n: (x - n) @ y.T,
}  # fmt: skip
NUMBERS = {np.float64: (2.5, -1.5, 0.0, np.inf, 3.5), np.int16: (3, 1, -4)}
SOME = ("(A - n) @ v", "A - n", "two")
CASES = [("rows", name) for name in FUNCTIONS]
CASES += [(kind, name) for kind in ("runs", "hashes", "dense") for name in SOME]


@pytest.fixture
def passed_calls(monkeypatch):
    """The constants of calls to which numbers are passed."""
    calls, finished = [], PassedNumbers.finished

    def counted(self, found):
        calls.append(self.constants)
        return finished(self, found)

    monkeypatch.setattr(PassedNumbers, "finished", counted)
    return calls


def forget():
    for table in (run._cases, run._quick, fusing._plans):
        table.clear()


def outcome(name, A, B, n):
    with np.errstate(all="ignore"):
        return fa.compute(FUNCTIONS[name](fa, fa.lazy(A), fa.lazy(B), n))


def alone(*case):
    """The result of a kernel for this number alone."""
    forget()
    return outcome(*case)


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_results_are_those_of_a_kernel_for_each_number(kind, name):
    for dtype, numbers in NUMBERS.items():
        A = tensor(data((4, 5), dtype, seed=3), MATRICES[kind])
        B = tensor(data((4, 5), dtype, seed=7), MATRICES["rows"])
        wanted = [alone(name, A, B, n) for n in numbers]
        forget()
        for n, expected in zip(numbers, wanted, strict=True):
            for found in (outcome(name, A, B, n), outcome(name, A, B, n)):
                assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
                np.testing.assert_array_equal(found.to_numpy(), expected.to_numpy())
                if found.ndim:
                    assert stored(found).axes == stored(expected).axes
                    assert stored(found).source.format == stored(expected).source.format
                with np.errstate(all="ignore"):
                    plain = FUNCTIONS[name](np, A.to_numpy(), B.to_numpy(), n)
                if np.isfinite(n):  # else a fill of 0 absorbs what is infinite
                    np.testing.assert_allclose(found.to_numpy(), plain, rtol=1e-12)


@pytest.mark.parametrize("name", ["(A - n) @ v", "sum of squares", "A - n", "two", "slice"])
def test_a_number_that_changes_needs_no_new_kernel(name, passed_calls):
    A, B = (tensor(data((4, 5), seed=k), MATRICES["rows"]) for k in (1, 2))
    forget()
    for n in (0.625, 0.75):
        outcome(name, A, B, n)
    count = len(run._plans)
    passed_calls.clear()
    for n in (0.5, 2.25, -1.25, 7.0):
        outcome(name, A, B, n)
    assert len(run._plans) == count
    assert len(passed_calls) >= 4


def test_powers_and_quotients_of_integers_have_kernels_of_their_own(passed_calls):
    """``x ** 2`` is a product, which ``x ** n`` is not."""
    A = tensor(data((4, 5)), MATRICES["rows"])
    for n in (2.0, 3.0, 4.0):
        found = fa.compute(fa.sum(fa.lazy(A) ** n, axis=0))
        np.testing.assert_allclose(found.to_numpy(), (A.to_numpy() ** n).sum(0))
    assert not passed_calls


def test_fills_of_lazy_arrays_are_passed(passed_calls):
    A = tensor(data((4, 5)), MATRICES["rows"])
    for m in (2.5, 3.5, 4.5):
        found = fa.compute((fa.lazy(A - m) * 2) @ VECTOR)
        np.testing.assert_allclose(found.to_numpy(), (A.to_numpy() - m) * 2 @ VECTOR)
    assert passed_calls


def test_values_without_arrays():
    for n in (2.5, 3.5, 4.5):
        found = fa.compute(fa.lazy(fa.asarray(n)) * 2.5 + n)
        assert found.to_numpy() == n * 2.5 + n


def test_fused_functions_have_the_fills_of_special_numbers():
    S = tensor(data((3, 4)), MATRICES["rows"])
    scaled = fa.fused(lambda S, k: S * k)
    for k in (2.0, np.inf, 0.0, np.nan, 3.0, np.float64(-np.inf)):
        with np.errstate(all="ignore"):
            found, wanted = scaled(S, k), S * k
        np.testing.assert_array_equal(found.fill_value, wanted.fill_value)
        np.testing.assert_array_equal(found.to_numpy(), wanted.to_numpy())
