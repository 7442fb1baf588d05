"""NumPy's gradients, convolutions, windows, cross products and differences of neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from array_support import MATRICES, data, fa, same, tensor
from numpy.lib.stride_tricks import sliding_window_view

from finch_array import numpy_neighbours
from finch_core.errors import DimensionMismatch, PerformanceWarning
from finch_levels import Element, SparseList

VECTORS = ["SparseList", "RunList", "SparseHash", "Dense"]
POINTS = np.array([0, 1, 4, 5, 9, 11, 12])
KINDS = [(np.float64, 0), (np.int8, 2), (np.float32, 0), (np.complex128, 0)]
GRADIENTS = (
    lambda x: np.gradient(x, axis=1), lambda x: np.gradient(x, 0.5, axis=0, edge_order=2),
    lambda x: np.gradient(x, POINTS, axis=-1), lambda x: np.gradient(x[2]),
    lambda x: np.gradient(x, POINTS / 4, axis=1, edge_order=2), lambda x: np.gradient(x[:, :2])[1],
    lambda x: np.gradient(x, 2, POINTS)[1], lambda x: np.gradient(x, axis=(1, 0))[0],
)  # fmt: skip
SUMS = (
    lambda x: np.convolve(x, [1, 2, 1]), lambda x: np.convolve([1, 0, 0.5, 3], x, "same"),
    lambda x: np.convolve(x, x, mode="valid"), lambda x: np.convolve(x[:3], x, "same"),
    lambda x: np.correlate(x, [1, 2j]), lambda x: np.correlate(x[:2], x, "same"),
    lambda x: np.correlate(x[:4], x), lambda x: np.correlate(x, x[1:4], "full"),
    lambda x: np.convolve(x, 3),
)  # fmt: skip
WINDOWS = (
    lambda x: sliding_window_view(x, 3, axis=1), lambda x: sliding_window_view(x, (2, 3)),
    lambda x: sliding_window_view(x, (2, 2, 2), (1, 0, 1)),
    lambda x: sliding_window_view(x, 0, axis=-1), lambda x: sliding_window_view(x, (4, 7)),
)  # fmt: skip


def compare(call, A, a):
    same(call(A), call(a), rtol=1e-5 if a.dtype == np.float32 else 1e-12)


@pytest.mark.parametrize(
    ("levels", "kinds"), [("rows", KINDS[:2]), ("runs", KINDS[:1]), ("dense", KINDS)]
)
def test_gradients(levels, kinds):
    for seed, (dtype, fill) in enumerate(kinds):
        a = data((4, 7), dtype, fill, seed)
        for call in GRADIENTS:
            compare(call, tensor(a, MATRICES[levels], fill), a)


def test_dtypes_of_gradients():
    for dtype in (np.float32, np.float16, np.uint16, np.complex64):
        a = data((7,), dtype)
        A = tensor(a, ("SparseList",))
        for call in (np.gradient, lambda x: np.gradient(x, POINTS)):
            same(call(A), call(a), rtol=1e-3)


@pytest.mark.parametrize("levels", ["rows", "runs", "hashes", "dense"])
def test_windows(levels):
    for seed, (dtype, fill) in enumerate(KINDS):
        a = data((4, 7), dtype, fill, seed)
        for call in WINDOWS:
            compare(call, tensor(a, MATRICES[levels], fill), a)


@pytest.mark.parametrize("level", VECTORS)
def test_convolutions(level, monkeypatch):
    for seed, (dtype, fill) in enumerate([*KINDS[:2], (bool, False)]):
        a = data((7,), dtype, fill, seed)
        A = tensor(a, (level,), fill)
        for most in (numpy_neighbours.MOST, 4):
            monkeypatch.setattr(numpy_neighbours, "MOST", most)
            for call in SUMS:
                compare(call, A, a)
        same(A, a)


def test_results_are_as_sparse_as_the_longer_vector():
    n = 10**13
    x = fa.from_coo(([5, n - 1],), [1.0, 2.0], (n,))
    assert np.convolve(x, [1, 2, 1]).nnz == 6
    assert np.convolve(x, [1, 2, 1], "same")[n - 1] == 4
    assert np.convolve(x, x)[n + 4] == 4
    assert np.gradient(x).nnz == 4
    assert sliding_window_view(x, 3).nnz == 4
    short = fa.from_coo(([1],), [2.0], (3,))
    assert np.convolve(np.ones(9), short).nnz == 11
    with pytest.warns(PerformanceWarning, match="a fill of 0 keeps it sparse"):
        np.convolve(fa.full(2**25, 1.0, format=SparseList(Element(1.0))), [0.5, 0.5])


@pytest.mark.parametrize("levels", ["rows", "dense"])
def test_cross_products(levels):
    a, b = data((5, 3), seed=1), data((5, 3), np.int8, seed=2)
    A = tensor(a, MATRICES[levels])
    for call in (
        lambda x: np.cross(x, b), lambda x: np.cross(x[0], b), lambda x: np.cross(b, x, axisc=0),
        lambda x: np.cross(x.T, b, axisa=0), lambda x: np.cross(x.T, b.T, axis=0),
    ):  # fmt: skip
        compare(call, A, a)
    with pytest.raises(DimensionMismatch, match="cross of arrays of shapes"):
        np.cross(A[:, :2], b[:, :2])


@pytest.mark.parametrize("levels", ["rows", "hashes", "dense"])
def test_differences_with_ends(levels):
    a = data((4, 7), np.int16, 0, 3)
    A = tensor(a, MATRICES[levels])
    for call in (
        lambda x: np.ediff1d(x, to_end=[3, 4]), lambda x: np.ediff1d(x, 7, np.ones((2, 2), int)),
        lambda x: np.ediff1d(x, to_begin=x[0]),
    ):  # fmt: skip
        compare(call, A, a)
    with pytest.raises(TypeError, match="to_end of float64 is not cast to the int16"):
        np.ediff1d(A, to_end=0.5)


@pytest.mark.parametrize("levels", ["rows", "runs", "dense"])
def test_sinc(levels):
    for dtype, fill in KINDS:
        a = data((4, 7), dtype, fill, 5)
        compare(np.sinc, tensor(a, MATRICES[levels], fill), a)


def test_what_is_refused():
    A = tensor(data((3, 4)), MATRICES["rows"])
    for error, call, told in (
        (ValueError, lambda: np.gradient(A[:1]), "takes 2 elements along an axis, not 1"),
        (ValueError, lambda: np.gradient(A, [0.0, 1], axis=1), "an axis of 4 elements has as many"),
        (ValueError, lambda: np.gradient(A, edge_order=3), "the edge_order of gradient is 1 or 2"),
        (TypeError, lambda: np.gradient(A, 1, 2, 3), "along 2 axes takes as many steps, not 3"),
        (TypeError, lambda: np.gradient(A > 1), "subtracts, which bools do not"),
        (ValueError, lambda: np.gradient(A, axis=(0, 0)), "of gradient are not distinct"),
        (DimensionMismatch, lambda: np.convolve(A, A), "convolve is of vectors, not of arrays of"),
        (ValueError, lambda: np.convolve(A[0], []), "convolve takes vectors that have elements"),
        (ValueError, lambda: np.correlate(A[0], [1], "all"), "the mode of correlate is 'full',"),
        (ValueError, lambda: sliding_window_view(A, (4, 2)), "do not fit an array of"),
        (ValueError, lambda: sliding_window_view(A, 2), "along 2 axes: each has a size"),
        (ValueError, lambda: sliding_window_view(A, (2, -1)), "a window has no negative size"),
        (TypeError, lambda: sliding_window_view(A, (1, 1), writeable=True), "takes no writeable="),
    ):
        with pytest.raises(error, match=told):
            call()
