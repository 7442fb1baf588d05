"""NumPy's functions that the standard does not have, and texts of single elements."""

from __future__ import annotations

import numpy as np
import pytest
from array_support import MATRICES, data, fa, same, tensor

from finch_array.plan.lazies import Lazy
from finch_core.errors import DimensionMismatch, FormatError, OutOfMemory, PerformanceWarning
from finch_levels import Element, SparseList

CALLS = {
    "ptp": (
        lambda x: np.ptp(x), lambda x: np.ptp(x, axis=0), lambda x: np.ptp(x, 1, keepdims=True),
    ),
    "median": (
        lambda x: np.median(x), lambda x: np.median(x, axis=0),
        lambda x: np.median(x, axis=1, keepdims=True), lambda x: np.median(x, keepdims=True),
        lambda x: np.median(x, axis=(0, 1)), lambda x: np.median(x[0, 0]),
        lambda x: np.nanmedian(x), lambda x: np.nanmedian(x.astype(int), axis=0),
    ),
    "pad": (
        lambda x: np.pad(x, 1), lambda x: np.pad(x, (0, 2)), lambda x: np.pad(x, ((1, 0), (0, 3))),
        lambda x: np.pad(x, {1: 2}), lambda x: np.pad(x, ((2, 1), (0, 0)), constant_values=1.5),
        lambda x: np.pad(x.T, ((0, 1), (3, 0)), constant_values=-1.0), lambda x: np.pad(x[0, 0], 0),
        lambda x: np.pad(x, 2, constant_values=(1, 0)),
        lambda x: np.pad(x, ((1, 0), (0, 2)), constant_values=((1,), (2,))),
        lambda x: np.pad(x, ((2, 1), (0, 3)), constant_values=((0, 2), (3, 4))),
    ),
    "pad by its own": tuple([
        lambda x, mode=mode, widths=widths: np.pad(x, widths, mode)
        for mode in ("edge", "wrap", "reflect", "symmetric")
        for widths in (1, ((0, 2), (3, 0)), ((0, 0), (9, 7)))
    ]),
    "differences": (
        lambda x: np.diff(x, n=0, prepend=0), lambda x: np.tril(x[0]), lambda x: np.triu(x[0], 1),
        lambda x: np.diff(x, prepend=0), lambda x: np.diff(x, axis=0, append=2.5),
        lambda x: np.diff(x, 2, 1, 1, x[:, :2]), lambda x: np.diff(x[0], prepend=x[1, :1]),
    ),
    "delete": (
        lambda x: np.delete(x, 1, 0), lambda x: np.delete(x, [0, -1], axis=1),
        lambda x: np.delete(x, slice(1, 3), axis=1), lambda x: np.delete(x, 3),
    ),
    "insert": (
        lambda x: np.insert(x, 1, 7, 0), lambda x: np.insert(x, [0, 2], 3, axis=1),
        lambda x: np.insert(x, [3, 1], [5, 0], axis=1), lambda x: np.insert(x, 2, [1, 0, 2]),
        lambda x: np.insert(x, 1, x[:2, :].T, axis=1) if x.shape[0] == x.shape[1] else x * 1,
        lambda x: np.insert(x, slice(0, 2), 4, axis=0), lambda x: np.append(x, x, axis=1),
        lambda x: np.append(x, [1, 0]),
    ),
    "joined": (
        lambda x: np.vstack([x[0], x[1]]), lambda x: np.hstack([x[0], x[1]]),
        lambda x: np.dstack([x, x]), lambda x: np.column_stack([x[:, 0], x]),
        lambda x: np.block([[x, x[:, :1]], [x[:1], np.ones((1, 1))]]),
        lambda x: np.concatenate([x, x], dtype=np.float32), lambda x: np.atleast_3d(x),
    ),
    "turned": (
        *(lambda x, k=k: np.rot90(x, k) for k in range(-1, 4)), lambda x: np.fliplr(x),
        lambda x: np.flipud(x), lambda x: np.rollaxis(x, 1), lambda x: np.ravel(x, order="F"),
        lambda x: np.reshape(x, (6, 4), order="F"), lambda x: np.roll(x, (1, 2), (0, 1)),
    ),
    "chosen": (
        lambda x: np.extract(x > 0, x), lambda x: np.compress([True, False, True], x, axis=1),
        lambda x: np.flatnonzero(x), lambda x: np.trim_zeros(x[0]),
        lambda x: np.select([x > 1, x < 0], [x, -x], 9.0), lambda x: np.diagflat(x[0]),
        lambda x: np.take(x, [1, 9], 1, mode="clip"), lambda x: np.take(x, [-1, 9], 1, mode="wrap"),
    ),
    "reduced": (
        lambda x: np.sum(x, axis=1, initial=2), lambda x: np.sum(x, 0, where=x > 1),
        lambda x: np.max(x, axis=0, initial=2), lambda x: np.min(x, where=x > 1, initial=9),
        lambda x: np.all(x, axis=1, where=x != 0), lambda x: np.mean(x, where=x > 0),
        lambda x: np.mean(x, dtype=np.float32), lambda x: np.var(x, axis=0, ddof=1),
        lambda x: np.average(x, axis=1, weights=np.arange(1.0, 7)), lambda x: np.average(x, 0),
        lambda x: np.cumsum(x), lambda x: np.sum(x, 0, None, np.empty(6)), lambda x: np.ediff1d(x),
    ),
    "sorted": (
        lambda x: np.quantile(x, 0.3), lambda x: np.quantile(x, [0, 0.4, 1], axis=0),
        lambda x: np.quantile(x, 0.7, axis=(1, 0)), lambda x: np.nanquantile(x, 0.2, axis=0),
        lambda x: np.percentile(x, 70, axis=1, keepdims=True), lambda x: np.sort(x, axis=None),
        lambda x: np.sort(x, kind="stable"), lambda x: np.union1d(x, [8.0, 0.0]),
        lambda x: np.setdiff1d(x, [1.0]), lambda x: np.bincount(np.abs(x[0]).astype(int)),
        lambda x: np.bincount(np.abs(x[0]).astype(int), x[1], 12),
    ),
    "products": (
        lambda x: np.inner(x, x), lambda x: np.vdot(x, x), lambda x: np.outer(x, x[0]),
        lambda x: np.dot(x, x.T), lambda x: np.linalg.multi_dot([x, x.T, x]),
        lambda x: np.add.outer(x[0], x[1]), lambda x: np.add.accumulate(x),
        lambda x: np.matvec(x, x[0]),
    ),
    "norms": (
        lambda x: np.linalg.norm(x), lambda x: np.linalg.norm(x, 1),
        lambda x: np.linalg.norm(x, -np.inf, keepdims=True), lambda x: np.linalg.norm(x, "fro"),
        lambda x: np.linalg.norm(x, 1, axis=1), lambda x: np.linalg.norm(x[0], np.inf),
        lambda x: np.linalg.norm(x, np.inf, (1, 0)),
    ),
    "elements": (
        lambda x: np.deg2rad(x), lambda x: np.isposinf(x), lambda x: np.iscomplex(x),
        lambda x: np.fix(x / 2), lambda x: np.clip(x, a_min=0, a_max=None),
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


def test_what_is_assigned_by_functions_of_numpy():
    a = data((4, 4), seed=1)
    A = tensor(a, MATRICES["rows"])
    np.fill_diagonal(A, 7)
    np.fill_diagonal(a, 7)
    same(A, a)
    np.copyto(A, -A, where=A > 2)
    np.copyto(a, -a, where=a > 2)
    same(A, a)


@pytest.mark.parametrize("kind", ["rows", "hashes", "bands", "dense"])
def test_diagonals_are_filled_with_the_fill(kind):
    a = data((4, 6), seed=1)
    A = tensor(np.tril(a) if kind == "bands" else a, MATRICES[kind])
    wanted = A.to_numpy().copy()
    np.fill_diagonal(A, 0)
    np.fill_diagonal(wanted, 0)
    same(A, wanted)


def test_long_diagonals():
    n = 10**9
    A = fa.from_coo(([5, 8, n // 2], [7, 8, 3]), [1.0, 2.0, 3.0], (n, n))
    np.fill_diagonal(A, 0)
    assert (A.nstored, A[8, 8], A[5, 7]) == (2, 0, 1)
    T = fa.from_coo(([5, 8], [7, 8], [1, 8]), [1.0, 2.0], (n, n, n))
    np.fill_diagonal(T, 0)
    assert T.nstored == 1
    with pytest.raises(DimensionMismatch, match=r"unequal sizes \(2, 2, 3\)"):
        np.fill_diagonal(fa.zeros((2, 2, 3)), 1)


def test_many_values_fill_a_diagonal_with_a_warning(monkeypatch):
    A = fa.from_coo(([5], [7]), [1.0], (10**9, 10**9))
    monkeypatch.setattr(np, "arange", no_memory)
    with (
        pytest.raises(OutOfMemory, match="no memory for a diagonal of shape"),
        pytest.warns(PerformanceWarning, match="fill_diagonal stores 1000000000 more elements"),
    ):
        np.fill_diagonal(A, 1)


def no_memory(*_):
    raise MemoryError


@pytest.mark.parametrize("kind", ["rows", "hashes", "dense"])
def test_quantiles_leave_nan_out(kind):
    a = data((4, 6), seed=3)
    a[1, 2], a[2, 0], a[2, 5] = np.nan, np.nan, np.nan
    A = tensor(a, MATRICES[kind])
    for axis in (None, 0, 1, -1, (0, 1)):
        for keepdims in (False, True):
            same(np.nanmedian(A, axis, keepdims=keepdims), np.nanmedian(a, axis, keepdims=keepdims))
        same(np.nanquantile(A, [0.1, 0.5], axis), np.nanquantile(a, [0.1, 0.5], axis))
        same(np.nanpercentile(A, 40, axis=axis), np.nanpercentile(a, 40, axis=axis))
    a[2] = np.nan
    with pytest.warns(RuntimeWarning, match="All-NaN"):
        found = np.nanmedian(tensor(a, MATRICES[kind]), axis=1)
    with pytest.warns(RuntimeWarning, match="All-NaN"):
        same(found, np.nanmedian(a, axis=1))


@pytest.mark.parametrize("kind", ["rows", "hashes", "dense"])
def test_integers_to_negative_powers_are_refused_as_by_numpy(kind):
    a = np.arange(6).reshape(2, 3)
    A = tensor(a, MATRICES[kind])
    for call in (lambda x: x**-1, lambda x: np.power(x, -2), lambda x: x ** np.int8(-1)):
        for x in (a, A):
            with pytest.raises(ValueError, match=r"(?i)integers? to a? ?negative"):
                call(x)
    same(A**2.0, a**2.0)
    same(tensor(a + 1, MATRICES[kind]) ** -1.0, (a + 1) ** -1.0)


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint64, np.float64])
@pytest.mark.parametrize("fill", [0, -1])
def test_arrays_of_negative_powers_are_refused_where_numpy_does(fill, dtype):
    powers = np.array([[0, -1, 3], [-1, -1, 0]]) * (1 if dtype != np.uint64 else -1)
    bases = (2, True, 2.5, np.uint64(3), np.arange(3), np.arange(3.0), np.arange(3).astype("u8"))
    for base in bases:
        for y in (powers.astype(dtype), np.abs(powers).astype(dtype)):
            Y = tensor(y, MATRICES["rows"], fill if dtype != np.uint64 else 0)
            try:
                with np.errstate(all="ignore"):
                    wanted = np.power(base, y)
            except ValueError:
                with pytest.raises(ValueError, match="give the powers as floats"):
                    base**Y
            else:
                same(base**Y, wanted)
                same(np.power(base, Y), wanted)


@pytest.mark.parametrize("kind", ["rows", "dense"])
def test_arrays_as_parameters_of_functions(kind):
    """NumPy's functions that are called on the way do not call those of this package again."""
    a = data((4, 6), seed=1)
    A = tensor(a, MATRICES[kind])
    places, parts, ends = np.array([0, 2]), np.array([0.25, 0.5]), np.array([1.0, 3.0])
    for call, x in (
        (lambda x, y: np.insert(x, y, 7, 1), places), (lambda x, y: np.delete(x, y, 1), places),
        (lambda x, y: np.quantile(x, y, axis=0), parts), (lambda x, y: np.percentile(x, y), parts),
        (lambda x, y: np.nanquantile(x, y), parts), (lambda x, y: np.histogram(x, y)[0], ends),
        (lambda x, y: np.split(x, y, axis=1)[1], places), (lambda x, y: np.linspace(0, y, 3), ends),
        (lambda x, y: np.linspace(y, 9.0, 3), ends),
    ):  # fmt: skip
        same(call(A, fa.asarray(x)), call(a, x))
    with pytest.raises(FormatError, match="between numbers or dense arrays"):
        np.linspace(0, tensor(a, MATRICES["rows"]), 3)


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


@pytest.mark.parametrize("dtype", [bool, np.int8, np.float16, np.float32])
def test_weights_of_counts_are_of_any_real_dtype(dtype):
    places, a = np.array([0, 2, 2, 5, 1]), data((5,), dtype, seed=4)
    same(np.bincount(places, tensor(a, ("SparseList",))), np.bincount(places, a))


def test_counts_of_nothing_and_of_rows_of_rows():
    nothing = tensor(np.zeros(0, int), ("SparseList",))
    for weights in (None, np.zeros(0)):
        same(np.bincount(nothing, weights, 2), np.bincount(np.zeros(0, int), weights, 2))
    with pytest.raises(DimensionMismatch, match=r"shape \(2, 3\)"):
        np.bincount(tensor(np.ones((2, 3), int), MATRICES["rows"]))


def test_complex_weights_of_counts_are_refused_as_by_numpy():
    a = data((3,), complex, seed=4)
    with pytest.raises(TypeError, match="complex128"):
        np.bincount(np.arange(3), tensor(a, ("SparseList",)))


def test_reductions_of_no_elements_are_the_initial_value() -> None:
    for shape, axis in (((0,), None), ((0, 3), 0), ((0, 3), 1), ((3, 0), None)):
        a = np.zeros(shape)
        A = fa.asarray(a)
        same(np.max(A, axis=axis, initial=2), np.max(a, axis=axis, initial=2))
        same(np.min(A, axis, keepdims=True, initial=2), np.min(a, axis, keepdims=True, initial=2))


@pytest.mark.parametrize("mode", ["edge", "wrap", "reflect", "symmetric"])
def test_pads_of_few_elements_and_of_many(mode):
    for n in (1, 2, 3):
        x = np.arange(1.0, n + 1)
        same(np.pad(tensor(x, ("SparseList",)), (5, 4), mode), np.pad(x, (5, 4), mode))
    with pytest.raises(ValueError, match="axis 0 has no elements"):
        np.pad(fa.zeros((0,), format=SparseList(Element(0.0))), 1, mode)
    n = 10**12  # what is stored is visited
    found = np.pad(fa.from_coo([[0, 5, n - 2]], [1.0, 2.0, 3.0], (n,)), 2, mode)
    assert found.shape == (n + 4,)
    assert found.nstored <= 7


@pytest.mark.parametrize("mode", ["edge", "wrap", "reflect", "symmetric"])
def test_pads_of_views(mode):
    a = data((5, 70), seed=1)
    for kind in MATRICES:
        same(np.pad(tensor(a, MATRICES[kind]).T, ((1, 2), (9, 0)), mode),
             np.pad(a.T, ((1, 2), (9, 0)), mode))  # fmt: skip


@pytest.mark.parametrize("kind", ["rows", "dense"])
def test_what_pad_refuses(kind):
    A = tensor(np.eye(3), MATRICES[kind])
    for error, told, given in (
        (ValueError, "broadcast", {"pad_width": 1, "constant_values": (1, 2, 3)}),
        (
            ValueError,
            "'edge' takes no constant",
            {"pad_width": 1, "mode": "edge", "constant_values": 1},
        ),
        (ValueError, "'symmetric', not 'mean'", {"pad_width": 1, "mode": "mean"}),
        (ValueError, "negative", {"pad_width": -1}),
        (TypeError, "integ", {"pad_width": 1.5}),
    ):
        with pytest.raises(error, match=told):
            np.pad(A, **given)


@pytest.mark.parametrize("kind", ["rows", "dense"])
def test_norms_of_integers_are_floats(kind):
    a = data((3, 4), np.int64, seed=1) - 2
    a = np.where(a == -2, 0, a)
    for order in (1, -1, np.inf, -np.inf, "fro", None):
        same(np.linalg.norm(tensor(a, MATRICES[kind]), order), np.linalg.norm(a, order))


@pytest.mark.parametrize("kind", ["rows", "dense"])
def test_averages_of_nothing_are_refused_as_by_numpy(kind):
    a = data((3, 4), seed=1)
    A = tensor(a, MATRICES[kind])
    for call in (
        lambda x: np.average(x[:0], axis=1), lambda x: np.average(x, weights=np.zeros((3, 4))),
        lambda x: np.average(x, axis=1, weights=[1.0, -1, 0, 0]),
    ):  # fmt: skip
        for x in (A, a):
            with pytest.raises(ZeroDivisionError):
                call(x)
    for found, wanted in zip(
        np.average(A, 0, returned=True), np.average(a, 0, returned=True), strict=True
    ):
        same(found, wanted)


LIMITS = (
    (-300, 300), (-300, 5), (2, 300), (None, 300), (-300, None), (-300, np.int64(400)), (2.5, 300),
    (2**70, None), (None, 2**70), (-(2**70), 2**70), (300, 400), (-400, -300), (None, -300), (2, 5),
)  # fmt: skip


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64])
@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_limits_that_the_dtype_cannot_hold(limits, dtype):
    a = np.array([[1, 0, 100], [0, 7, 3]], dtype)
    A = tensor(a, MATRICES["rows"])
    try:
        wanted = np.clip(a, *limits)
    except OverflowError:
        with pytest.raises(OverflowError):
            np.clip(A, *limits)
    else:
        same(np.clip(A, *limits), wanted)
        same(fa.compute(fa.clip(fa.lazy(A), *limits)), wanted)


UNIQUE = [(i, v, c) for i in (False, True) for v in (False, True) for c in (False, True)]


@pytest.mark.parametrize("kind", ["rows", "hashes", "runs", "dense"])
@pytest.mark.parametrize("fill", [0.0, 2.5, np.nan])
def test_unique_is_that_of_numpy(kind, fill):
    a = data((5, 4), fill=fill, seed=4)
    a[1, 2] = a[3, 3] = np.nan
    A = tensor(a, MATRICES[kind], fill)
    for axis in (None, 0, 1):
        for asked in UNIQUE:
            wanted, found = np.unique(a, *asked, axis), np.unique(A, *asked, axis)
            for x, y in zip(*(z if any(asked) else (z,) for z in (wanted, found)), strict=True):
                assert (type(y), y.dtype, y.shape) == (np.ndarray, x.dtype, x.shape)
                np.testing.assert_array_equal(y, x)


def test_unique_is_not_dense_in_silence():
    A = fa.from_coo(([5, 10**6], [7, 3]), [1.0, 2.0], (2 * 10**6, 3 * 10**6))
    values, index, counts = np.unique(A, return_index=True, return_counts=True)
    assert values.tolist() == [0, 1, 2]
    assert index.tolist() == [0, 15000007, 3000000000003]
    assert counts.tolist() == [6 * 10**12 - 2, 1, 1]
    B = fa.from_coo(([5], [7]), [np.inf], (5000, 5000))
    dense = r"the result of unique is dense: \(5000, 5000\), 191 MiB, from at most 1 stored values"
    for options in ({"return_inverse": True}, {"axis": 0}):
        with pytest.warns(PerformanceWarning, match=dense):
            np.unique(B, **options)
    with pytest.warns(PerformanceWarning, match=dense):
        fa.unique_all(fa.log(B * 0 - 1))


ORDERS = (None, 1, -1, 2, -2, 3, 0, np.inf, -np.inf, "fro", "nuc", "x")


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("kind", ["rows", "dense"])
@pytest.mark.parametrize("axis", [None, 1, (0, 1), (1, 0), (-1,), (0, 0)])
def test_norms_are_those_of_numpy(kind, axis):
    a = data((4, 5), seed=2)
    A = tensor(a, MATRICES[kind])
    for order in ORDERS:
        for keepdims in (False, True):
            try:
                wanted = np.linalg.norm(a, order, axis, keepdims)
            except ValueError:
                with pytest.raises(ValueError, match="norm|distinct"):
                    fa.norm(A, order, axis, keepdims)
                continue
            of_matrices = order in (2, -2, "nuc") and axis not in (1, (-1,))
            if kind == "rows" and of_matrices:
                with pytest.raises(FormatError, match="norm is of dense arrays"):
                    fa.norm(A, order, axis, keepdims)
                continue
            for norm in (fa.norm, np.linalg.norm):
                same(norm(A, order, axis, keepdims), wanted)


def test_the_norm_of_a_lazy_array_is_lazy():
    a = data((4, 5), seed=2)
    found = fa.norm(fa.lazy(tensor(a, MATRICES["rows"])), 1)
    assert isinstance(found, Lazy)
    same(fa.compute(found), np.linalg.norm(a, 1))


def test_orders_of_norms_that_there_are_not():
    x = fa.ones(3)
    with pytest.raises(ValueError, match=r"the norm 'fro' is of matrices, not along 1 axes: give"):
        fa.norm(x, "fro")
    with pytest.raises(ValueError, match="of matrices it is 'fro', 1"):
        fa.norm(fa.ones((3, 3)), 3)
    with pytest.raises(ValueError, match="the norm of vectors has a number as ord, not 'fro'"):
        fa.linalg.vector_norm(x, ord="fro")
