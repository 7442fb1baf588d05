"""Operators of tensors over formats, fills, dtypes and broadcast shapes are NumPy's."""

from __future__ import annotations

import copy
import operator

import numpy as np
import pytest
import scipy.sparse as sp
from array_support import MATRICES, data, fa, held, same, tensor

from finch_core import DimensionMismatch, FormatError, Tensor
from finch_levels import Dense, Element, RunList, SparseBand, SparseInterval, SparseList
from finch_wrappers import swizzle, window

BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.lt, operator.eq,
    operator.ne, operator.ge,
]  # fmt: skip


@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.__name__)
@pytest.mark.parametrize("kind", MATRICES)
def test_two_arrays_of_one_format(kind, op):
    a, b = (held(data((5, 6), seed=s), MATRICES[kind]) for s in (1, 2))
    if op is operator.truediv:
        a, b = a + 1.0, b + 1.0  # a fill of 1 in both
    fill = 1 if op is operator.truediv else 0
    same(op(tensor(a, MATRICES[kind], fill), tensor(b, MATRICES[kind], fill)), op(a, b))


@pytest.mark.sampled(0.36)
@pytest.mark.parametrize("kind", MATRICES)
def test_numbers_and_dense_arrays_from_either_side(kind):
    a = held(data((4, 5)), MATRICES[kind])
    A, row, column = tensor(a, MATRICES[kind]), np.arange(5.0), np.arange(4.0)[:, None]
    for x in (2, 2.5, True, np.float64(3), row, column, np.ones((2, 1, 1))):
        same(A + x, a + x)
        same(x * A, x * a)
        same(x - A, x - a)
        same(x < A, a > x)


@pytest.mark.parametrize("first", ["rows", "runs", "hashes"])
@pytest.mark.parametrize("second", ["bands", "blocks", "dense", "gapped runs"])
def test_two_formats(first, second):
    a, b = held(data((4, 6), seed=3), MATRICES[first]), held(data((4, 6), seed=4), MATRICES[second])
    A, B = tensor(a, MATRICES[first]), tensor(b, MATRICES[second])
    same(A + B, a + b)
    same(A * B, a * b)
    same(A - B.T.T, a - b)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int64, np.float32, np.complex64])
def test_dtypes_promote_as_numpy_says(dtype):
    a, b = data((3, 4), dtype), data((3, 4), np.int32, seed=1)
    A, B = tensor(a, MATRICES["rows"]), tensor(b, MATRICES["rows"])
    same(A * B, a * b)
    same(A + 1, a + 1)
    same(B + A, b + a)
    same(A == B, a == b)


def test_unary_operators_and_bits():
    a = data((3, 4), np.int64)
    A = tensor(a, MATRICES["rows"])
    same(-A, -a)
    same(+A, a)
    same(abs(-A), abs(a))
    same(~A, ~a)
    same((A & 3) | (A << 1), (a & 3) | (a << 1))
    same(A ^ A, a ^ a)
    same(A >> 1, a >> 1)
    same(A // 2, a // 2)
    same(A % 3, a % 3)
    same(A**2, a**2)


def test_the_fill_is_the_function_of_the_fills():
    A = tensor(data((3, 4)), MATRICES["rows"])
    assert (A + 1).fill_value == 1
    assert np.cos(A).fill_value == 1
    assert (A == 0).fill_value
    assert (2 - (A + 1) * 3).fill_value == -1
    assert (A + 1).nstored == A.nstored


def test_structure_lives_on():
    runs = Tensor(RunList(Element(0.0)), np.repeat([1.0, 2.0, 0.0], 20))
    assert (runs * 2).nstored == 3
    assert (runs + runs).format == runs.format
    assert (runs + runs).nstored == 3
    band = Tensor(Dense(SparseBand(Element(0.0))), np.eye(5))
    assert (band + band).format == band.format
    assert (band * np.ones((5, 5))).format == band.format
    interval = Tensor(SparseInterval(Element(0.0)), np.array([0.0, 1, 1, 0, 0]))
    same(interval + np.array([2.0, 0, 0, 0, 2]), [2.0, 1, 1, 0, 2])
    narrow = Tensor(SparseInterval(Element(0.0)), np.array([0.0, 0, 3, 3, 3]))
    assert (interval * narrow).format == interval.format
    same(interval + narrow, [0.0, 1, 4, 3, 3])


def test_hashes_become_lists_and_lists_stay_lists():
    a = data((4, 5))
    hashes, rows = tensor(a, MATRICES["hashes"]), tensor(a, MATRICES["rows"])
    assert [type(v).__name__ for v in (hashes + hashes).format.levels()[:-1]] == ["SparseList"] * 2
    assert (rows + rows).format == rows.format
    assert (rows * rows).format == rows.format


def test_what_was_sparse_is_not_made_dense_by_a_column():
    a = data((4, 50), seed=7) * (np.arange(50) % 10 == 0)
    found = tensor(a, MATRICES["rows"]) + np.arange(4.0)[:, None]
    same(found, a + np.arange(4.0)[:, None])
    assert found.nstored < 100


def test_in_place_operators_keep_the_tensor():
    a = data((3, 4))
    A = tensor(a, MATRICES["rows"])
    before = A
    A += A
    A *= 2
    assert A is before
    same(A, 4 * a)
    with pytest.raises(TypeError):
        A += 1j
    dense = fa.asarray(a.copy())
    view = dense.to_numpy()
    dense -= 1
    same(fa.asarray(view), a - 1)


def test_wrappers_and_foreign_arrays():
    a = data((4, 6))
    A, csr = tensor(a, MATRICES["rows"]), sp.csr_array(a)
    same(swizzle(A, (1, 0)) * 2, a.T * 2)
    same(window(A, (1, 3), None) + 1, a[1:3] + 1)
    same(A.T + A.T, a.T + a.T)
    same(A.T + np.ones((6, 4)), a.T + 1)
    same(A + csr, a + a)
    same(np.ones((4, 6)) - A, 1 - a)


def test_shapes_that_do_not_broadcast_are_refused():
    A = tensor(data((3, 4)), MATRICES["rows"])
    with pytest.raises(DimensionMismatch, match=r"\(3, 4\), \(3,\)"):
        A + np.ones(3)
    with pytest.raises(ValueError, match="shape"):
        A @ np.ones(3)


def test_what_is_no_array_is_refused():
    A = tensor(data((3, 4)), MATRICES["rows"])
    with pytest.raises(TypeError):
        A + "x"
    with pytest.raises(TypeError):
        None * A
    assert not (A == "x").to_numpy().any()
    with pytest.raises(OverflowError):
        tensor(data((3, 4), np.int8), MATRICES["rows"]) + 1000


def test_truth_numbers_and_iteration():
    one = tensor(np.full((1, 1), 3.0), MATRICES["rows"])
    assert bool(one)
    assert float(one) == 3
    assert int(one) == 3
    A = tensor(data((3, 4)), MATRICES["rows"])
    with pytest.raises(ValueError, match="single value"):
        bool(A)
    assert len(A) == 3
    assert [row.shape for row in A] == [(4,)] * 3
    assert A.size == 12
    assert A.tolist() == A.to_numpy().tolist()
    assert one.reshape(()).tolist() == 3
    assert 0.0 in A
    assert 17.0 not in A


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (1, 1), ()])
def test_empty_and_small_shapes(shape):
    a = np.ones(shape)
    A = Tensor(tensor(np.ones((1,) * len(shape)), ("SparseList",) * len(shape)).format, a)
    same(A + A, a + a)
    same(A * 2, a * 2)
    same(A + np.ones(shape), a + 1)


def test_lists_in_many_dimensions():
    a = data((2, 3, 4, 2))
    A = Tensor(SparseList(Dense(SparseList(SparseList(Element(0.0))))), a)
    same(A + A, a + a)
    same(A * a[0], a * a[0])
    same(fa.permute_dims(A, (3, 1, 0, 2)) + 1, a.transpose(3, 1, 0, 2) + 1)


@pytest.mark.parametrize("out", [np.zeros(3, np.int8), np.zeros(3, np.int64), np.zeros(3, bool)])
def test_results_are_not_cast_where_numpy_does_not(out):
    x = fa.asarray(np.ones(3) * 0.7)
    with pytest.raises(TypeError, match="out has dtype .*, and the result float64"):
        np.add(x, 1, out=out)
    with pytest.raises(TypeError, match="out has dtype"):
        out += x
    with pytest.raises(TypeError, match="out has dtype"):
        np.sum(x, out=np.zeros((), out.dtype))
    assert not out.any()
    assert np.add(x, 1, out=np.zeros(3, np.float32)).dtype == np.float32
    assert np.add(x, 1, out=np.zeros(3, int), casting="unsafe").tolist() == [1, 1, 1]


@pytest.mark.parametrize("kind", ["rows", "hashes", "runs", "dense"])
def test_views_that_permute_change_in_place(kind):
    a, b = data((4, 3), seed=1), data((3, 4), seed=2)
    A = tensor(a, MATRICES[kind])
    V = A.T
    V += tensor(b, MATRICES["rows"])
    V *= 2
    np.testing.assert_array_equal(A.to_numpy(), 2 * (a + b.T))
    W = copy.copy(V)
    W[0] = 5
    np.testing.assert_array_equal(V.to_numpy(), 2 * (a.T + b))


@pytest.mark.parametrize("kind", ["rows", "hashes"])
def test_windows_take_no_assignments_permuted_either(kind):
    a = data((3, 4), seed=1)
    A = tensor(a, MATRICES[kind])
    for view in (window(A.T, (0, 2), (0, 3)), window(A, (0, 2), (0, 3)).T):
        for assign in (
            lambda V: operator.imul(V, 2), lambda V: V.__setitem__(..., 1),
            lambda V: V.__setitem__((0, 0), 5),
        ):  # fmt: skip
            with pytest.raises(FormatError, match="the result of window takes no assignments"):
                assign(view)
    np.testing.assert_array_equal(A.to_numpy(), a)


def test_windows_of_dense_arrays_are_assigned():
    a = data((3, 4), seed=1)
    A = tensor(a, MATRICES["dense"])
    for view in (
        lambda x: x.T[0:2, 0:3] if x is a else window(x.T, (0, 2), (0, 3)),
        lambda x: x[0:2, 1:4].T if x is a else window(x, (0, 2), (1, 4)).T,
        lambda x: x[1:3] if x is a else window(x, (1, 3), None),
    ):
        mine, theirs = view(A), view(a)
        mine *= 2
        theirs *= 2
        mine[0], theirs[0] = 7, 7
        mine[1, 1], theirs[1, 1] = 5, 5
        np.testing.assert_array_equal(A.to_numpy(), a)
