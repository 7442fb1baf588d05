"""Plain integers at the ends of an int64: the reference wraps them where compiled code does, not
only where they are stored. NumPy's int64 scalars say what is right."""

from __future__ import annotations

import numpy as np
import pytest

from finch_core import Tensor, kernel
from finch_core.testing import backend_names
from finch_levels import Dense, Element, SparseList

FIRST, LAST = -(2**63), 2**63 - 1


def less(y, c, d):
    y[()] += c - d > 1
    return y


def branch(y, c, d):
    if c * d >= 0:
        y[()] += 1
    return y


def negated(y, c, d):
    y[()] += -c < d
    return y


def quotient(y, c, d):
    y[()] += (c + d + d) // 3
    return y


def local(y, c, d):
    t = c - d
    t -= d
    y[()] += (t > 0) + (t if c < d else -t) // 2
    return y


def of_floats(y, c, d):
    y[()] += int((c - d) * 0.5 > 0)
    return y


@pytest.mark.parametrize("backend", backend_names())
@pytest.mark.parametrize("program", [less, branch, negated, quotient, local, of_floats])
@pytest.mark.parametrize("c", [FIRST, FIRST + 1, -7, 0, LAST - 1, LAST])
@pytest.mark.parametrize("d", [FIRST, -1, 1, 3, LAST])
def test_plain_integers_wrap(backend, program, c, d):
    run = kernel(backend=backend)(program)
    with np.errstate(all="ignore"):
        expected = np.zeros((), np.int64)
        program(expected, np.int64(c), np.int64(d))
    assert run.reference(Tensor(Element(0, np.int64)), c, d) == expected
    y = Tensor(Element(0, np.int64))
    run(y, c, d)
    assert y[()] == expected


def bounds(y, x, c):
    for i in range(8):
        y[0] += x[i] if i + 1 < c else 0
        y[1] += x[i] if i - 1 <= c else 0
        y[2] += x[i] if c > i + 2 else 0
        y[3] += x[i] if i - 2 >= c else 0
        y[4] += x[i] if 3 - i < c else 0
        y[5] += x[i] if i + 3 == c else 0
        y[6] += x[i] if i - 3 != c else 0
        y[7] += x[i] if i < c - 1 else 0
        y[8] += x[i] if i <= c - 1 else 0
        y[9] += x[i] if i > c + 1 else 0
        y[10] += x[i] if c + 1 >= i else 0
        y[11] += x[i] if -i > c else 0


def outer(y, x, c):
    for i in range(8):
        for j in range(8):
            y[0] += x[j] if i + j + 1 < c else 0
            y[1] += x[j] if i - j <= c else 0
            y[2] += x[j] if j - i - 1 > c else 0


def ends(y, x, c):
    for i in range(8):
        y[0] += x[i] if i <= 9223372036854775807 else c
        y[1] += x[i] if i - 1 < 9223372036854775807 else c
        y[2] += x[i] if i + 1 <= -9223372036854775808 else c
        y[3] += x[i] if 2 - i == -9223372036854775808 else 0


@pytest.mark.parametrize("backend", backend_names())
@pytest.mark.parametrize("level", [Dense, SparseList])
@pytest.mark.parametrize("program", [bounds, outer, ends])
@pytest.mark.parametrize("c", [FIRST, FIRST + 1, -7, 0, 4, LAST - 1, LAST])
def test_bounds_of_indices_do_not_wrap_where_they_are_moved(backend, level, program, c):
    """``i + 1 < c`` is true up to ``c - 1``, which no int64 holds where ``c`` is the first."""
    x = np.array([3, 0, 4, 0, 1, 5, 0, 9])
    expected = np.zeros(12, np.int64)
    with np.errstate(all="ignore"):
        program(expected, x, np.int64(c))
    run = kernel(backend=backend)(program)
    args = Tensor(level(Element(0, np.int64)), x), c
    y = np.zeros(12, np.int64)
    np.testing.assert_array_equal(run.reference(y.copy(), *args)["y"], expected)
    run(y, *args)
    np.testing.assert_array_equal(y, expected)
