"""Coordinates as a format: SciPy's arrays of coordinates are read in place, whatever their rank."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from shared_programs import spmv

from finch_core import FormatError, Tensor, _, asarray, follow, gallop, kernel
from finch_core.runtime import scipy_arrays
from finch_core.testing.running import on
from finch_levels import Dense, Element, Pattern, RunList, Scalar, SparseCOO, SparseList
from finch_wrappers import reverse, stride, swizzle

BACKENDS = ("interpreter", None)
COO = SparseCOO(SparseCOO(Element(0.0)))
DATA = np.array([[0, 2, 2, 0, 0], [0, 0, 0, 0, 0], [5, 0, 0, 1, 0], [0, 0, 0, 0, 7.0]])
CUBE = np.where(np.arange(60) % 7 < 2, np.arange(60.0), 0).reshape(3, 4, 5)


def plus(y, A, B):
    y[...] = 0
    for i, j in _:
        y[i, j] = A[i, j] + 2 * B[i, j]
    return y


def galloped(s, A, B):
    s[...] = 0
    for i, j in _:
        s[()] += A[gallop(i), gallop(j)] * B[i, j]
    return s


def followed(s, A):
    s[...] = 0
    for j, i in _:
        s[()] += A[follow(i), follow(j)] * (10 * i + j)
    return s


def cube(s, A):
    s[...] = 0
    for i, j, k in _:
        s[()] += A[i, j, k] * (100 * i + 10 * j + k)
    return s


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("data", [DATA[0], DATA, CUBE], ids=["1", "2", "3"])
def test_scipys_coordinates_are_not_copied(data: Any, dtype: Any) -> None:
    given = sp.coo_array(data)
    given.coords = tuple(coord.astype(dtype) for coord in given.coords)
    tensor = asarray(given)
    assert [level.name for level in tensor.format.levels()] == ["SparseCOO"] * data.ndim + [
        "Element"
    ]
    assert np.shares_memory(tensor.buffers[f"{data.ndim}_val"], given.data)
    for k, coord in enumerate(given.coords):
        assert np.shares_memory(tensor.buffers[f"{k}_idx"], coord)
    np.testing.assert_array_equal(tensor.to_numpy(), data)
    back = tensor.to_scipy()
    assert back.format == "coo"
    assert np.shares_memory(back.data, given.data)
    given.data *= 2
    np.testing.assert_array_equal(asarray(given).to_numpy(), 2 * data)
    again = asarray(given)
    assert again is not tensor
    for name, buffer in tensor.buffers.items():
        assert np.shares_memory(again.buffers[name], buffer)


def test_unsorted_coordinates_and_duplicates_are_sorted_and_added() -> None:
    rows, columns = np.array([2, 0, 0, 2]), np.array([1, 1, 0, 1])
    given = sp.coo_array((np.array([1.0, 2, 3, 4]), (rows, columns)), shape=(3, 3))
    np.testing.assert_array_equal(asarray(given).to_numpy(), given.toarray())
    assert rows.tolist() == [2, 0, 0, 2], "the array passed stays as it is"
    made = Tensor(COO, given)
    assert made.buffers["0_idx"].tolist() == [0, 0, 2]
    assert made.buffers["1_idx"].tolist() == [0, 1, 1]
    assert made.buffers["2_val"].tolist() == [3, 2, 5]


def test_replaced_coordinates_are_noticed() -> None:
    given = sp.coo_array(DATA)
    assert asarray(given).to_numpy()[0, 1] == 2
    given.coords = (given.coords[0], given.coords[1].copy())
    given.coords[1][0] = 0
    np.testing.assert_array_equal(asarray(given).to_numpy(), given.toarray())


@pytest.mark.parametrize("backend", BACKENDS)
def test_programs_over_coordinates(backend: str | None) -> None:
    A, x = Tensor(COO, DATA), np.arange(1.0, 6)
    dense = Tensor(Dense(Element(0.0)))
    np.testing.assert_array_equal(on(backend, spmv)(dense, A, x).to_numpy(), DATA @ x)
    other = np.roll(DATA, 1, axis=1)
    for B in (Tensor(COO, other), Tensor(Dense(SparseList(Element(0.0))), other), other):
        out = on(backend, plus)(Tensor(COO), A, B)
        np.testing.assert_array_equal(out.to_numpy(), DATA + 2 * other)
        assert on(backend, galloped)(Scalar(0.0), A, B).value == (DATA * other).sum()
    weights = 10 * np.arange(4)[:, None] + np.arange(5)
    assert on(backend, followed)(Scalar(0.0), A).value == (DATA * weights).sum()
    weights = 100 * np.arange(3)[:, None, None] + 10 * np.arange(4)[:, None] + np.arange(5)
    T = Tensor(SparseCOO(COO), CUBE)
    assert on(backend, cube)(Scalar(0.0), T).value == (CUBE * weights).sum()
    assert kernel(cube).reference(Scalar(0.0), T) == (CUBE * weights).sum()


def test_what_is_written_in_order_is_appended() -> None:
    out = kernel(plus)(Tensor(COO), sp.csr_array(DATA), Tensor(COO, DATA.shape))
    assert out.buffers["0_idx"].tolist() == [0, 0, 2, 2, 3]
    assert out.buffers["1_idx"].tolist() == [1, 2, 0, 3, 4]
    assert out.buffers["0_ptr"].tolist() == [0, 5]
    assert out.nstored == 5


def test_coordinates_below_and_above_other_levels() -> None:
    for format in (
        Dense(COO),
        RunList(COO),
        SparseList(COO),
        SparseCOO(SparseCOO(SparseList(Element(0.0)))),
    ):
        np.testing.assert_array_equal(Tensor(format, CUBE).to_numpy(), CUBE)
    pattern = Tensor(SparseCOO(SparseCOO(Pattern())), DATA != 0)
    np.testing.assert_array_equal(pattern.to_numpy(), DATA != 0)


def test_views_of_coordinates() -> None:
    A = Tensor(COO, DATA)
    for view, expected in (
        (swizzle(A, (1, 0)), DATA.T), (reverse(A), DATA[::-1, ::-1]),
        (stride(A, 2, 3), DATA[::2, ::3]),
    ):  # fmt: skip
        np.testing.assert_array_equal(Tensor(COO, view).to_numpy(), expected)


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [
        ([0, 0, 2], [1, 1, 0], r"idx\[1\] makes entry 1, \(0, 1\), not greater than \(0, 1\)"),
        ([0, 2, 1], [1, 1, 0], r"idx\[2\] makes entry 2, \(1, 0\), not greater than \(2, 1\)"),
        ([0, 1, 9], [1, 1, 0], r"level 0 \(SparseCOO\): idx\[2\] is 9"),
        ([0, 1, 2], [1, -1, 0], r"level 1 \(SparseCOO\): idx\[1\] is -1"),
    ],
)
def test_invalid_coordinates_are_refused(rows: Any, columns: Any, message: str) -> None:
    buffers = {
        "0_ptr": np.array([0, 3]), "0_idx": np.array(rows), "1_idx": np.array(columns),
        "2_val": np.ones(3),
    }  # fmt: skip
    with pytest.raises(FormatError, match=message):
        Tensor.from_buffers(COO, (3, 3), buffers)


def test_the_order_of_unsorted_coordinates_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    sorts = []
    plain = scipy_arrays.sorting
    monkeypatch.setattr(scipy_arrays, "sorting", lambda *a: sorts.append(1) or plain(*a))
    rows, columns = np.array([2, 0, 2, 1]), np.array([1, 3, 1, 0])
    given = sp.coo_array((np.array([1.0, 2.0, 3.0, 4.0]), (rows, columns)), shape=(3, 4))
    first = asarray(given)
    given.data[:] = [5, 6, 7, 8]
    assert (asarray(given).to_numpy() == given.toarray()).all()
    assert first[2, 1] == 4  # a copy of its own
    assert len(sorts) == 1
    given.coords = (rows[::-1].copy(), columns)
    assert (asarray(given).to_numpy() == given.toarray()).all()
    assert len(sorts) == 2
    given.coords[0][:] = [2, 0, 1, 2]  # in place: the arrays stay the same
    assert (asarray(given).to_numpy() == given.toarray()).all()
    assert len(sorts) == 3
