"""Quantiles and medians are NumPy's, in formats, fills, dtypes and axes of all kinds; what is not
stored is not looked at."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import finch_array as fa
from finch_array import quantiles
from finch_core import Tensor
from finch_levels import Dense, Element, RunList, SparseByteMap, SparseHash, SparseList

FORMATS: list[Callable[[int, Any], Any]] = [
    lambda k, leaf: SparseList(leaf),
    lambda k, leaf: SparseByteMap(leaf),
    lambda k, leaf: SparseList(leaf) if k == 0 else Dense(leaf),
    lambda k, leaf: RunList(leaf) if k == 0 else Dense(leaf),
    lambda k, leaf: SparseHash(leaf) if k == 0 else SparseList(leaf),
]
DTYPES = ("float64", "float32", "int64", "int8", "bool", "uint8")


@pytest.fixture(autouse=True)
def of_small_arrays_too(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Small arrays are read by their fibers, as large ones are, but in every other test of several
    seeds: there they are made dense."""
    seed = getattr(request.node, "callspec", None)
    if seed is None or seed.params.get("seed", 1) % 2:
        monkeypatch.setattr(quantiles, "SPARE", -1)


def drawn(rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    """A tensor of a random shape, dtype, fill and format, and its values."""
    shape = tuple(rng.integers(0, 6, rng.integers(1, 4)).tolist())
    dtype = np.dtype(rng.choice(DTYPES))
    fill = dtype.type(rng.integers(0, 2))
    values = rng.integers(0 if dtype.kind in "ub" else -4, 5, shape).astype(dtype)
    if dtype.kind == "f" and rng.random() < 0.5:
        special = dtype.type(rng.choice([np.nan, np.inf, -np.inf]))
        values[rng.random(shape) < 0.3] = special
        fill = special if rng.random() < 0.3 else fill
    values[rng.random(shape) < rng.choice([0.2, 0.7, 1.0])] = fill
    leaf: Any = Element(fill)
    made = FORMATS[rng.integers(len(FORMATS))]
    for k in range(len(shape)):
        leaf = made(k, leaf)
    order = rng.permutation(len(shape)).tolist()
    return fa.permute_dims(Tensor(leaf, values), tuple(order)), values.transpose(order)


def arguments(rng: np.random.Generator, ndim: int) -> tuple[Any, dict[str, Any]]:
    """Parts, an axis and whether it is kept."""
    axes = tuple(rng.permutation(ndim)[: rng.integers(1, ndim + 1)].tolist())
    axis = (None, int(rng.integers(-ndim, ndim)), axes)[rng.integers(3)]
    q = (0.25, 1, rng.random(3), [0.0, 0.5, 1.0], np.float64(0.4))[rng.integers(5)]
    return q, {"axis": axis, "keepdims": bool(rng.random() < 0.5)}


@pytest.mark.parametrize("seed", range(5))
def test_as_numpy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(40):
        array, plain = drawn(rng)
        q, options = arguments(rng, plain.ndim)
        for name in ("median", "nanmedian", "quantile", "nanquantile", "percentile"):
            function, given = getattr(np, name), () if "median" in name else (q,)
            if (given and plain.dtype == bool) or not plain.size:
                continue  # NumPy refuses them
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of slices that have no number
                expected = np.asarray(function(plain, *given, **options))
                found = function(array, *given, **options)
            assert found.shape == expected.shape
            assert found.dtype == expected.dtype or np.isnan(expected).all()
            np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("method", quantiles._PLACES)
def test_methods_are_those_of_numpy(method: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(12):
        array, plain = drawn(rng)
        q, options = arguments(rng, plain.ndim)
        parts = rng.integers(0, 9, 3) / 8 if rng.random() < 0.5 else q  # often at an element
        if plain.dtype == bool or not plain.size:
            continue
        for name in ("quantile", "nanquantile"):
            function = getattr(np, name)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of slices that have no number
                expected = np.asarray(function(plain, parts, method=method, **options))
                found = function(array, parts, method=method, **options)
            assert found.shape == expected.shape
            assert found.dtype == expected.dtype or np.isnan(expected).all()
            np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-6)


def test_bools_have_quantiles_in_small_arrays_as_in_large() -> None:
    plain = np.random.default_rng(2).random((6, 20)) < 0.4
    array = fa.asarray(plain, format=Dense(SparseList(Element(False))))
    for size in (-1, 64, 1000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(quantiles, "SPARE", size)
            found = np.quantile(array, 0.95, axis=1)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found.to_numpy(), np.quantile(plain * 1, 0.95, axis=1))


def test_what_is_not_stored_is_not_looked_at() -> None:
    """Nothing of the size of the shape is made: the result is sparse, too."""
    n = 10**12
    rows, values = np.array([5, 5, 5, 10**11]), np.array([3.0, 1.0, 2.0, 7.0])
    A = fa.from_coo((rows, np.array([0, 1, 2, 1])), values, (n, 3))
    for found in (np.median(A, axis=1), np.quantile(A, [0.5, 1.0], axis=1)[0]):
        assert found.shape == (n,)
        assert found[5] == 2.0
        assert found[10**11] == found[0] == found[n - 1] == 0.0
    assert np.quantile(A, [0.5, 1.0], axis=1)[1, 10**11] == 7.0
    assert np.quantile(A, 1.0) == 7.0
    assert np.median(A, axis=0).to_numpy().tolist() == [0.0, 0.0, 0.0]


def test_no_kernel_is_needed_for_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    from finch_core.runtime.kernel import Kernel

    A = fa.from_coo((np.array([0, 1]), np.array([1, 2])), np.array([3.0, 4.0]), (3, 4))
    monkeypatch.setattr(Kernel, "_specialization", None)
    assert np.quantile(A, 0.9, axis=1).shape == (3,)
    assert fa.median(A, axis=0).shape == (4,)


def test_all_elements_are_not_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor given coordinates: those at the places are found among the stored values."""
    plain = np.random.default_rng(4).integers(-9, 9, (40, 30)) * 0.5
    array = fa.asarray(plain, format=Dense(SparseList(Element(0.0))))
    monkeypatch.setattr(quantiles, "sorted_fibers", None)
    monkeypatch.setattr("finch_core.runtime.lists.coordinates_of_lists", None)
    for x, y in ((array, plain), (array.T, plain.T)):
        assert fa.median(x) == np.median(y)
        np.testing.assert_array_equal(np.percentile(x, [1, 40, 99]), np.percentile(y, [1, 40, 99]))


def test_the_least_and_the_greatest_element_may_be_infinite() -> None:
    """Parts that are integers say no place between two elements."""
    plain = np.zeros((9, 9))
    plain[2, 3], plain[4, 4] = np.inf, -np.inf
    array = fa.asarray(plain, format=Dense(SparseList(Element(0.0))))
    for q in (0, 1, [0, 1]):
        for axis in (None, 0):
            found = np.quantile(array, q, axis=axis)
            np.testing.assert_array_equal(found, np.quantile(plain, q, axis=axis))


def test_what_has_no_quantiles() -> None:
    dates = fa.asarray(np.array(["2020-01-01", "2021-01-01"], "datetime64[D]"))
    with pytest.raises(TypeError, match="quantiles are those of numbers, not of datetime64"):
        fa.median(dates)
    with pytest.raises(ValueError, match="quantiles are from 0 to 1"):
        np.quantile(fa.asarray(np.eye(3)), 2)
