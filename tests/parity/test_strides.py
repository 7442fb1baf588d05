"""Reads at every ``n``-th index and from the end: they walk what is stored, on every format."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from finch_core import FormatError, Tensor, _, coalesce, kernel, stored
from finch_core.errors import OutOfBounds
from finch_core.plugins import hub
from finch_core.testing.formats import admit, leaf, level_names, nest
from finch_core.testing.running import on
from finch_levels import Dense, Element, RunList, Scalar, SparseByteMap, SparseList
from finch_wrappers import offset, reverse, stride, swizzle, window

BACKENDS = ("interpreter", None)
DATA = {
    "half": np.array([0.0, 3, 0, 0, 4, 5, 0, 1, 0, 0, 2]),
    "ends": np.array([6.0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7]),
    "runs": np.array([2.0, 2, 2, 2, 0, 0, 0, 5, 5, 0, 0]),
    "none": np.zeros(11),
}
OTHER = np.array([1.0, 0, 2, 0, 0, 3, 4, 0, 5, 0, 6])


def odd(s, a, b):
    s[...] = 0
    for i in _:
        s[()] += a[2 * i + 1] * (i + 1) + b[i]
    return s


def backwards(s, a, b, n):
    s[...] = 0
    for i in range(0, n):
        s[()] += (a[n - 1 - i] + b[i]) * (i + 1)
    return s


def thirds_from_the_end(s, a, b, n):
    s[...] = 0
    for i in range(0, 4):
        s[()] += (coalesce(a[~(n - 3 * i)], 9) + a[n - 1 - 3 * i] * b[i]) * (i + 1)
    return s


def by_a_number(s, a, b, n):
    s[...] = 0
    for i in range(0, 4):
        s[()] += a[n * i + 9 * (n < 0)] * (b[i] + 1) * (i + 1)
    return s


def dilated(s, a, b, n):
    s[...] = 0
    for i in range(0, n - 6):
        for k in range(0, 3):
            s[()] += a[i + 3 * k] * b[k] * (i + 1)
    return s


def strided(s, a, b, n):
    s[...] = 0
    for k in range(0, 3):
        for i in range(0, 4):
            s[()] += a[k + 2 * i] * b[k] * (i + 1)
    return s


def numbers(function: Any, a: Any, b: Any, n: int) -> float:
    """What a kernel computes, by NumPy alone."""
    padded = {-1: 9.0} | dict(enumerate(a)) | {len(a): 9.0}
    step = n if function is by_a_number else 0
    terms = {
        odd: lambda: [a[2 * i + 1] * (i + 1) + b[i] for i in range(5)],
        backwards: lambda: [(a[n - 1 - i] + b[i]) * (i + 1) for i in range(n)],
        thirds_from_the_end: lambda: [
            (padded[n - 3 * i] + a[n - 1 - 3 * i] * b[i]) * (i + 1) for i in range(4)
        ],
        by_a_number: lambda: [
            a[step * i + 9 * (step < 0)] * (b[i] + 1) * (i + 1) for i in range(4)
        ],
        dilated: lambda: [
            a[i + 3 * k] * b[k] * (i + 1) for i in range(n - 6) for k in range(3)
        ],
        strided: lambda: [a[k + 2 * i] * b[k] * (i + 1) for i in range(4) for k in range(3)],
    }  # fmt: skip
    return float(sum(terms[function]()))


CASES = (
    (odd, ()), (backwards, (11,)), (thirds_from_the_end, (11,)), (dilated, (11,)), (strided, (11,)),
    (by_a_number, (3,)), (by_a_number, (-3,)), (by_a_number, (0,)), (by_a_number, (1,)),
)  # fmt: skip


@pytest.mark.parametrize("level", level_names())
@pytest.mark.parametrize(("function", "more"), CASES, ids=lambda x: getattr(x, "__name__", str(x)))
def test_every_format_is_read_at_affine_indices(function: Any, more: Any, level: str) -> None:
    other = OTHER[:5] if function is odd else OTHER
    for k, data in enumerate(DATA.values()):
        format = nest([hub().level(level)], leaf())
        a = Tensor(format, admit(format, data))
        b = Tensor(SparseList(Element(0.0)), other) if k % 2 else other
        expected = numbers(function, a.to_numpy(), other, *(more or (0,)))
        backends = BACKENDS if k == 0 else BACKENDS[:1]
        for backend in backends:
            assert on(backend, function)(Scalar(0.0), a, b, *more).value == expected, data
        assert float(kernel(function).reference(Scalar(0.0), a, b, *more)) == expected


@kernel
def every_other(s, a, b):
    s[...] = 0
    for i in _:
        s[()] += a[2 * i] * b[i]
    return s


@kernel
def last_first(s, a, n):
    s[...] = 0
    for i in range(0, n):
        s[()] += a[n - 1 - i] * (i + 1)
    return s


@pytest.mark.parametrize("program", ["every_other", "last_first"])
@pytest.mark.parametrize("level", [SparseList, RunList])
def test_nothing_is_searched(program: str, level: Any) -> None:
    a = Tensor(level(Element(0.0)), DATA["half"])
    lowered = (
        every_other.lower(Scalar(0.0), a, OTHER[:6])
        if program == "every_other"
        else last_first.lower(Scalar(0.0), a, 11)
    )
    loops = lowered.as_text("assembly").partition("s_val = 0")[2]
    assert "for q" in loops or "while a0_p" in loops
    assert "for at" not in lowered.as_text("normalized")


def test_a_list_is_left_with_the_multiples_of_the_step() -> None:
    a = Tensor(SparseList(Element(0.0)), DATA["half"])
    text = every_other.lower(Scalar(0.0), a, OTHER[:6]).as_text("assembly")
    assert "i: int64 = a0_idx[a0_p] >> 1" in text


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("n", [10, 12])
def test_reads_beyond_the_tensor_fail(backend: str | None, n: int) -> None:
    for data in (DATA["half"], Tensor(SparseList(Element(0.0)), DATA["half"])):
        run = on(backend, backwards)
        if n == 12:
            with pytest.raises(OutOfBounds):
                run(Scalar(0.0), data, np.ones(12), n)
        else:
            assert run(Scalar(0.0), data, np.zeros(12), n).value > 0


@kernel
def total(s, a):
    s[...] = 0
    for i, j in _:
        s[()] += a[i, j] * (10 * i + j + 1)
    return s


SLICES = (
    (2, -1), (None, slice(1, None, 2)), (slice(None, None, -2), -1), (slice(3, 0, -1), slice(1, 5)),
    (slice(2, 2), -1), (slice(4, 1, -2), slice(-2, None)), (7, -7),
)  # fmt: skip


@pytest.mark.parametrize("steps", SLICES, ids=str)
@pytest.mark.parametrize("level", [Dense, SparseList, RunList, SparseByteMap])
def test_a_stride_is_numpys_slice(level: Any, steps: Any) -> None:
    data = np.where(np.arange(30).reshape(5, 6) % 3, 0.0, np.arange(1.0, 31).reshape(5, 6))
    view = stride(Tensor(Dense(level(Element(0.0))), data), *steps)
    slices = tuple(s if isinstance(s, slice) else slice(None, None, s) for s in steps)
    expected = data[slices]
    assert view.shape == expected.shape
    np.testing.assert_array_equal(np.asarray(view), expected)
    weights = 10 * np.arange(expected.shape[0])[:, None] + np.arange(expected.shape[1]) + 1
    assert total(Scalar(0.0), view).value == (expected * weights).sum()
    made = Tensor(Dense(SparseList(Element(0.0))), view)
    np.testing.assert_array_equal(made.to_numpy(), expected)


def test_strides_of_windows_and_windows_of_strides() -> None:
    data = np.arange(24.0)
    a = Tensor(SparseList(Element(0.0)), data)
    np.testing.assert_array_equal(np.asarray(window(stride(a, 3), (2, 6))), data[::3][2:6])
    np.testing.assert_array_equal(np.asarray(window(stride(a, -5), (1, 3))), data[::-5][1:3])
    np.testing.assert_array_equal(np.asarray(window(stride(a, -5), (2, 2))), data[:0])
    np.testing.assert_array_equal(np.asarray(stride(window(a, (3, 20)), -4)), data[3:20][::-4])
    np.testing.assert_array_equal(np.asarray(stride(stride(a, 2), -3)), data[::2][::-3])


def test_reverse_takes_some_dimensions() -> None:
    data = np.arange(12.0).reshape(3, 4)
    a = Tensor(Dense(SparseList(Element(0.0))), data)
    np.testing.assert_array_equal(np.asarray(reverse(a)), data[::-1, ::-1])
    np.testing.assert_array_equal(np.asarray(reverse(a, 1)), data[:, ::-1])
    np.testing.assert_array_equal(np.asarray(reverse(swizzle(a, (1, 0)), 0)), data.T[::-1])


def test_a_reversed_tensor_may_grow_between_calls() -> None:
    a = Tensor(Dense(Element(0.0)), np.arange(3.0))
    view = reverse(a)
    assert last_first(Scalar(0.0), view, 3).value == 0 + 2 + 6
    fill(a, np.arange(5.0))
    np.testing.assert_array_equal(np.asarray(view), np.arange(5.0)[::-1])


@kernel
def fill(y, x):
    y[...] = 0
    for i in _:
        y[i] = x[i]
    return y


def test_offsets_of_strides() -> None:
    data = DATA["half"]
    a = Tensor(SparseList(Element(0.0)), data)
    expected = sum(data[::2][i + 1] * (i + 2) for i in range(-1, 5))
    assert shifted(Scalar(0.0), offset(stride(a, 2), 1)).value == expected


@kernel
def shifted(s, a):
    s[...] = 0
    for i in _:
        s[()] += a[i] * (i + 2)
    return s


def test_updates_go_to_the_strided_elements() -> None:
    a = Tensor(Dense(Element(0.0)), np.zeros(7))
    add(stride(a, 3), 3)
    assert a.to_numpy().tolist() == [1, 0, 0, 2, 0, 0, 3]
    add(reverse(a), 7)
    assert a.to_numpy().tolist() == [8, 6, 5, 6, 3, 2, 4]


@kernel
def add(y, n):
    for i in range(0, n):
        y[i] += i + 1
    return y


def double_evens(A, n):
    for i in range(0, n):
        A[2 * i] *= 2
    return A


@kernel
def set_stored_from_the_end(A, n):
    for i in range(0, n):
        if stored(A[n - 1 - i]):
            A[n - 1 - i] = i + 1
    return A


@pytest.mark.parametrize("backend", BACKENDS)
def test_updates_in_place_walk_the_strided_structure(backend: str | None) -> None:
    data = DATA["half"]
    a = Tensor(SparseList(Element(0.0)), data)
    expected = data.copy()
    expected[::2] *= 2
    made = on(backend, double_evens)(a, 6)
    np.testing.assert_array_equal(made.to_numpy(), expected)
    set_stored_from_the_end(a, 11)
    np.testing.assert_array_equal(a.to_numpy(), np.where(data, np.arange(11, 0, -1.0), 0))
    assert "search" not in kernel(double_evens).lower(a, 6).as_text("assembly")


def test_a_part_of_a_run_is_not_updated_in_place() -> None:
    with pytest.raises(FormatError):
        kernel(double_evens)(Tensor(RunList(Element(0.0)), DATA["runs"]), 6)
