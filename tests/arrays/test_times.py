"""Dates, spans of time and half floats in array functions mean what they mean in NumPy."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from array_support import fa
from ml_dtypes import bfloat16

from finch_core import Tensor
from finch_levels import Dense, Element, SparseList

DATES = np.array(
    [["2020-01-01", "NaT", "1969-12-31"], ["2021-05-05", "NaT", "1970-01-01"]], "M8[D]"
)
SPANS = np.array([[1, 0, -5], [0, 3, 2]], "m8[D]")
GAPS = np.array([[1, 0, -5], [0, "NaT", 2]], "m8[D]")


def tensor(values, fill):
    fill = np.array(fill, values.dtype)[()]
    return Tensor(Dense(SparseList(Element(fill))), values)


def same(found, wanted):
    found = np.asarray(fa.compute(found))
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


FILLS = {"NaT": "NaT", "a date": "1970-01-01"}
LAZY = pytest.mark.parametrize("made", [lambda x: x, fa.lazy], ids=["now", "lazy"])


@LAZY
@pytest.mark.parametrize("fill", FILLS.values(), ids=FILLS)
def test_dates_with_numbers_and_arrays(fill, made):
    dates = made(tensor(DATES, fill))
    for unit in ("D", "h", "s", "D"):  # the units are no longer those of the call before
        span = np.timedelta64(1, unit)
        same(dates + span, DATES + span)
        same(dates - span, DATES - span)
    same(dates - tensor(DATES, "1970-01-01"), DATES - DATES)
    same(dates + tensor(SPANS, 0), DATES + SPANS)
    for op in (operator.eq, operator.ne, operator.lt, operator.ge):
        same(op(dates, np.datetime64("2020-01-01")), op(DATES, np.datetime64("2020-01-01")))
        same(op(dates, tensor(DATES, "NaT")), op(DATES, DATES))
    same(fa.concat([dates, dates]), np.concatenate([DATES, DATES]))
    same(dates[:, 1:], DATES[:, 1:])


@LAZY
@pytest.mark.parametrize("values", [DATES, SPANS, GAPS], ids=["dates", "spans", "gaps"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_the_least_and_the_greatest(values, axis, made):
    for fill in ("NaT", 0):
        array = made(tensor(values, fill))
        same(fa.max(array, axis=axis), np.asarray(np.max(values, axis=axis)))
        same(fa.min(array, axis=axis), np.asarray(np.min(values, axis=axis)))


@LAZY
@pytest.mark.parametrize("values", [SPANS, GAPS], ids=["spans", "gaps"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_sums_and_means_of_spans(values, axis, made):
    for fill in ("NaT", 0):
        array = made(tensor(values, fill))
        same(fa.sum(array, axis=axis), np.asarray(np.sum(values, axis=axis)))
        same(fa.mean(array, axis=axis), np.asarray(np.mean(values, axis=axis)))


def test_spans_of_two_units():
    hours = SPANS.astype("m8[h]") + np.timedelta64(1, "h")
    same(tensor(SPANS, 0) - tensor(hours, 1), SPANS - hours)
    same(tensor(SPANS, 0) + tensor(hours, 1), SPANS + hours)


def test_dates_have_no_mean():
    with pytest.raises(TypeError, match="not defined on dates"):
        fa.mean(tensor(DATES, "NaT"))


def test_the_mean_of_half_floats_does_not_overflow():
    half = np.array([[65504, 0, 3], [300, 0, 65504]], np.float16)
    for axis in (None, 0, 1):
        same(fa.mean(tensor(half, 0), axis=axis), np.asarray(np.mean(half, axis=axis)))


def test_extremes_of_bfloat16():
    values = np.array([[1.5, 0, -3], [0, 300, -0.5]], bfloat16)
    for axis in (None, 0, 1):
        same(fa.max(tensor(values, 0), axis=axis), np.asarray(np.max(values, axis=axis)))
        same(fa.min(tensor(values, 0), axis=axis), np.asarray(np.min(values, axis=axis)))


def test_a_fused_function_tells_zeros_and_units_apart():
    inverted = fa.fused(lambda A, x: A + 1 / x)
    A, span = tensor(np.ones((2, 3)), 0), tensor(SPANS, 0)
    for x in (np.float64(0.0), np.float64(-0.0)):
        with np.errstate(divide="ignore"):
            assert np.asarray(inverted(A, x))[0, 0] == 1 / x
    moved = fa.fused(lambda A, x: A + x)
    for unit, count in (("D", 1), ("h", 24), ("h", 1)):
        same(moved(span, np.timedelta64(count, unit)), SPANS + np.timedelta64(count, unit))
