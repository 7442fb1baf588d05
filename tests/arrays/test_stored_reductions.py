"""Reductions of what is stored, then of the fill, are NumPy's, in the format of general loops."""

from __future__ import annotations

import numpy as np
import pytest
from array_support import LEVELS, MATRICES, fa, held, same, tensor

from finch_array import plans, reductions, stored_reductions
from finch_core import Tensor
from finch_levels import Element

NAMES = ("max", "min", "prod", "all", "any")
DTYPES = (np.float64, np.int8, bool)
SHAPES = ((7, 5), (1, 6), (6, 1), (0, 4), (4, 0), (90, 3), (3, 90), (3, 4, 5))


def drawn(rng, shape, dtype, density, fill):
    """An array of small numbers, of which some are NaN or infinite where there are such."""
    dtype = np.dtype(dtype)
    found = rng.integers(-3 if dtype.kind in "if" else 0, 4, shape).astype(dtype)
    if dtype.kind == "f" and rng.random() < 0.5:
        odd = rng.choice(np.array([np.nan, np.inf, -np.inf, 0.0], dtype), shape)
        found = np.where(rng.random(shape) < 0.1, odd, found)
    return np.where(rng.random(shape) < density, found, dtype.type(fill))


def format_of(array):
    """The format of a tensor, in whichever order its dimensions are stored: general loops choose
    that by their cost."""
    return array.format if isinstance(array, Tensor) else array.tensor.format


def compare(A, a, name, axes, monkeypatch):
    """The values are NumPy's; fill and format are those of general loops."""
    found = getattr(fa, name)(A, axis=axes)
    with np.errstate(all="ignore"):
        same(found, getattr(np, name)(a, axis=axes))
    with monkeypatch.context() as patch:
        patch.setattr(reductions, "UFUNCS", {})
        wanted = getattr(fa, name)(A, axis=axes)
    assert format_of(found) == format_of(wanted)
    np.testing.assert_array_equal(found.fill_value, wanted.fill_value)
    same(found, wanted.to_numpy())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_random_arrays(name, dtype, monkeypatch):
    rng = np.random.default_rng([NAMES.index(name), DTYPES.index(dtype)])
    for shape in SHAPES:
        fill = 2 if len(shape) == 3 and name != "prod" else 0
        first = "SparseList" if shape == (3, 90) else "Dense"
        for density in (0.02, 0.5, 1.0):
            a = drawn(rng, shape, dtype, density, fill)
            A = tensor(a, (first, *["SparseList"] * (len(shape) - 1)), a.dtype.type(fill))
            for axes in [(0,), (1,), (0, 2)] if len(shape) == 3 else [(0,)]:
                if all(shape[k] for k in axes) or name not in ("max", "min"):
                    compare(A, a, name, axes, monkeypatch)


@pytest.mark.parametrize("kind", MATRICES)
def test_formats(kind, monkeypatch):
    rng = np.random.default_rng(len(kind))
    for name, fill in (("max", 0), ("min", 2), ("prod", 0)):
        a = held(drawn(rng, (6, 7), np.int64, 0.4, fill), MATRICES[kind], fill)
        A = tensor(a, MATRICES[kind], fill)
        for axis in (0, 1):
            compare(A, a, name, (axis,), monkeypatch)
            compare(fa.permute_dims(A, (1, 0)), a.T, name, (1 - axis,), monkeypatch)


def test_products_that_overflow_are_those_in_order():
    a = np.array([[1e200, 0, 1e200], [1e200, 1e200, 0], [0, 1e200, 1e200], [-1, 2, 4]])
    A = tensor(a, ("Dense", "SparseList"))
    with np.errstate(all="ignore"):
        same(fa.prod(A, axis=0), a.prod(0))
    b = np.where(a > 1e100, 3.0, a)
    found = fa.prod(tensor(b, ("Dense", "SparseList")), axis=0).to_numpy()
    np.testing.assert_array_equal(np.signbit(found), np.signbit(b.prod(0)))


def test_columns_that_store_all_do_not_have_the_fill():
    a = np.array([[-1.0, -2.0, 0.0], [-3.0, 0.0, 0.0]])
    A = tensor(a, ("Dense", "SparseList"))
    assert fa.max(A, axis=0).to_numpy().tolist() == [-1.0, 0.0, 0.0]
    assert fa.min(fa.negative(A), axis=0).to_numpy().tolist() == [1.0, 0.0, 0.0]
    assert fa.max(A, axis=0).fill_value == 0


@pytest.mark.parametrize("kind", ["SparseCOO", "SparseList", "SparseHash"])
def test_long_dimensions_take_no_work(kind):
    n = 1 << 40
    A = fa.from_coo(([5, 5, n - 2, 6], [7, n - 3, 7, 0]), [2.0, -1.0, 3.0, 4.0], (n, n))
    level = LEVELS[kind]
    A = A.to(level(level(Element(0.0))))
    for axis, there in ((0, [0, 7]), (1, [5, 6, n - 2])):
        found = fa.max(A, axis=axis)
        assert found.shape == (n,)
        assert fa.nonzero(found)[0].to_numpy().tolist() == there
        assert fa.prod(A, axis=axis).nnz == 0
        assert fa.all(A, axis=axis).nnz == 0
    huge = fa.from_coo(([5, 5], [7, 8]), [1e200, 1e200], (10**6, 9))
    assert fa.prod(fa.multiply(huge, 2.0), axis=1).nnz == 0
    assert fa.max(A, axis=0)[7] == 3
    assert fa.min(A, axis=0).nnz == 1


def test_plans_of_short_dimensions_are_not_those_of_long_ones():
    for n in (10**5, 10**12):
        A = fa.from_coo(([5, 5, n - 2], [7, n - 3, 7]), [2.0, -1.0, 3.0], (n, n))
        assert [fa.sum(A, axis=k).nnz for k in (0, 1)] == [2, 2]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, np.uint16, bool])
@pytest.mark.parametrize("fill", [1, 2, 3])
def test_fills_that_enter_as_often_as_they_stand(fill, dtype, monkeypatch):
    """Of lists whose results are much longer than what is stored, here of any."""
    rng = np.random.default_rng(5)
    monkeypatch.setattr(stored_reductions, "SPARE", 0)
    monkeypatch.setattr(stored_reductions, "LEAST", 0)
    monkeypatch.setattr(plans, "DENSE_RATIO", 0)
    monkeypatch.setattr(plans, "DENSE_LEAST", 0)
    calls, sorted_way = [], stored_reductions._of_sorted

    def counted(*args):
        calls.append(args)
        return sorted_way(*args)

    monkeypatch.setattr(stored_reductions, "_of_sorted", counted)
    for shape in ((6, 5), (300, 2), (4, 3, 5)):
        a = drawn(rng, shape, dtype, 0.3, dtype(fill))
        a = np.nan_to_num(a, posinf=2, neginf=-2)
        A = tensor(a, ("SparseList",) * len(shape), a.dtype.type(fill))
        for axis in [(0,), (1,), (0, 2)] if len(shape) == 3 else [(0,), (1,)]:
            with np.errstate(all="ignore"):
                same(fa.sum(A, axis=axis), a.sum(axis, dtype=fa.sum(A).dtype), 1e-5)
                same(fa.prod(A, axis=axis), a.prod(axis, dtype=fa.prod(A).dtype), 1e-4)
                same(fa.sum(A, axis=axis, dtype=a.dtype), a.sum(axis, dtype=a.dtype), 1e-5)
                same(fa.count_nonzero(A, axis=axis), np.count_nonzero(a, axis=axis))
                same(fa.mean(A, axis=axis), a.mean(axis), 1e-5)
            assert (
                fa.sum(A, axis=axis).fill_value
                == fa.sum(fa.full([shape[k] for k in axis], a.dtype.type(fill))).to_numpy()
            )
    assert len(calls) > 20


def test_sums_of_what_is_stored_and_of_a_fill_of_2_40_rows():
    n = 2**40
    A = fa.from_coo((np.array([3, n - 1]), np.array([5, n - 2])), np.array([1.0, 2.0]), (n, n)) + 1
    for axis in (0, 1):
        found = fa.sum(A, axis=axis)
        assert (found.nnz, found.fill_value) == (2, n)
        assert fa.count_nonzero(A, axis=axis).fill_value == n
        assert fa.mean(A, axis=axis).fill_value == 1
    assert fa.sum(A, axis=1)[3] == n + 1
    assert fa.prod(A, axis=0).fill_value == 1
