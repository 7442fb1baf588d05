"""Reductions of what is not NaN, with all parameters that NumPy's functions have."""

from __future__ import annotations

import numpy as np
import pytest
from array_support import MATRICES, data, fa, same, tensor

SOME = np.random.default_rng(5).random((4, 6)) < 0.6
ALONG = ({}, {"axis": 0}, {"axis": 1, "keepdims": True}, {"axis": (0, 1)})
SUMS = ({"initial": 7}, {"where": SOME}, {"initial": 3, "where": SOME}, {"dtype": np.complex128})
EXTREMES = ({"initial": 2}, {"initial": 2, "where": SOME})
MEANS = ({"where": SOME}, {"dtype": np.float64, "where": SOME})
SPREADS = ({"correction": 1}, {"ddof": 2}, {"ddof": 4}, {"dtype": np.complex128}, *MEANS)
PARAMETERS = {
    np.nansum: SUMS, np.nanprod: SUMS, np.nanmax: EXTREMES, np.nanmin: EXTREMES,
    np.nanmean: MEANS, np.nanvar: SPREADS, np.nanstd: SPREADS, np.var: SPREADS, np.std: SPREADS,
}  # fmt: skip


def with_nan(dtype):
    a = data((4, 6), dtype, seed=2)
    if a.dtype.kind == "f":
        a[1], a[2, 3], a[0, 0] = np.nan, np.nan, np.nan
    return a


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8])
@pytest.mark.parametrize("function", PARAMETERS, ids=lambda f: f.__name__)
def test_parameters_are_those_of_numpy(function, dtype):
    a = with_nan(dtype)
    for kind in ("rows", "dense"):
        A = tensor(a, MATRICES[kind])
        for along in ALONG:
            for options in ({}, *PARAMETERS[function]):
                by_nan = function in (np.nanvar, np.nanstd)
                if by_nan and a.dtype.kind == "i" and options.get("ddof") == 4:
                    continue  # of which NumPy's var has infinities
                found, wanted = (function(x, **along, **options) for x in (A, a))
                same(found, wanted, 2e-5)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", MATRICES)
def test_arrays_without_nan_are_reduced_as_others_are(kind):
    a = data((4, 6), np.float64, seed=3)
    A = tensor(a, MATRICES[kind])
    for x, y in ((A, a), (A.T, a.T), (A + 1.5, a + 1.5)):
        for function in (f for f in PARAMETERS if "nan" in f.__name__):
            for along in ALONG:
                same(function(x, **along), function(y, **along), 1e-12)
    same(np.nanmean(A[:0], axis=0), np.nanmean(a[:0], axis=0))


PLACES = (
    lambda x: np.nansum(x, 0, None, None, True), lambda x: np.nanmax(x, 1, None, True),
    lambda x: np.nanvar(x, 1, None, None, 1, True), lambda x: np.nanmean(x, 1, None, None, True),
    lambda x: np.max(x, 1, None, True), lambda x: np.amin(x, 1, None, True, -1),
    lambda x: np.any(x, 0, None, True), lambda x: np.nanquantile(x, 0.5, 0, None, False),
)  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("call", PLACES)
def test_parameters_may_be_given_by_place(call):
    a = with_nan(np.float64)
    same(call(tensor(a, MATRICES["rows"])), call(a))


def test_what_they_refuse():
    A = tensor(with_nan(np.float64), MATRICES["rows"])
    mean = np.nanmean(A, axis=0, keepdims=True)
    for error, told, call in (
        (ValueError, "give one of them", lambda: np.nanvar(A, ddof=1, correction=1)),
        (TypeError, "np.nanvar of a tensor takes no mean=", lambda: np.nanvar(A, mean=mean)),
        (TypeError, "np.nanstd of a tensor takes no mean=", lambda: np.nanstd(A, mean=mean)),
        (TypeError, "a dtype of floats, not in int64", lambda: np.nanmean(A, dtype=np.int64)),
        (ValueError, "needs initial=", lambda: np.nanmax(A, where=A > 0)),
    ):
        with pytest.raises(error, match=told):
            call()


def test_masks_of_tensors_leave_sums_sparse():
    A = fa.random((10**6, 10**6), 1e-11, rng=0)
    found = np.nansum(A, axis=0, where=A > 0.5)
    assert found.nnz <= 10
    assert np.nanmean(A, where=A > 0.5) > 0.5
    assert np.isclose(np.nansum(found), np.sum(A, where=A > 0.5))


@pytest.mark.parametrize("fill", [0.0, np.nan])
@pytest.mark.parametrize("function", [np.nanargmax, np.nanargmin])
def test_what_is_all_nan_has_no_index(function, fill):
    a = np.array([[np.nan, np.nan, np.nan], [0, np.nan, 1]])
    for A in (tensor(a, MATRICES["rows"], fill), fa.asarray(a)):
        for axis in (0, 1):
            with pytest.raises(ValueError, match="All-NaN slice encountered"):
                function(A, axis=axis)
        assert int(function(A)) == function(a)
        assert int(function(A[1])) == function(a[1])
        with pytest.raises(ValueError, match="All-NaN slice encountered"):
            function(A[0])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("function", [np.nanvar, np.nanstd, np.var, np.std])
def test_variances_of_many_empty_rows_are_sparse(function):
    n = 10**12
    values = [1.0, np.nan, 3.0] if "nan" in function.__name__ else [1.0, 2.0, 3.0]
    A = fa.from_coo([[0, 0, n - 1], [1, 2, 0]], values, (n, 4))
    some = {} if "nan" in function.__name__ else {"where": [True, True, False, True]}
    found = function(A, axis=1, keepdims=True, **some)
    assert (found.shape, found.fill_value, found.nstored) == ((n, 1), 0.0, 2)
    rows = function(np.array([[0, 1, np.nan, 0], [3.0, 0, 0, 0]]), axis=1, **some)
    np.testing.assert_allclose([found[0, 0], found[n - 1, 0]], rows)


def test_means_of_what_counts_along_many_empty_rows_are_sparse():
    A = fa.from_coo([[0, 0, 7], [1, 2, 0]], [1.0, 2.0, 3.0], (10**12, 4))
    found = np.mean(A, axis=1, where=[True, True, False, True])
    assert (found.fill_value, found.nstored) == (0.0, 2)
    assert [found[0], found[7]] == [1 / 3, 1.0]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_elements_that_do_not_count_may_be_nan():
    a = with_nan(np.float64)
    for kind in ("rows", "dense"):
        A = tensor(a, MATRICES[kind])
        for there in (~np.isnan(a), np.isnan(a) | SOME, SOME[0], False):
            for axis in (0, 1, None):
                with np.errstate(all="ignore"):
                    wanted = np.var(a, axis, where=there)
                same(np.var(A, axis, where=there), wanted, 1e-12)
