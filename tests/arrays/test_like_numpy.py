"""Dtypes, plain integers of any size and error messages: as NumPy has them."""

from __future__ import annotations

import operator

import numpy as np
import pytest
import scipy.sparse
from array_support import same

import finch_array as fa
from finch_core import FormatError
from finch_levels import Dense, Element, SparseList

FORMATS = (
    Dense(Element(np.uint16(0))),
    SparseList(Element(np.uint16(0))),
)
OPERATORS = (
    operator.truediv, operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne,
    np.arctan2, np.hypot, np.copysign,
)  # fmt: skip


@pytest.mark.parametrize("format", FORMATS, ids=str)
@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("number", [-1, 70000, 2**63, 2**70, -(2**70), 3])
@pytest.mark.parametrize("lazily", [False, True])
def test_integers_that_the_dtype_cannot_hold(format, function, number, lazily):
    """They are compared as they are, and taken as floats where floats are computed."""
    plain = np.array([2, 0, 65535], np.uint16)
    array = fa.asarray(plain, format=format)
    array = fa.lazy(array) if lazily else array
    for args, others in (((array, number), (plain, number)), ((number, array), (number, plain))):
        with np.errstate(all="ignore"):
            try:
                expected = function(*others)
            except (OverflowError, TypeError):
                continue  # beyond 64 bits NumPy has no such function
            found = fa.compute(function(*args)) if lazily else function(*args)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("function", [operator.add, operator.mul, operator.floordiv, operator.pow])
def test_integers_that_the_result_cannot_hold_are_refused(function):
    with pytest.raises((OverflowError, ValueError)):
        function(fa.asarray(np.array([2], np.uint16)), -1)


def test_bools_are_numbers_in_powers():
    plain = np.array([[True, False], [False, True]])
    for format in (None, Dense(SparseList(Element(False)))):
        array = fa.asarray(plain, format=format)
        for found, expected in (
            (array**3, plain**3), (array**array, plain**plain), (2**array, 2**plain),
            (array**2, plain**2), (fa.lazy(array) ** 2, plain**2), (array**2.0, plain**2.0),
            (fa.square(array), np.square(plain)),
        ):  # fmt: skip
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found.to_numpy(), expected)


@pytest.mark.parametrize("format", [None, Dense(SparseList(Element(False)))], ids=str)
def test_bools_have_no_differences_and_no_decimals(format):
    array = fa.asarray(np.eye(3, dtype=bool), format=format)
    with pytest.raises(TypeError, match="np.diff tells where they differ"):
        np.ediff1d(array)
    for decimals in (1, -1):
        with pytest.raises(TypeError, match="bools have no decimals"):
            np.round(array, decimals)
    same(np.round(array), np.round(np.eye(3, dtype=bool)))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32])
def test_the_mean_without_nans_has_the_dtype_of_the_mean(dtype):
    plain = np.array([[1, 0], [3, 0]], dtype)
    array = fa.asarray(plain, format=Dense(SparseList(Element(dtype(0)))))
    for axis in (None, 0, 1):
        found, expected = np.nanmean(array, axis=axis), np.nanmean(plain, axis=axis)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.to_numpy(), expected)


def test_a_fill_that_the_values_cannot_hold_is_refused():
    values = np.array([2], np.int8)
    with pytest.raises(FormatError, match=r"1\.5 does not fit in int8"):
        fa.from_coo(([0], [1]), values, (1, 2), fill_value=1.5)
    assert fa.from_coo(([0], [1]), values, (1, 2), fill_value=3.0)[0, 0] == 3
    assert np.isnan(fa.from_coo(([0], [1]), np.ones(1), (1, 2), fill_value=np.nan)[0, 0])


def test_arrays_of_one_dimension_in_rows():
    found = fa.asarray(scipy.sparse.csr_array(np.array([0.0, 1.0, 0.0, 2.0])))
    assert found.to_numpy().tolist() == [0.0, 1.0, 0.0, 2.0]


def test_what_is_permuted_is_copied_and_given_to_scipy():
    plain = np.arange(6.0).reshape(2, 3)
    array = fa.asarray(scipy.sparse.csc_array(plain))
    np.testing.assert_array_equal(array.to_scipy().toarray(), plain)
    copy = array.copy()
    array[0, 1] = 9.0
    np.testing.assert_array_equal(copy.to_numpy(), plain)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda a: fa.cumsum, AttributeError, "finch_array.cumulative_sum"),
        (lambda a: fa.array, AttributeError, "finch_array.asarray"),
        (lambda a: fa.vstack, AttributeError, "np.vstack takes tensors"),
        (lambda a: fa.lib, AttributeError, "'lib': np.lib takes NumPy's arrays, and np.asarray"),
        (lambda a: fa.csr_array, AttributeError, "finch_array.asarray.x. takes SciPy's arrays"),
        (lambda a: fa.COO, AttributeError, r"'COO': finch_array.from_coo\(\(i, j\), values, shape"),
        (lambda a: fa.save_npz, AttributeError, r"finch_core.write\(path, A\) writes"),
        (lambda a: fa.load_npz, AttributeError, r"finch_core.read\(path\) reads"),
        (lambda a: fa.any(a, out=a), TypeError, r"np.any\(A, out=out\) assigns it"),
        (lambda a: np.diag(fa.ones((2, 2, 2))), ValueError, "diag of an array of 3 dimensions"),
        (lambda a: fa.i0, AttributeError, "np.asarray.A. makes a dense array, which np.i0 takes"),
        (lambda a: fa.ndarray, AttributeError, "no attribute 'ndarray': NumPy has np.ndarray$"),
        (lambda a: fa.nothing, AttributeError, "no attribute 'nothing'$"),
        (lambda a: fa.where(a > 0, a), TypeError, r"where\(c, x, y\)"),
        (lambda a: bool(a > 0), ValueError, "&, | and ~"),
        (lambda a: fa.einsum(a, [0, 1], [0]), TypeError, "as text"),
        (lambda a: fa.einsum("ij->i", A=a), TypeError, "no names"),
        (lambda a: fa.einsum("D[i] += A[i,j] * j", A=a), SyntaxError, "indices are no values"),
    ],
)  # fmt: skip
def test_messages_say_what_would_work(call, error, text):
    with pytest.raises(error, match=text.replace("|", r"\|") if "&" in text else text):
        call(fa.asarray(np.eye(3)))


A = fa.asarray(np.eye(4, 5), format=Dense(SparseList(Element(0.0))))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: fa.sum(A, axis="x"), TypeError, "an axis is an integer, not str 'x'"),
        (lambda: fa.zeros((2.5, 2)), TypeError, "a size is an integer, not float 2.5"),
        (lambda: fa.searchsorted(A, [1.0]), ValueError, r"shape \(4, 5\): not a vector"),
        (lambda: A.std(ddof=1), TypeError, r"correction= .* is the same; np\.std\(A, ddof=...\)"),
        (lambda: A.T.var(0, ddof=1), TypeError, "correction="),
        (lambda: A.max(initial=0), TypeError, r"takes no initial=: np\.max\(A, initial=...\)"),
        (lambda: A.sort(), AttributeError, r"'sort': sort\(A\) of the array namespace"),
        (lambda: A & A, TypeError, "bitwise_and is not defined on float64 and float64"),
        (lambda: A & 1, TypeError, r"not defined on float64 and int64\n  hint: compare first"),
        (lambda: A + A.T, ValueError, r"add of arrays of shapes \(4, 5\), \(5, 4\): 4 and 5"),
        (lambda: A @ A, ValueError, "matmul of arrays .* 5 and 4 do not agree"),
        (lambda: operator.imatmul(np.eye(4), fa.asarray(np.eye(4))), TypeError, "x = x @ A"),
        (lambda: fa.einsum("C[i] += A[i, k] @ B[k]", A=A, B=A[0]), SyntaxError, "write '\\*'"),
        (lambda: fa.argmin(A[:0], axis=0), ValueError, "argmin of no elements"),
        (lambda: A.T.format, AttributeError, "'format': a view has that of .*; Tensor.format, A"),
        (lambda: A.T.nonsense, AttributeError, "has no attribute 'nonsense'"),
        (lambda: fa.from_coo((np.array([2**63], np.uint64),), np.ones(1), (3,)), TypeError,
         "index 9223372036854775808 of dimension 0"),
    ],
)  # fmt: skip
def test_errors_say_what_is_wrong(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_draft_over_values_is_replaced_where_arrays_are_long():
    """The first calls run a draft; a long array has the optimised kernel from the first one on."""
    for length in (5, 300_000, 7):
        plain = np.arange(float(length))
        found = fa.asarray(plain, format=SparseList(Element(0.0))) * 3.25
        np.testing.assert_array_equal(found.to_numpy(), plain * 3.25)


@pytest.mark.parametrize("array", [np.array([[1.25, 0], [0, 2.345]]), np.array([[11, 0], [0, 25]])])
def test_round_of_python(array):
    A = fa.asarray(array, format=Dense(SparseList(Element(array.dtype.type(0)))))
    for digits in (1, 2, -1):
        for found in (round(A, digits), fa.compute(round(fa.lazy(A), digits))):
            same(found, np.round(array, digits))
        assert round(A, digits).nnz == 2
    same(round(A), np.round(array))
    assert round(fa.sum(A), 1) == round(array.sum(), 1)
    assert type(round(fa.sum(A))) is int


REAL = "?", "i1", "u2", "i4", "u8", "f2", "f4", "f8"


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("ufunc", [np.degrees, np.radians, np.deg2rad, np.rad2deg])
def test_angles_have_the_dtype_of_numpy(ufunc, dtype):
    plain = np.array([[0, 1], [1, 0]], dtype)
    A = fa.asarray(plain, format=Dense(SparseList(Element(plain.dtype.type(0)))))
    wanted = ufunc(plain)
    for found in (ufunc(A), fa.compute(ufunc(fa.lazy(A)))):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found.to_numpy(), wanted, rtol=2e-3)
    assert ufunc(A).nnz == 2


@pytest.mark.parametrize("dtype", REAL[1:])
@pytest.mark.parametrize("function", [np.quantile, np.percentile, np.nanquantile, np.nanpercentile])
def test_quantiles_have_the_dtype_of_numpy(function, dtype):
    plain = np.array([[0, 1, 3], [2, 0, 0]], dtype)
    A = fa.asarray(plain, format=Dense(SparseList(Element(plain.dtype.type(0)))))
    most = 1 if "quantile" in function.__name__ else 100
    parts = (
        0.5 * most, most, [0.25 * most, most], np.array([0.25, 0.5]) * most, np.array(0.5) * most,
        np.array([0.25, 0.5], "f4") * np.float32(most), np.float64(0.5 * most), np.array([0, most]),
    )  # fmt: skip
    for q in parts:
        for axis in (None, 1):
            found, wanted = function(A, q, axis=axis), function(plain, q, axis=axis)
            assert found.dtype == wanted.dtype, (q, axis)
            np.testing.assert_allclose(found.to_numpy(), wanted, rtol=1e-3)


def test_the_text_of_an_array_without_dimensions_is_its_element():
    total = fa.sum(fa.asarray(np.array([1.5, 2.0])))
    assert str(total) == f"{total}" == "3.5"
    assert repr(total).startswith("Tensor of float64, value 3.5")
    assert str(fa.asarray(np.array([True, False]))) == repr(fa.asarray(np.array([True, False])))
