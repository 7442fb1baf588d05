"""Variances and standard deviations: those of NumPy, by one kernel where the result is dense."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from array_support import MATRICES, data, fa, tensor

import finch_array.reductions
from finch_array.spreads import _calls, spread
from finch_core.interface.plugins import hub
from finch_core.runtime.drafts import DRAFT_CALLS

AXES = (None, 0, 1, (0, 1), ())
DTYPES = ("f8", "f4", "f2", "i1", "u8", "?", "c16")
ONE_KERNEL = {"rows", "dense"}
"""Matrices of which all results are dense."""


@pytest.fixture
def by_one(monkeypatch):
    """Whether each variance was made by one kernel."""
    found = []

    def noted(*args):
        result = spread(*args)
        found.append(result is not None)
        return result

    monkeypatch.setattr(finch_array.reductions, "spread", noted)
    return found


@pytest.mark.sampled(0.29)
@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("axis", AXES, ids=str)
def test_spreads_are_those_of_numpy(name, axis, by_one):
    for dtype in DTYPES:
        for fill in (0, 1):
            values = data((6, 7), dtype, fill, seed=3)
            array = tensor(values, MATRICES[name], fill)
            for correction in (0.0, 1.0, 42.0):
                compared(array, values, axis, correction)
            whole = dtype != "c16" and (fill == 0 or name == "dense") and axis != ()
            if name in ONE_KERNEL or not whole:
                assert all(by_one) == any(by_one) == whole
            by_one.clear()


def compared(array, values, axis, correction=0.0):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's, of too few elements
        wanted = [f(values, axis=axis, correction=correction) for f in (np.var, np.std)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = [f(array, axis=axis, correction=correction) for f in (fa.var, fa.std)]
    for mine, own in zip(found, map(np.asarray, wanted), strict=True):
        assert mine.dtype == own.dtype
        assert mine.shape == own.shape
        rough = {"float16": 2e-3, "float32": 1e-5}.get(own.dtype.name, 1e-12)
        np.testing.assert_allclose(mine.to_numpy(), own, rtol=rough, atol=rough)


@pytest.mark.parametrize("name", sorted(ONE_KERNEL))
@pytest.mark.parametrize("axis", [0, 1])
def test_values_far_from_zero_and_infinite_ones(name, axis, by_one):
    values = data((5, 6), seed=1)
    values[0] += 1e9  # whose squares are not told apart
    values[1, 1], values[2, 3] = np.inf, np.nan
    values[3] = 0
    for _ in range(2):
        compared(tensor(values, MATRICES[name]), values, axis)
    assert all(by_one)


def test_the_compiled_kernel_gives_the_same(by_one):
    values = data((50, 60), seed=2) / 3
    for axis in (None, 0, 1):
        array = tensor(values, MATRICES["rows"])
        first = fa.std(array, axis=axis).to_numpy()
        for _ in range(DRAFT_CALLS + 5):
            last = fa.std(array, axis=axis)
        np.testing.assert_allclose(last.to_numpy(), first, rtol=1e-14)
        compared(array, values, axis)
    assert all(by_one)


def test_permuted_arrays_and_large_ones(by_one):
    values = data((6, 7), seed=3)
    array = tensor(values, MATRICES["rows"])
    for axis in (0, 1):
        compared(array.T, values.T, axis)
    assert by_one == [True] * 4
    large = np.ones((1100, 1100))
    compared(fa.asarray(large), large, 0)
    assert by_one[4:] == [False] * 2  # which runs on several cores


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)], ids=str)
def test_the_kernel_walks_what_is_stored(axes):
    array, kind = tensor(np.eye(4), MATRICES["rows"]), np.dtype(float)
    assert spread(array, axes, 4, 4.0, kind, None) is not None
    ready = _calls[array.signature, array.shape, axes, 4.0, None, hub().generation]
    text = ready.kernel.lower(ready.blank(), array, *ready.extended).as_text("assembly")
    assert "+= 0.0" not in text
