"""The fill of a result is what NumPy gives for the fills; elements that are stored and those that
are not are NumPy's."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from array_support import MATRICES, data, fa, same, tensor
from ml_dtypes import bfloat16

import finch_array.elementwise
import finch_array.plans
from finch_core import Tensor
from finch_core.ir.dtypes import SUPPORTED
from finch_core.optimize import PASSES
from finch_core.runtime.options import Options
from finch_levels import Element, RunList, SparseList, SparseRunList
from finch_wrappers import stride

STORED = np.array([[0, 1, 2, 0], [3, 0, 0, 5], [0, 0, 0, 0]])
OTHER = np.array([[0, 2, 0, 1], [1, 0, 3, 2], [0, 0, 0, 0]])
FORMATS = ("rows", "lists", "hashes", "gapped runs", "dense")
BINARY = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow, operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift,
    operator.lt, operator.le, operator.eq, operator.ne, np.maximum, np.minimum, np.arctan2,
    np.copysign, np.hypot, np.fmod, np.logaddexp, np.nextafter, np.logical_and, np.logical_or,
    np.logical_xor,
)  # fmt: skip
UNARY = (
    operator.neg, operator.abs, operator.invert, np.log, np.log1p, np.log2, np.log10, np.exp,
    np.exp2, np.expm1, np.sqrt, np.cbrt, np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan,
    np.sinh, np.cosh, np.tanh, np.arcsinh, np.arccosh, np.arctanh, np.reciprocal, np.sign,
    np.square, np.floor, np.ceil, np.trunc, np.rint, np.isnan, np.isinf, np.isfinite, np.signbit,
    np.logical_not, np.conjugate,
)  # fmt: skip
FLOATS = [(np.dtype(np.float64), fill) for fill in (0, 1, np.inf, np.nan)]
OTHERS = [(dtype, 0) for dtype in SUPPORTED if dtype != np.float64]
EVERY = 4
"""Each function meets doubles, and every so many of the other dtypes; 1 is the whole table."""
SECOND = {0: (0, 1), 1: (1, 0), np.inf: (np.inf, 0)}
EXACT = {"f2": 2e-3, "f4": 1e-5, "c8": 1e-5}

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True, scope="module")
def _plain_kernels():
    """Kernels run on the interpreter as they are lowered, which is fastest."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FINCH_BACKEND", "interpreter")
        plain = Options(disabled=frozenset(name for name, _ in PASSES))
        patch.setattr(finch_array.plans, "Options", lambda **_given: plain)
        for module in (finch_array.plans, finch_array.elementwise):
            patch.setattr(module, "LINEAR", plain)
        yield


def cases(function):
    """The dtypes and fills that a function meets."""
    first = (*BINARY, *UNARY).index(function) % EVERY
    return [*OTHERS[first::EVERY], *FLOATS]


def arrays(dtype, fill, kind, values):
    """An array of ``fill`` with some others, and a tensor that stores these."""
    array = np.where(values == 0, np.asarray(fill, dtype), values.astype(dtype))
    return array, tensor(array, MATRICES[kind], fill)


def agrees(function, theirs, mine):
    """Compare the results of a function of NumPy arrays and of tensors; nothing where NumPy refuses
    the arrays."""
    with np.errstate(all="ignore"):
        try:
            wanted = function(*theirs)
        except (TypeError, ValueError):
            return
        if function is np.nextafter and wanted.dtype == np.float16:
            return  # backends refuse it
        found = function(*mine)
    kind = np.dtype(wanted.dtype)
    rtol = EXACT.get(kind.str[1:], 1e-12)
    told = [f"{x.dtype} fill {x.fill_value}" if hasattr(x, "fill_value") else x for x in mine]
    assert found.dtype == kind, (function, told)
    np.testing.assert_allclose(
        np.asarray(found),
        wanted,
        rtol=rtol,
        atol=rtol,
        equal_nan=True,
        err_msg=f"{function} {told}",
    )


@pytest.mark.parametrize("function", BINARY, ids=lambda f: f.__name__)
def test_functions_of_two_arrays(function):
    for k, (dtype, fill) in enumerate(cases(function)):
        a, A = arrays(dtype, fill, FORMATS[k % 4], STORED)
        agrees(function, (a, a), (A, A))
        for n, other in enumerate(SECOND.get(fill, (0,)) if dtype == np.float64 else (fill,)):
            b, B = arrays(dtype, other, FORMATS[(k + n) % 4], OTHER)
            agrees(function, (a, b), (A, B))


NUMBERS = (0, 2, -1, 0.5, np.inf, -np.inf, np.nan)


@pytest.mark.parametrize("function", BINARY, ids=lambda f: f.__name__)
def test_functions_of_an_array_and_a_number(function):
    for k, (dtype, fill) in enumerate([(np.dtype(np.int64), 0), *FLOATS]):
        a, A = arrays(dtype, fill, FORMATS[k % 5], STORED)
        for number in NUMBERS:
            agrees(lambda x, n=number: function(x, n), (a,), (A,))
            agrees(lambda x, n=number: function(n, x), (a,), (A,))


@pytest.mark.parametrize("function", UNARY, ids=lambda f: f.__name__)
def test_functions_of_one_array(function):
    for k, (dtype, fill) in enumerate(cases(function)):
        if function is np.reciprocal and dtype.kind in "biu":
            continue  # of integers, C has no value for 0
        agrees(function, *([x] for x in arrays(dtype, fill, FORMATS[k % 5], STORED)))


def test_reductions_of_fills_that_are_nan():
    a, A = arrays(np.dtype(float), 0, "rows", STORED)
    with np.errstate(all="ignore"):
        b, B = a / a, A / A
    assert np.isnan(B.fill_value)
    for name in ("sum", "prod", "min", "max", "mean", "var", "all", "any", "count_nonzero"):
        for axis in (None, 0, 1):
            with np.errstate(all="ignore"):
                agrees(lambda x, n=name, k=axis: getattr(np, n)(x, axis=k), (b,), (B,))
                whole = np.where(np.isnan(b), 1.5, b)
                agrees(
                    lambda x, n=name, k=axis: getattr(np, n)(x, axis=k),
                    (whole,), (tensor(whole, MATRICES["rows"], np.nan),),
                )  # fmt: skip


def test_a_product_is_nan_where_its_fills_make_it():
    a, A = arrays(np.dtype(float), np.inf, "rows", STORED)
    b, B = arrays(np.dtype(float), 0, "rows", OTHER)
    with np.errstate(all="ignore"):
        agrees(operator.matmul, (a, b.T), (A, B.T))
        agrees(lambda x, y: np.sum(x * y, axis=0), (a, b), (A, B))


def test_what_is_stored_densely_has_no_fill_that_counts():
    a, A = arrays(np.dtype(float), 0, "rows", STORED)
    rows = np.sum(a, axis=1)
    made = A / np.where(rows == 0, 1, rows)[:, None]
    assert made.fill_value == 0
    assert made.nstored == A.nstored
    lazy = fa.compute(fa.lazy(A) / fa.where(fa.sum(A, axis=1) == 0, 1, fa.sum(A, axis=1))[:, None])
    assert np.array_equal(np.asarray(lazy), np.asarray(made))


def test_lazy_quotients_have_the_fill_too():
    a, A = arrays(np.dtype(float), 0, "rows", STORED)
    b, B = arrays(np.dtype(float), 0, "lists", OTHER)
    with np.errstate(all="ignore"):
        found = fa.compute(fa.lazy(A) / fa.lazy(B) + 1)
        np.testing.assert_array_equal(np.asarray(found), a / b + 1)
        assert np.isnan(found.fill_value)


def test_products_and_means_of_brain_floats_have_the_dtypes_of_numpy():
    a = STORED.astype(bfloat16)
    A = tensor(a, MATRICES["rows"])
    for function in (lambda x: x @ x.T, lambda x: x @ x[0], lambda x: np.mean(x, axis=1)):
        found, wanted = function(A), function(a)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(np.asarray(found), wanted)


def test_isnat():
    dates = np.array([["2020-01-01", "NaT"], ["NaT", "2021-01-01"]], "M8[D]")
    for fill in ("NaT", "2020-01-01"):
        D = tensor(dates, MATRICES["rows"], np.datetime64(fill, "D"))
        for function in (fa.isnat, np.isnat):
            np.testing.assert_array_equal(np.asarray(function(D)), np.isnat(dates))
    with pytest.raises(TypeError, match="dates"):
        fa.isnat(fa.asarray(np.ones(2)))


def test_expm1_of_complex_infinities_is_what_the_standard_says():
    x = np.array([complex(np.inf, 0), complex(-np.inf, 1), complex(np.nan, 0), complex(1e-20, 0)])
    found = np.asarray(fa.expm1(fa.asarray(x)))
    wanted = [complex(np.inf, 0), complex(-1, 0), complex(np.nan, 0), complex(1e-20, 0)]
    np.testing.assert_array_equal(found.real, np.real(wanted))
    np.testing.assert_array_equal(found.imag, np.imag(wanted))


CHANGING = [2.5, 0.0, np.nan, np.inf, 3, True]


@pytest.mark.parametrize("kinds", [("rows", "rows"), ("lists", "hashes"), ("bands", "bands")])
def test_a_fill_that_depends_on_a_number(kinds):
    a, b = data((4, 5), seed=1) - 2, data((4, 5), seed=2) - 2
    a[a == -2], b[b == -2] = 0, 0
    A, B = (tensor(x, MATRICES[kind]) for x, kind in zip((a, b), kinds, strict=True))
    for number in CHANGING if kinds[0] != "bands" else CHANGING[:2]:
        same(fa.where(A > 0, B, number), np.where(a > 0, b, number))
        same(fa.where(A > 0, number, B)[1:, ::2], np.where(a > 0, number, b)[1:, ::2])
    narrow = tensor(b[:, :1], MATRICES[kinds[1]])
    same(fa.where(narrow > 0, A, 4.0), np.where(b[:, :1] > 0, a, 4.0))


def test_one_kernel_does_for_all_numbers():
    from finch_array.run import _plans

    A = tensor(data((4, 5), seed=1), MATRICES["rows"])
    found = fa.where(A > 1, A, 0.5)
    count = len(_plans)
    for number in np.linspace(1, 2, 5):
        found = fa.where(A > 1, A, float(number))
    assert len(_plans) == count
    assert found.fill_value == 2
    assert found.nnz == A.nnz


@pytest.mark.parametrize("kind", [RunList, SparseRunList])
def test_runs_of_rows_keep_what_becomes_another_value(kind):
    """A row whose stored elements give the fill of the kernel is no run with a row of fills."""
    values = np.array([[1, 0], [0, 0], [3, 0], [2, 0], [0, 1]])
    A = Tensor(kind(SparseList(Element(0))), values)
    same(fa.not_equal(stride(A, slice(None), slice(None)), 1), values != 1)
    same(fa.where(A == 0, A + 1, 5), np.where(values == 0, values + 1, 5))
    same(fa.where(A == 1, 0, 7), np.where(values == 1, 0, 7))


def test_the_dtype_of_an_earlier_number_is_not_taken():
    whole = np.array([[0, 3], [2, 0]], np.uint16)
    A = Tensor(SparseList(SparseList(Element(np.uint16(0)))), whole)
    for number in (0.0, 0, 1.5, 1):
        same(fa.where(A > 2, A, number), np.where(whole > 2, whole, number))


def test_numbers_that_change_need_no_new_kernels():
    """A dense result of dense arrays has one fill, and that of sparse ones is passed to kernels."""
    from finch_array.run import _plans

    D, S = fa.asarray(data((4, 5), seed=1)), tensor(data((4, 5), seed=1), MATRICES["rows"])
    functions = [
        lambda of, x, m: of.sum((x - m) ** 2), lambda of, x, m: of.max(x - m, axis=0),
        lambda of, x, m: of.where(x > 1, x, m) + x, lambda of, x, m: of.exp(x / m) * x,
    ]  # fmt: skip
    sums = [lambda of, x, m: of.sum(x - m, axis=0), lambda of, x, m: of.sum(x - m)]
    for array, chosen in ((D, functions), (S, sums)):
        for function in chosen:
            for m in (0.625, 0.75):
                function(fa, array, m)
            count = len(_plans)
            for m in (0.5, 2.25, -1.25):
                found = function(fa, array, m)
                assert len(_plans) == count
                np.testing.assert_allclose(found.to_numpy(), function(np, array.to_numpy(), m))
    assert (D - 3).fill_value == fa.max(D - 3, axis=0).fill_value == 0
    assert (S - 3).fill_value == -3


@pytest.mark.parametrize("fill", [np.inf, np.nan, 2.5, -0.0])
@pytest.mark.parametrize("kind", MATRICES)
def test_sums_of_what_is_stored_and_of_the_fill(kind, fill):
    """An infinite fill is not there where all elements are stored."""
    a = data((4, 5), fill=fill, seed=3)
    a[1] = [1, 2, 3, 4, 5]
    A = tensor(a, MATRICES[kind], fill)
    for axis in (None, 0, 1):
        np.testing.assert_allclose(fa.sum(A, axis=axis).to_numpy(), np.sum(a, axis=axis))
        narrow = fa.sum(A, axis=axis, dtype=np.float32, keepdims=True)
        assert narrow.dtype == np.float32
        wanted = np.sum(a, axis=axis, dtype=np.float32, keepdims=True)
        np.testing.assert_allclose(narrow.to_numpy(), wanted, rtol=1e-6)
    b = np.where(data((4, 5)) > 0, 100, 3).astype(np.int8)
    B = tensor(b, MATRICES[kind], 3)
    for axis in (None, 0, 1):
        same(fa.sum(B, axis=axis), np.sum(b, axis=axis))
        same(fa.sum(B, axis=axis, dtype=np.int8), np.sum(b, axis=axis, dtype=np.int8))
