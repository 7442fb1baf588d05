"""Turns that find variables as the one before left them: what is left of them is done at once. C,
the interpreter, the reference and Python agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from finch_core import Tensor, kernel
from finch_core.testing import backend_names
from finch_levels import Dense, Element, RunList, SparseBand, SparseList, SparseRunList

BACKENDS = backend_names()


def changes(y, x, z, n):
    """How many runs of equal values there are."""
    k = 0
    last = -1.0
    for i in range(n):
        v = x[i]
        if v != last:
            k += 1
        last = v
    return k, last


def starts(y, x, z, n):
    """Where runs begin, and what they hold."""
    k = 0
    last = -1
    for i in range(n):
        if x[i] != last:
            y[k] = i + 100 * x[i]
            k += 1
        last = x[i]
    return k


def risen(y, x, z, n):
    """Runs above 1 of two vectors at once, and how long they are."""
    k = 0
    inside = False
    length = 0
    for i in range(n):
        high = x[i] > 1 or z[i] > 1
        if high and not inside:
            k += 1
        if high:
            length += 1
        inside = high
    return k, length, inside


def varied(y, x, z, n):
    """The total variation, and a sum to which each turn adds what the one before left."""
    s = 0.0
    t = 0.0
    last = 0.0
    for i in range(n):
        d = x[i] - last
        s += abs(d)
        t += 2 * last + x[i]
        last = x[i]
    return s, t, last


def twice_set(y, x, z, n):
    """A variable that a turn sets twice, and one that it leaves as another was."""
    a = 5.0
    b = 7.0
    s = 0.0
    for i in range(n):
        s += a
        a = x[i]
        if a > b:
            s += 1
        a = x[i] + 1
        b = a
    return s, a, b


def two_back(y, x, z, n):
    """Only the third turn of a run finds what the second found."""
    a = 0.0
    b = 0.0
    k = 0
    for i in range(n):
        if b != x[i]:
            k += 1
        b = a
        a = x[i]
    return k, a, b


def kept(y, x, z, n):
    """A variable that some turns set."""
    a = 0.0
    s = 0.0
    for i in range(n):
        s += a
        if x[i] > 2:
            a = x[i]
        elif x[i] > 1:
            a = z[i]
    return s, a


def longest(y, x, z, n):
    """Each turn depends on how many there were."""
    best = 0
    length = 0
    for i in range(n):
        length = length + 1 if x[i] > 1 else 0
        best = max(best, length)
    return best


def backwards(y, x, z, n):
    last = -1.0
    k = 0
    for i in reversed(range(n)):
        if last != 2.0:
            y[k] = i
            k += 1
        last = 2.0
    return k


def by_threes(y, x, z, n):
    last = -1.0
    k = 0
    for i in range(0, n, 3):
        if x[i] != last:
            y[k] = i
            k += 1
        last = x[i]
    return k


def left_early(y, x, z, n):
    last = -1.0
    k = 0
    for i in range(n):
        if x[i] == 3:
            break
        if x[i] != last:
            k += 1
        last = x[i]
    return k, last


def elements(y, x, z, n):
    """An element is not a variable: it may be read by another name of its index."""
    if n > 0:
        y[0] = -1.0
    k = 0
    for i in range(n):
        if x[i] != y[0]:
            k += 1
        y[0] = x[i]
    return k


PROGRAMS = (
    changes, starts, risen, varied, twice_set, two_back, kept, longest, backwards, by_threes,
    left_early, elements,
)  # fmt: skip
LEVELS: list[Any] = [RunList, SparseRunList, SparseList, SparseBand, Dense]


def given(n: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(n)
    x, z = (np.repeat(rng.integers(0, 4, n), rng.integers(1, 5, n))[:n] / 1.0 for _ in range(2))
    return x, z


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.__name__)
def test_programs(backend, program, level):
    compiled = kernel(backend=backend)(program)
    for n in (0, 1, 9, 23):
        x, z = given(n)
        wanted, found = np.zeros(n), np.zeros(n)
        numbers = program(wanted, x, z, n)
        args = Tensor(level(Element(0.0)), x), Tensor(RunList(Element(0.0)), z), n
        np.testing.assert_array_equal(compiled(found, *args), numbers)
        np.testing.assert_array_equal(found, wanted)
        referred = compiled.reference(np.zeros(n), *args)
        if not isinstance(referred, dict):
            np.testing.assert_array_equal(referred, numbers)


def long_runs(dtype: Any = np.float64) -> Tensor:
    ends, values = np.array([5, 10**8, 10**9]), np.array([1, 3, 0], dtype)
    buffers = {"0_ptr": np.array([0, 3]), "0_right": ends, "1_val": values}
    return Tensor.from_buffers(RunList(Element(dtype(0))), (10**9,), buffers)


@pytest.mark.parametrize(
    ("program", "numbers"),
    [
        (changes, (3, 0.0)),
        (risen, (1, 10**8 - 5, False)),
        (varied, (6.0, 3 * (5.0 + 3 * (10**8 - 5)), 0.0)),
    ],
)
def test_one_turn_a_run(program, numbers):
    x, y = long_runs(), np.zeros(3)
    assert "for i in" not in kernel(program).lower(y, x, x, 10**9).as_text("assembly")
    np.testing.assert_allclose(kernel(program)(y, x, x, 10**9), numbers, rtol=1e-12)


def test_one_turn_a_run_where_runs_begin():
    """Of integers: a run of NaN would begin at each index."""
    x, y = long_runs(np.int64), np.zeros(3)
    assert "for i in" not in kernel(starts).lower(y, x, x, 10**9).as_text("assembly")
    assert kernel(starts)(y, x, x, 10**9) == 3
    assert y.tolist() == [100.0, 305.0, 1e8]


@pytest.mark.parametrize("backend", BACKENDS)
def test_nan_differs_from_itself(backend):
    x = np.array([1.0, np.nan, np.nan, np.nan, 2.0, 2.0])
    runs = Tensor(RunList(Element(0.0)), x)
    assert kernel(backend=backend)(changes)(np.zeros(6), runs, runs, 6)[0] == 5


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_a_fill_left_is_a_number(backend):
    """``last`` is 0 in each turn, by infinity NaN; the fill itself adds nothing."""

    @kernel(backend=backend)
    def weighted(x, w, n):
        last = 0.0
        s = 0.0
        for i in range(n):
            s += last * w
            last = x[i]
        return s

    x = Tensor(SparseList(Element(0.0)), np.zeros(4))
    assert np.isnan(weighted(x, np.inf, 4))


def test_strict_sums_go_index_by_index():
    x = np.full(10, 0.1)
    runs = Tensor(RunList(Element(0.0)), x)
    for backend in BACKENDS:
        strict = kernel(backend=backend, strict=True)(varied)
        np.testing.assert_array_equal(strict(x, runs, runs, 10), varied(x, x, x, 10))
