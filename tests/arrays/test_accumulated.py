"""``accumulate`` and ``reduce`` of NumPy's ufuncs that combine elements in any grouping."""

from __future__ import annotations

import numpy as np
import pytest
from array_support import MATRICES, data, fa, same, tensor

from finch_levels import RunList

UFUNCS = [
    np.maximum, np.minimum, np.logical_or, np.logical_and, np.logical_xor, np.bitwise_or,
    np.bitwise_and, np.bitwise_xor, np.multiply, np.add,
]  # fmt: skip
FOLDS = [np.bitwise_or, np.bitwise_and, np.bitwise_xor, np.logical_xor]
KINDS = [(np.float64, 0), (np.float32, 2), (np.int8, -1), (np.uint16, 0), (bool, True)]


def takes(ufunc, dtype):
    try:
        ufunc.resolve_dtypes((np.dtype(dtype), np.dtype(dtype), None))
    except TypeError:
        return False
    return True


@pytest.mark.parametrize("levels", ["rows", "runs", "blocks", "hashes", "dense"])
@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda ufunc: ufunc.__name__)
def test_accumulate(ufunc, levels):
    for seed, (dtype, fill) in enumerate(KINDS):
        if takes(ufunc, dtype):
            a = data((4, 6), dtype, fill, seed)
            a[1] = fill
            A = tensor(a, MATRICES[levels], fill)
            same(ufunc.accumulate(A), ufunc.accumulate(a))
            same(ufunc.accumulate(A, axis=-1), ufunc.accumulate(a, axis=-1))
            same(A, a)


@pytest.mark.parametrize("levels", ["rows", "runs", "lists", "dense"])
@pytest.mark.parametrize("ufunc", FOLDS, ids=lambda ufunc: ufunc.__name__)
def test_reduce(ufunc, levels):
    for seed, (dtype, fill) in enumerate([(np.int8, 0), (np.uint16, 3), (bool, True)]):
        a = data((4, 6), dtype, fill, seed)
        A = tensor(a, MATRICES[levels], fill)
        for options in (
            {}, {"axis": 1, "keepdims": True}, {"axis": None}, {"axis": 1, "initial": 1},
            {"where": a[:1] != 2},
        ):  # fmt: skip
            same(ufunc.reduce(A, **options), ufunc.reduce(a, **options))
    same(ufunc.reduce(A[:0]), ufunc.reduce(a[:0]))


def test_extremes_of_what_is_not_finite():
    for fill in (0.0, np.nan, np.inf, -np.inf):
        a = np.array([[-1.0, fill, np.nan, 3, fill], [fill, np.inf, fill, -np.inf, -0.0]])
        A = tensor(a, MATRICES["rows"], fill)
        for ufunc in (np.maximum, np.minimum, np.multiply, np.add):
            with np.errstate(invalid="ignore"):
                wanted = ufunc.accumulate(a, axis=1)
            same(ufunc.accumulate(A, axis=1), wanted)


def test_extremes_are_runs():
    """Of 2^40 elements three are stored."""
    x = fa.from_coo(([5, 100, 9999],), [3.0, -1.0, 7.0], (2**40,))
    high, low = np.maximum.accumulate(x), np.minimum.accumulate(x)
    assert type(high.format) is type(low.format) is RunList
    assert [float(high[k]) for k in (4, 5, 200, 9999, 2**40 - 1)] == [0, 3, 3, 7, 7]
    assert [float(low[k]) for k in (5, 99, 100, 2**40 - 1)] == [0, 0, -1, -1]
    assert (high.nstored, low.nstored) == (3, 2)
    assert np.logical_or.accumulate(fa.lazy(x)).nstored == 2


def test_dtypes():
    a = data((3, 4), np.int8, 0, 1)
    A = tensor(a, MATRICES["rows"])
    same(np.maximum.accumulate(A, dtype=np.float32), np.maximum.accumulate(a, dtype=np.float32))
    same(np.bitwise_or.reduce(A, dtype=np.int64), np.bitwise_or.reduce(a, dtype=np.int64))
    for call in (
        lambda: np.logical_or.accumulate(A, dtype=np.int64),
        lambda: np.bitwise_or.reduce(A * 1.5), lambda: np.subtract.accumulate(A),
        lambda: np.maximum.accumulate(fa.sum(A)),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            call()


@pytest.mark.parametrize(
    ("ufunc", "levels"),
    [(np.fmax, "rows"), (np.fmax, "dense"), (np.fmin, "runs")],
    ids=lambda part: getattr(part, "__name__", part),
)
def test_extremes_beside_nan(ufunc, levels):
    for seed, (dtype, fill) in enumerate([(np.int8, -1), (np.float64, np.nan), (np.float64, 0)]):
        a = data((4, 6), dtype, fill, seed)
        if a.dtype.kind == "f":
            a[:, 1], a[2, 3:], a[1, :2], a[0, 3] = np.nan, np.nan, np.nan, -np.inf
        A = tensor(a, MATRICES[levels], fill)
        for options in (
            {}, {"axis": 1, "keepdims": True, "initial": 1}, {"where": a[:1] != 2, "initial": 0},
        ):  # fmt: skip
            same(ufunc.reduce(A, **options), ufunc.reduce(a, **options))
        same(ufunc.accumulate(A), ufunc.accumulate(a))
        same(ufunc.accumulate(A, axis=-1), ufunc.accumulate(a, axis=-1))
    same(ufunc.reduce(A, dtype=np.float32), ufunc.reduce(a, dtype=np.float32))
