"""Functions of Python: what they read and do not read, copies, and numbers that are large."""

from __future__ import annotations

import copy
import itertools
import pickle

import cloudpickle
import numpy as np
import pytest
from array_support import computed_by_kernels

import finch_array as fa
from finch_core import Tensor, kernel
from finch_levels import (
    Dense,
    Element,
    RunList,
    SparseByteMap,
    SparseCOO,
    SparseHash,
    SparseList,
    SparseRunList,
)

VECTOR = Tensor(SparseList(Element(0.0)), np.array([1.0, 0.0, 2.0]))
ARRAYS = (
    VECTOR, Tensor(Dense(SparseList(Element(0.0))), np.ones((2, 3))),
    Tensor(SparseList(SparseList(Element(0.0))), np.eye(2, 3)),
    Tensor(Dense(RunList(Element(0.0))), np.eye(2, 3)), np.arange(3.0), np.ones((1, 3)),
    np.eye(2, 3), np.ones((2, 1)),
)  # fmt: skip
rate = 3.0


@pytest.mark.parametrize("by_kernels", [False, True])
@pytest.mark.parametrize(
    "function", [lambda a, b: a, lambda a, b: 2.0, lambda a, b: min(b, b)], ids="abc"
)
def test_dimensions_of_arrays_that_are_not_read(function, by_kernels, monkeypatch):
    monkeypatch.setenv("FINCH_BACKEND", "interpreter")
    called = fa.elementwise_of(function)
    for x, y in itertools.product(ARRAYS, repeat=2):
        with computed_by_kernels(by_kernels):
            found = called(x, y)
        a, b = np.broadcast_arrays(np.asarray(x), np.asarray(y))
        wanted = np.vectorize(function, otypes=[float])(a, b)
        np.testing.assert_array_equal(np.asarray(found), wanted, strict=True)


def test_einsums_of_arrays_that_are_not_read():
    first = lambda a, b: a  # noqa: E731
    of = {"A": VECTOR, "B": VECTOR, "f": first}
    assert fa.einsum("C[i,j] = f(A[i],B[j])", **of).to_numpy().tolist() == [
        [1] * 3,
        [0] * 3,
        [2] * 3,
    ]
    assert fa.einsum("C[i] += f(A[i],B[j])", **of).to_numpy().tolist() == [3, 0, 6]
    assert fa.einsum("C[i] max= f(B[j],A[i])", **of).to_numpy().tolist() == [2, 2, 2]
    assert fa.sum(fa.elementwise_of(first)(VECTOR, ARRAYS[1])).value == 6


def test_numbers_from_outside_are_those_of_the_call(monkeypatch):
    factor, x = 2.0, np.ones(2)

    def scaled(v, by=1.0):
        return v * factor * rate + by

    called = fa.elementwise_of(scaled)
    planned = fa.fused(lambda a: called(a) - 1)

    def check(wanted):
        for _ in range(2):
            assert called(x).to_numpy().tolist() == [wanted] * 2
            assert called(fa.lazy(x)).settle().to_numpy().tolist() == [wanted] * 2
            assert planned(x).to_numpy().tolist() == [wanted - 1] * 2
            assert fa.einsum("C[i] = f(A[i])", A=x, f=scaled).to_numpy().tolist() == [wanted] * 2

    check(7)
    factor = 5.0
    check(16)
    monkeypatch.setitem(globals(), "rate", 2.0)
    check(11)
    scaled.__defaults__ = (4.0,)
    check(14)


def test_reductions_of_functions_with_a_number_from_outside(monkeypatch):
    def added(a, b):
        return a + rate * b

    @kernel
    def run(y, A):
        for i in _:
            y[i] = added(y[i], A[i])

    y = np.zeros(3)
    run(y, VECTOR)
    monkeypatch.setitem(globals(), "rate", 10.0)
    run(y, VECTOR)
    assert y.tolist() == [13, 0, 26]


def doubled(v):
    return v * 2


@fa.fused
def planned_here(a):
    return a * 2 + 1


def test_functions_are_copied_and_pickled():
    x = np.ones(2)
    for function in (fa.elementwise_of(np.sin), fa.elementwise_of(doubled), fa.add, planned_here):
        args = (x, x) if function is fa.add else (x,)
        wanted = function(*args).to_numpy()
        assert copy.copy(function) is function
        assert copy.deepcopy([function])[0] is function
        for found in (
            pickle.loads(pickle.dumps(function)), cloudpickle.loads(cloudpickle.dumps(function)),
        ):  # fmt: skip
            assert np.array_equal(found(*args).to_numpy(), wanted)
    assert pickle.loads(pickle.dumps(fa.add)) is fa.add
    assert pickle.loads(pickle.dumps(planned_here)) is planned_here
    by_value = fa.elementwise_of(lambda v: (v + rate) if v else (rate))
    found = cloudpickle.loads(cloudpickle.dumps(by_value))
    assert found(x).to_numpy().tolist() == by_value(x).to_numpy().tolist() == [4, 4]


LARGE = (
    "x + {n}", "{n} - x", "x * {n}", "x < {n}", "x == {n}", "np.maximum(x, {n})", "x // {n}",
    "x >= -{n}",
)  # fmt: skip


@pytest.mark.parametrize("text", LARGE)
@pytest.mark.parametrize("dtype", ["f8", "f4", "u8", "i8"])
def test_integers_beyond_64_bits_are_taken_as_numpy_takes_them(text, dtype):
    x = np.array([1, 0, 3]).astype(dtype)
    for n in (2**63, 2**64 - 1, 2**64, 2**70):
        code = text.format(n=n)
        with np.errstate(all="ignore"):
            try:
                wanted = eval(code, {"x": x, "np": np})
            except OverflowError:
                with pytest.raises(OverflowError):
                    eval(
                        code,
                        {"x": fa.asarray(x, format=SparseList(Element(x.dtype.type(0)))), "np": np},
                    )
                continue
        for format in (SparseList(Element(x.dtype.type(0))), Dense(Element(x.dtype.type(0)))):
            found = np.asarray(eval(code, {"x": fa.asarray(x, format=format), "np": np}))
            np.testing.assert_array_equal(found, wanted, strict=True)


@pytest.mark.parametrize(
    "level", [SparseList, SparseCOO, SparseHash, SparseByteMap, SparseRunList, Dense]
)
def test_means_of_nothing_are_nan(level):
    x = np.array([[np.nan, np.nan], [1.0, 0.0], [0.0, 0.0]])
    A = Tensor(level(level(Element(0.0))), x)
    where = np.array([[False] * 2, [True] * 2, [False, True]])
    with np.errstate(all="ignore"), pytest.warns(RuntimeWarning):
        wanted = np.nanmean(x, axis=1), np.nanmean(x, axis=0), np.mean(x, axis=1, where=where)
    found = np.nanmean(A, axis=1), np.nanmean(A, axis=0), np.mean(A, axis=1, where=where)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one.to_numpy(), other)


def test_integers_that_a_dtype_does_not_hold_are_refused():
    for format in (SparseList(Element(np.uint8(0))), None):
        A = fa.asarray(np.array([1, 0], np.uint8), format=format)
        for call in (
            lambda A: np.full_like(A, 300), lambda A: np.insert(A, 0, 300),
            lambda A: np.insert(A, 0, [1, -1]),
        ):  # fmt: skip
            with pytest.raises(OverflowError, match="out of bounds for uint8"):
                call(A)


def test_arguments_that_are_not_there_are_told():
    A = fa.asarray(np.ones((4, 1)))
    with pytest.raises(ValueError, match=r"the sizes of eye are not negative, as \(-1, -1\) is"):
        fa.eye(-1)
    with pytest.raises(ValueError, match=r"repetitions are not negative, as \(-1,\) is"):
        fa.tile(A, -1)
    for function in (np.partition, np.argpartition):
        with pytest.raises(ValueError, match=r"kth\(=2\) out of bounds \(1\)"):
            function(A, 2)
    with pytest.raises(ValueError, match="differences are taken 0 times or more, not -1"):
        np.diff(A, n=-1)
    with pytest.raises(OverflowError, match="out of bounds for int64"):
        _ = fa.asarray(np.array([True])) > 2**63
    with pytest.raises(TypeError, match="a kernel is made of a Python function, not of 3"):
        kernel(3)
    with pytest.raises(TypeError, match="a kernel is made of a Python function, not of 'def f'"):
        kernel(strict=True)("def f")
