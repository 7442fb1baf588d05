"""NumPy's covariances, histograms, integrals, functions of numbers, and stacks of a dtype."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from array_support import MATRICES, data, fa, same, tensor

from finch_array import ready
from finch_core.errors import DimensionMismatch, PerformanceWarning

COUNTS, SHARES = np.array([1, 3, 2, 1, 1, 2, 1]), np.linspace(0.1, 0.9, 7)
CALLS = {
    "covariances": (
        lambda x: np.cov(x), lambda x: np.cov(x, rowvar=False), lambda x: np.cov(x, bias=True),
        lambda x: np.cov(x, fweights=COUNTS), lambda x: np.cov(x, aweights=SHARES, ddof=0),
        lambda x: np.cov(x, fweights=COUNTS, aweights=SHARES), lambda x: np.cov(x, x[::-1]),
        lambda x: np.cov(x[0]), lambda x: np.cov(x[0], x[2]), lambda x: np.cov(x[:, :0]),
        lambda x: np.cov(x, x, rowvar=False), lambda x: np.cov(x, dtype=np.complex128),
    ),
    "correlations": (
        lambda x: np.corrcoef(x), lambda x: np.corrcoef(x, rowvar=False),
        lambda x: np.corrcoef(x[3]), lambda x: np.corrcoef(x[0], x[3]),
    ),
    "integrals": (
        lambda x: np.trapezoid(x), lambda x: np.trapezoid(x, axis=0, dx=0.5),
        lambda x: np.trapezoid(x, COUNTS), lambda x: np.trapezoid(x, x * x, axis=0),
    ),
    "angles": (lambda x: np.angle(x), lambda x: np.angle(x - 3, deg=True)),
    "functions": (
        lambda x: np.interp(x, [0, 1, 4], [2.0, 5, 7]), lambda x: np.polyval([1, 0, 2], x),
        lambda x: np.interp(x, SHARES, COUNTS, left=-1, right=9), lambda x: np.polyval([0.5, 2], x),
    ),
    "stacks": (
        lambda x: np.stack([x, x], axis=1, dtype=np.complex128),
        lambda x: np.stack([x[0], x[1]], -1, dtype=np.int16, casting="unsafe"),
    ),
}  # fmt: skip


def compare(call, A, a):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no deviation, no data
        same(call(A), call(a), rtol=1e-5 if a.dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("levels", ["rows", "runs", "hashes", "dense"])
@pytest.mark.parametrize("calls", CALLS.values(), ids=CALLS)
def test_as_of_numpy(calls, levels):
    for seed, (dtype, fill) in enumerate([(np.float64, 0), (np.int8, 2), (np.float32, 0)]):
        a = data((4, 7), dtype, fill, seed)
        a[1], a[3] = fill, np.arange(5, 12)
        for call in calls:
            compare(call, tensor(a, MATRICES[levels], fill), a)


@pytest.mark.parametrize("levels", ["rows", "dense"])
def test_complex_numbers(levels):
    a = data((3, 7), np.complex128, 0, 2) * (1 + 2j)
    a[1] = np.arange(7) * 1j - 2
    A = tensor(a, MATRICES[levels])
    for call in (np.cov, np.corrcoef, np.angle, np.trapezoid):
        same(call(A), call(a))


def test_means_that_are_large_beside_deviations():
    rng = np.random.default_rng(4)
    a = data((3, 50), np.float64, 0, 1)
    a[0] = 1e9 + rng.random(50)
    same(np.cov(tensor(a, MATRICES["rows"])), np.cov(a), rtol=1e-9)
    same(np.cov(tensor(a + 1e9, MATRICES["rows"], 1e9)), np.cov(a + 1e9), rtol=1e-9)


def test_what_is_not_finite():
    a = data((4, 7), seed=3)
    a[3] = np.arange(7)
    for row, value in ((0, np.nan), (3, np.inf), (1, -np.inf)):
        a[row, 2] = value
        with np.errstate(all="ignore"):
            wanted = np.cov(a)
        same(np.cov(tensor(a, MATRICES["rows"])), wanted)


@pytest.mark.parametrize("levels", ["rows", "runs", "hashes", "dense"])
def test_histograms(levels):
    for seed, (dtype, fill) in enumerate([(np.float64, 0), (np.int8, 2), (bool, False)]):
        a, w = data((4, 7), dtype, fill, seed), data((4, 7), seed=9)
        A, W = tensor(a, MATRICES[levels], fill), tensor(w, MATRICES[levels])
        for options in ({}, {"bins": [0, 1, 2, 9]}, {"range": (1, 3)}, {"density": True}):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # bools become bytes
                for given, wanted in ((W, w), (w, w), (w.astype(np.int8), w.astype(np.int8))):
                    found = np.histogram(A, weights=given, **options)
                    for part, own in zip(
                        found, np.histogram(a, weights=wanted, **options), strict=True
                    ):
                        same(part, own)
    for options in ({}, {"bins": 4, "range": [[0, 2], [0, 3]]}, {"density": True}):
        for weights, own in ((None, None), (W[2], w[2])):
            found = np.histogram2d(A[0] * 1.0, A[1], weights=weights, **options)
            wanted = np.histogram2d(a[0] * 1.0, a[1], weights=own, **options)
            for part, theirs in zip(found, wanted, strict=True):
                same(part, theirs)


def test_what_is_stored_alone_takes_time():
    n = 10**13
    x, y = (fa.from_coo(([5, k],), [1.0, 3.0], (n,)) for k in (7, 9))
    assert np.histogram2d(x, y, bins=3)[0].tolist() == [[n - 3, 0, 1], [0, 1, 0], [1, 0, 0]]
    assert np.histogram(x, weights=y, bins=3)[0].tolist() == [3, 1, 0]
    assert float(np.trapezoid(x)) == 4
    np.testing.assert_allclose(np.cov(x, y), np.array([[10.0, 1], [1, 10]]) / n, rtol=1e-9)


def test_what_is_refused():
    A = tensor(data((3, 4)), MATRICES["rows"])
    with pytest.raises(ValueError, match="covariances are of vectors and matrices, not of shape"):
        np.cov(fa.expand_dims(A, axis=0))
    with pytest.raises(DimensionMismatch, match="histogram2d is of vectors of one length"):
        np.histogram2d(A, A)
    with pytest.raises(DimensionMismatch, match=r"weights of shape \(4,\) for \(3, 4\)"):
        np.histogram(A, weights=np.ones(4))
    with pytest.raises(RuntimeError, match="fweights"):
        np.cov(A, fweights=np.ones(3, int))
    with pytest.raises(ValueError, match="ddof must be integer"):
        np.cov(A, ddof=0.5)
    with pytest.raises(TypeError, match="casting='unsafe' does"):
        np.stack([A, A], dtype=np.int8)
    with pytest.warns(RuntimeWarning, match="Degrees of freedom"):
        np.cov(A[:, :1])


def test_large_covariances_are_told(monkeypatch):
    monkeypatch.setattr(ready, "LARGE", 1000)
    x = np.zeros((40, 9))
    x[3, 2] = 1.0
    with pytest.warns(PerformanceWarning, match=r"the result of cov is dense: \(40, 40\)"):
        found = np.cov(tensor(x, MATRICES["rows"]))
    np.testing.assert_allclose(found.to_numpy(), np.cov(x))
