"""swap(x, y): C, the interpreter, the reference and the plain Python function agree, in every
format, and the memory of tensors and arrays stays theirs."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

from finch_core import Tensor, kernel, swap
from finch_core.errors import OutOfBounds
from finch_core.runtime.validation import validate
from finch_core.testing import backend_names
from finch_levels import (
    Dense,
    Element,
    RunList,
    Scalar,
    SparseBand,
    SparseBlockList,
    SparseByteMap,
    SparseHash,
    SparseList,
)

BACKENDS = backend_names()
FORMATS: dict[str, Any] = {
    "array": None,
    "dense": lambda leaf: Dense(leaf),
    "list": lambda leaf: SparseList(leaf),
    "runs": lambda leaf: RunList(leaf),
    "band": lambda leaf: SparseBand(leaf),
    "blocks": lambda leaf: SparseBlockList(leaf),
    "map": lambda leaf: SparseByteMap(leaf),
    "hash": lambda leaf: SparseHash(leaf),
}


def given(form: str, data: Any) -> Any:
    make, data = FORMATS[form], np.asarray(data, float)
    return data.copy() if make is None else Tensor(make(Element(0.0)), data)


def dense(value: Any) -> Any:
    if isinstance(value, Tensor):
        validate(value)
        return value.to_numpy()
    return value


def stepped(x, y, s, n):
    for k in range(n):
        y[...] = 0
        for i in range(6):
            if x[i] != 0:
                y[(i + 1) % 6] = x[i] + k
        swap(x, y)
        s[k] = x[0]


def in_order(x, y, s, n):
    for k in range(n):
        y[...] = 0
        for i in range(6):
            y[i] = 2 * x[i] + k * (i == 2 + k % 3)
        swap(x, y)
        s[k] = x[2]


def sometimes(x, y, s, n):
    for k in range(n):
        if k != 1:
            swap(x, y)
        s[k] = x[k]


PROGRAMS = (stepped, in_order, sometimes)
SCATTERED = ("array", "dense", "map", "hash")


CASES = [(f, form) for f in PROGRAMS for form in (SCATTERED if f is stepped else FORMATS)]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("function", "form"), CASES)
def test_programs(function, form, backend):
    made = kernel(backend=backend)(function)
    for n in range(4):
        x, y = np.array([1.0, 0, 2, 0, 0, 3]), np.array([0, 0, 5.0, 6, 0, 0])
        plain = [x.copy(), y.copy(), np.zeros(4)]
        args = given(form, x), given(form, y), np.zeros(4)
        found = made.reference(*args, n)
        made(*args, n)
        function(*plain, n)
        for k, name in enumerate("xys"):
            np.testing.assert_array_equal(dense(args[k]), plain[k])
            np.testing.assert_array_equal(found[name], plain[k])


@pytest.mark.parametrize("backend", BACKENDS)
def test_arrays_and_tensors_exchange_elements_not_memory(backend):
    made = kernel(backend=backend)(in_order)
    fmt = Dense(Element(0.0))
    for n in (1, 2, 3):
        start = np.array([1.0, 0, 2, 0, 0, 3])
        wanted = [start.copy(), np.zeros(6), np.zeros(4)]
        in_order(*wanted, n)
        for first, second in ((np.array, Tensor), (Tensor, np.array)):
            x = start.copy() if first is np.array else Tensor(fmt, start)
            y = np.zeros(6) if second is np.array else Tensor(fmt, np.zeros(6))
            made(x, y, np.zeros(4), n)
            gc.collect()
            np.testing.assert_array_equal(dense(x), wanted[0])
            np.testing.assert_array_equal(dense(y), wanted[1])
            made(x, y, np.zeros(4), 2)
            dense(x)[0] += 1
            assert not np.shares_memory(np.asarray(dense(x)), np.asarray(dense(y)))


@pytest.mark.parametrize("backend", BACKENDS)
def test_three_tensors_and_a_workspace(backend):
    def rotated(x, y, z, n):
        w = Tensor(Dense(Element(0.0)), (len(x),))
        for i in range(3):
            w[i] = 10 + i
        for _k in range(n):
            swap(x, y)
            swap(y, z)
            swap(z, w)

    made = kernel(backend=backend)(rotated)
    for n in range(6):
        tensors = [Tensor(Dense(Element(0.0)), np.full(3, float(k))) for k in range(2)]
        args = [*tensors, np.full(3, 2.0)]
        wanted = [np.full(3, float(k)) for k in range(3)]
        wanted.append(np.arange(10.0, 13.0))
        for _k in range(n):
            wanted = [*wanted[1:], wanted[0]]
        for again in range(2):  # the workspace is used again
            found = made.reference(*args, n)
            made(*args, n)
            for arg, name in zip(args, "xyz", strict=True):
                np.testing.assert_array_equal(dense(arg), found[name])
                if not again:
                    np.testing.assert_array_equal(dense(arg), wanted["xyz".index(name)])


@pytest.mark.parametrize("backend", BACKENDS)
def test_memory_that_grows_between_swaps(backend):
    @kernel(backend=backend)
    def filled(x, y, n):
        for k in range(n):
            y[...] = 0
            for i in range(100):
                if i % (k + 2) == 0:
                    y[i] = x[i] + 1
            swap(x, y)

    def plainly(n):
        x, y = np.zeros(100), np.zeros(100)
        for k in range(n):
            y = np.where(np.arange(100) % (k + 2) == 0, x + 1, 0)
            x, y = y, x
        return x, y

    for n in range(5):
        x, y = (Tensor(SparseList(Element(0.0)), np.zeros(100)) for _k in range(2))
        filled(x, y, n)
        gc.collect()
        np.testing.assert_array_equal(dense(x), plainly(n)[0])
        np.testing.assert_array_equal(dense(y), plainly(n)[1])


@pytest.mark.parametrize("backend", BACKENDS)
def test_scalars_and_matrices(backend):
    @kernel(backend=backend)
    def exchanged(a, b, A, B):
        a[()] = 1
        b[()] = 2
        swap(a, b)
        swap(A, B)

    a, b = Scalar(0.0), Scalar(0.0)
    A = Tensor(Dense(SparseList(Element(0.0))), np.eye(3))
    B = Tensor(Dense(SparseList(Element(0.0))), np.ones((3, 3)))
    exchanged(a, b, A, B)
    assert (a.value, b.value) == (2.0, 1.0)
    np.testing.assert_array_equal(dense(A), np.ones((3, 3)))
    np.testing.assert_array_equal(dense(B), np.eye(3))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_failure_after_a_swap_leaves_valid_tensors(backend):
    @kernel(backend=backend)
    def fails(x, y, at):
        swap(x, y)
        x[at] = 7

    x, y = np.array([1.0, 2.0]), Tensor(Dense(Element(0.0)), np.array([3.0, 4.0]))
    with pytest.raises(OutOfBounds):
        fails(x, y, 5)
    gc.collect()
    assert x.tolist() == [3.0, 4.0]
    assert dense(y).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_bound_call_swaps_each_time(backend):
    made = kernel(backend=backend)(lambda_free)
    x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    call = made.bind(x, y)
    for k in range(3):
        call()
        assert x.tolist() == ([3.0, 4.0] if k % 2 == 0 else [1.0, 2.0])


def lambda_free(x, y):
    swap(x, y)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("level", [None, Dense, SparseList, SparseHash])
def test_tensors_without_elements_are_swapped(backend, level):
    """Each keeps memory of its own, which is freed once."""

    @kernel(backend=backend)
    def three_times(x, y):
        for _k in range(3):
            swap(x, y)

    empty, full = np.zeros(0), np.array([0.0, 2.0, 0.0])
    for first, second in ((empty, empty), (full, 0 * full), (0 * full, full)):
        for _k in range(20):
            x, y = first.copy(), second.copy()
            if level is not None:
                x, y = (Tensor(level(Element(0.0)), array) for array in (x, y))
            three_times(x, y)
            assert np.array_equal(np.asarray(x), second)
            assert np.array_equal(np.asarray(y), first)
            del x, y
