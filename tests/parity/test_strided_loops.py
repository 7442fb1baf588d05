"""Ranges with a step and reversed ranges: compiled code and the interpreter do what Python does."""

from __future__ import annotations

import numpy as np
import pytest
from test_early_exits import INPUTS

from finch_core import Tensor, kernel
from finch_core.ir.program_text import program_text
from finch_core.testing import backend_names
from finch_levels import Dense, Element, Scalar, SparseList

ZERO = Element(0.0)
BACKENDS = backend_names()


def upwards(s, y, x, a, b):
    s[...] = 0
    for i in range(a, b, 3):
        y[i] = x[i] * 2 + i
        s[()] += x[i] + 1


def downwards(s, y, x, a, b):
    s[...] = 0
    for i in range(b - 1, a - 1, -1):
        y[i] = x[i] * 2 + s[()]
        s[()] += x[i] + 1


def backwards(s, y, x, a, b):
    s[...] = 0
    for i in reversed(range(a, b, 2)):
        if x[i] == 2:
            continue
        if x[i] > 5:
            break
        y[i] = x[i] * 2 + s[()]
        s[()] += x[i] + 1


def backwards_of_backwards(s, y, x, a, b):
    s[...] = 0
    for i in reversed(range(b - 1, a - 1, -2)):
        y[i] = x[i] + s[()]
        s[()] += 1


def invariant(s, y, x, a, b):
    s[...] = 0
    for i in range(a, b, 2):
        s[()] += x[i]
        y[i] += 1
        for _j in range(b, a, -3):
            s[()] += 2


def stepping(s, y, x, a, b, step):
    s[...] = 0
    for i in range(a, b, step):
        y[i] = x[i] * 2 + s[()]
        s[()] += x[i] + 1


ENDS = ((0, 12), (1, 12), (0, 11), (2, 9), (5, 5), (7, 3), (3, 4), (0, 1))
PROGRAMS = (upwards, downwards, backwards, backwards_of_backwards, invariant)


def agree(function, x, *numbers, backends=("interpreter",)):
    """Compare with the function itself, run by Python over arrays; the reference, too."""
    s, y = np.zeros(()), np.zeros(12)
    function(s, y, np.asarray(x), *numbers)
    for backend in backends:
        total, found = np.zeros(()), np.zeros(12)
        kernel(function, backend=backend)(total, found, x, *numbers)
        np.testing.assert_array_equal(found, y, err_msg=f"{backend} {numbers}")
        assert total == s, (backend, numbers)


@pytest.mark.parametrize("level", INPUTS, ids=lambda level: level.__name__)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_every_step_of_every_format(program, level):
    rng = np.random.default_rng(3)
    data = rng.integers(0, 4, 12) * rng.integers(1, 3, 12) * 1.0
    x = Tensor(level(ZERO), data)
    for ends in ENDS:
        agree(program, x, *ends)
    agree(program, x, 1, 12, backends=("c",))


@pytest.mark.parametrize("ends", [(0, 12, 5), (11, -1, -3), (3, 9, -1), (9, 3, -4), (2, 2, 1)])
def test_steps_known_at_run_time(ends):
    data = np.arange(12.0)
    for x in (data, Tensor(SparseList(ZERO), data * (data % 3 == 0))):
        agree(stepping, x, *ends, backends=("interpreter", "c"))


def far_apart(y, ends, n):
    for i in range(ends[0], ends[1], 3):
        y[i] = 1.0
    for i in range(n, -5, 3):
        y[i] = 2.0
    for i in range(ends[1], ends[0], -3):
        y[i] = 3.0


@pytest.mark.parametrize("last", [2**63 - 1, 2**63 - 2])
def test_the_length_of_an_empty_range_does_not_wrap(last):
    for backend in ("interpreter", "c"):
        y = np.zeros(4)
        kernel(far_apart, backend=backend)(y, np.array([last, -5]), last)
        assert not y.any(), backend


def turns(count, a, b, step):
    for _k in range(a, b, 2**62):
        count[0] += 1
    for _k in range(a, b, step):
        count[1] += 1
    for _k in reversed(range(a, b, step)):
        count[2] += 1


@pytest.mark.parametrize("stop", [2**63 - 1, 2**62 + 1, 2**62, 1, 0])
def test_long_steps_make_few_turns(stop):
    for backend in ("interpreter", "c"):
        found = np.zeros(3)
        kernel(turns, backend=backend)(found, 0, stop, 2**62)
        assert found.tolist() == [len(range(0, stop, 2**62))] * 3, backend


def ends_of_pairs(y, x, n):
    y[...] = 0
    for i in range(0, n, 2):
        y[i] = x[i + 1] - x[i]
    return y


def test_the_last_index_bounds_what_is_read():
    x = np.array([1.0, 5.0, 2.0, 9.0])
    y = kernel(ends_of_pairs)(Tensor(Dense(ZERO)), x, 4)
    assert y.to_numpy().tolist() == [4.0, 0.0, 7.0]
    assert kernel(ends_of_pairs).reference(Tensor(Dense(ZERO)), x, 4).tolist() == [4.0, 0.0, 7.0]


def appended(y, x, n):
    y[...] = 0
    for i in range(1, n, 2):
        y[i] = x[i]
    return y


def test_a_loop_upwards_appends():
    x = np.arange(7.0)
    for out in (SparseList(ZERO), Dense(ZERO)):
        y = kernel(appended)(Tensor(out), Tensor(SparseList(ZERO), x), 7)
        assert y.to_numpy().tolist() == [0.0, 1.0, 0.0, 3.0, 0.0, 5.0]


def solved(x, U, b, n):
    for i in range(n - 1, -1, -1):
        t = b[i]
        for j in range(i + 1, n):
            t -= U[i, j] * x[j]
        x[i] = t / U[i, i]


def test_back_substitution():
    rng = np.random.default_rng(0)
    upper = np.triu(rng.random((6, 6)) * (rng.random((6, 6)) < 0.5)) + 2 * np.eye(6)
    b = rng.random(6)
    for backend in ("interpreter", "c"):
        x = np.zeros(6)
        kernel(solved, backend=backend)(x, Tensor(Dense(SparseList(ZERO)), upper), b, 6)
        np.testing.assert_allclose(upper @ x, b)


def first_multiple(s, x, n):
    s[...] = -1
    for i in range(n, 0, -1):
        if x[i - 1] > 2:
            s[()] = i
            break
    return s


def test_a_loop_downwards_can_be_left():
    for data, found in (([1.0, 3.0, 5.0, 0.0], 3), ([0.0, 1.0], -1), ([4.0], 1), ([], -1)):
        x = np.array(data)
        for backend in ("interpreter", "c"):
            s = kernel(first_multiple, backend=backend)(Scalar(-1), x, len(data))
            assert s.value == found


def unsigned_start(y, n, m):
    for i in range(n - m, n):
        y[i] += 1


def unsigned_element(y, n, m):
    x = np.zeros(1, np.uint64)
    x[0] = n
    for i in range(x[0] - m, x[0]):
        y[i] += 1


def unsigned_step(y, n, m):
    for i in range(n, 0, -m):
        y[i] += 1


def stepped(y, n, m):
    for i in range(0, n, m):
        y[i] += 1


def stepped_up(y, n, m):
    for i in range(n, m, 3):
        y[i] += 1


def stepped_down(y, n, m):
    for i in range(n, m, -2):
        y[i] += 1


def backwards_by_one(y, n, m):
    for i in reversed(range(n, m)):
        y[i] += 1


def any_step(y, n, step):
    for i in range(n, 4, step):
        y[i] += 1


def least_step(y, n, m):
    for i in range(n, m, -(2**63)):
        y[i] += 1


U, LEAST, GREATEST = np.uint64, -(2**63), 2**63 - 1


@pytest.mark.parametrize(
    ("loop", "n", "m", "expected"),
    [
        (unsigned_start, U(3), U(5), []),  # n - m wraps
        (unsigned_start, U(5), U(3), [2, 3, 4]),
        (unsigned_start, U(0), U(GREATEST), []),
        (unsigned_element, U(3), U(5), []),
        (unsigned_element, U(5), U(3), [2, 3, 4]),
        (unsigned_step, U(9), U(3), []),  # -m is a large number
        (stepped, LEAST + 2, 3, []),
        (stepped, LEAST + 1, 2, []),
        (stepped, 9, 4, [0, 4, 8]),
        (stepped, -3, 4, []),
        (stepped, 9, -4, []),
        (stepped_up, 1, LEAST, []),
        (stepped_up, 3, 9, [3, 6]),
        (stepped_down, 9, 1, [3, 5, 7, 9]),
        (stepped_down, LEAST, 4, []),
        (stepped_down, 3, GREATEST, []),
        (backwards_by_one, 5, LEAST + 2, []),
        (backwards_by_one, GREATEST, LEAST, []),
        (backwards_by_one, 2, 5, [2, 3, 4]),
        (any_step, 0, LEAST, []),  # no int64 holds 2**63
        (any_step, 7, LEAST, [7]),
        (any_step, 3, GREATEST, [3]),
        (least_step, 0, 5, []),
        (least_step, 5, -3, [5]),
    ],
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_ranges_whose_ends_wrap_or_are_extreme(backend, loop, n, m, expected):
    """They have the turns that Python's have; nothing beside the array is written."""
    room = np.zeros(30)
    kernel(loop, backend=backend)(room[10:20], n, m)
    assert (np.flatnonzero(room) - 10).tolist() == expected


def backwards_by(y, n, m, step):
    for i in reversed(range(n, m, step)):
        y[i] += 1


def backwards_of_elements(y, n, m):
    for k in _:
        for i in reversed(range(n[k], m[k])):
            y[i] += 1


def down_from_elements(y, n, m):
    for k in _:
        for i in range(n[k], m[k], -1):
            y[i] += 1


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.uint16, np.int32, np.uint64])
@pytest.mark.parametrize("backend", BACKENDS)
def test_ends_and_steps_of_any_width_do_not_wrap(backend, dtype):
    """Backwards, what lies before the first number may be below the dtype's least one, and what
    lies behind the last one above its greatest."""
    run, greatest = kernel(backwards_by, backend=backend), min(np.iinfo(dtype).max, 300)
    for n, m, step in ((0, 5, 1), (0, 6, 2), (1, 6, 2), (0, 1, 3), (greatest - 7, greatest, 3)):
        y = np.zeros(301)
        run(y, dtype(n), dtype(m), dtype(step))
        assert np.flatnonzero(y).tolist() == list(range(n, m, step))
    starts, stops = np.array([0, greatest - 2, 3], dtype), np.array([3, greatest, 3], dtype)
    for loop, ends, counts in (
        (backwards_of_elements, (starts, stops), (3, 2)),
        (down_from_elements, (stops, starts), (3, 2)),
    ):
        y = np.zeros(301)
        kernel(loop, backend=backend)(y, *ends)
        assert y.sum() == sum(counts)
        assert y.max() == 1


def test_reversed_ranges_have_a_text_and_a_reference():
    @kernel
    def order(y, n):
        k = 0
        for i in reversed(range(n, len(y), 2)):
            y[k] = i
            k += 1
        return k

    y = np.zeros(6)
    assert order(y, np.uint8(0)) == order.reference(np.zeros(6), np.uint8(0)) == 3
    assert y.tolist() == [4, 2, 0, 0, 0, 0]
    assert "reversed(range(n, len(y), 2))" in program_text(order.program)
