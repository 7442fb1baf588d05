"""NumPy's functions that take arrays apart or find their middle, and texts of single elements."""

from __future__ import annotations

import numpy as np
import pytest
from array_support import MATRICES, data, fa, same, tensor

CALLS = {
    "ptp": (
        lambda x: np.ptp(x), lambda x: np.ptp(x, axis=0), lambda x: np.ptp(x, 1, keepdims=True),
    ),
    "median": (
        lambda x: np.median(x), lambda x: np.median(x, axis=0),
        lambda x: np.median(x, axis=1, keepdims=True), lambda x: np.median(x, keepdims=True),
    ),
    "delete": (
        lambda x: np.delete(x, 1, 0), lambda x: np.delete(x, [0, -1], axis=1),
        lambda x: np.delete(x, slice(1, 3), axis=1), lambda x: np.delete(x, 3),
    ),
}  # fmt: skip
SPLITS = (
    lambda x: np.split(x, 2), lambda x: np.split(x, [1, 3], axis=1),
    lambda x: np.array_split(x, 4, axis=1), lambda x: np.vsplit(x, 2), lambda x: np.hsplit(x, 3),
)  # fmt: skip


@pytest.mark.parametrize("kind", ["rows", "hashes", "dense"])
@pytest.mark.parametrize("name", CALLS)
def test_functions_are_those_of_numpy(kind, name):
    a = data((4, 6), seed=1) * np.where(np.arange(6) % 2, -1, 1)
    for call in CALLS[name]:
        same(call(tensor(a, MATRICES[kind])), call(a))


def test_the_median_of_what_has_nan_is_nan():
    a = data((3, 5), seed=2)
    a[1, 2] = np.nan
    for axis in (None, 0, 1):
        same(np.median(tensor(a, MATRICES["rows"]), axis=axis), np.median(a, axis=axis))


@pytest.mark.parametrize("kind", ["rows", "dense"])
@pytest.mark.parametrize("call", SPLITS)
def test_splits_are_those_of_numpy(kind, call):
    a = data((4, 6), seed=3)
    parts = call(tensor(a, MATRICES[kind]))
    for found, wanted in zip(parts, call(a), strict=True):
        same(found, wanted)


def test_splits_that_numpy_refuses_are_refused():
    A = tensor(data((4, 6)), MATRICES["rows"])
    with pytest.raises(ValueError, match="no multiple of 3"):
        np.split(A, 3)
    with pytest.raises(ValueError, match="one part or more"):
        np.array_split(A, 0)


def test_one_element_has_a_format():
    A = tensor(data((3, 4), seed=1), MATRICES["rows"])
    total = data((3, 4), seed=1).sum()
    assert f"{A.sum():.2f}" == f"{total:.2f}"
    assert np.array_equal(A.sum(0), A.sum(axis=0))  # the axis by place, as of NumPy's arrays
    assert f"{fa.sum(A)}" == str(fa.sum(A))
    with pytest.raises(TypeError, match="2 dimensions"):
        f"{A:.2f}"
