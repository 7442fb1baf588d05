"""``prev, cur = cur, prev`` of tensors: C, the interpreter, the reference and Python, which runs
the undecorated function over arrays, agree; arguments hold what Python leaves in them."""

from __future__ import annotations

import numpy as np
import pytest

from finch_core import Tensor, kernel, swap
from finch_core.testing import backend_names
from finch_levels import Dense, Element


def workspaces(y, x, n):
    prev, cur = np.zeros(4), np.zeros(4)
    for i in range(4):
        prev[i] = x[i]
    for k in range(n):
        for i in range(4):
            cur[i] = prev[(i + 1) % 4] + k
        prev, cur = cur, prev
    for i in range(4):
        y[i] = prev[i] + 10 * cur[i]


def one_argument(y, x, n):
    w = np.zeros_like(x)
    for k in range(n):
        for i in range(4):
            w[i] = x[(i + 1) % 4] + k
        x, w = w, x
    for i in range(4):
        y[i] = x[i] + 10 * w[i]


def two_arguments(y, x, n):
    for k in range(n):
        for i in range(4):
            y[i] = x[(i + 1) % 4] + k
        x, y = y, x


def rotated(y, x, n):
    w = np.full(len(x), 5.0)
    for k in range(n):
        for i in range(4):
            w[i] = y[i] + 2 * x[(i + 1) % 4] + k
        y, x, w = x, w, y
    w[0] = 100


def several(y, x, n):
    w, v = x.copy(), x.copy()
    for k in range(n):
        if k % 2:
            y, w = w, y
        else:
            [x, v, w] = v, w, x
        for i in range(4):
            w[i] += x[i] + v[i] + y[i]


def in_the_last_block(y, x, n):
    y[0] = 7
    if n > 2:
        w = np.zeros_like(x)
        for k in range(n):
            for i in range(4):
                w[i] = x[(i + 1) % 4] + k
            x, w = w, x
        y[0] = x[0]


def ends_early(y, x, n):
    if n == 3:
        return 7.0
    w = np.zeros_like(x)
    for k in range(n):
        for i in range(4):
            w[i] = x[(i + 1) % 4] + k
        x, w = w, x
        if k == 4:
            return x[0]
    return w[0]


def different_fills(y, x, n):
    a, b = np.full_like(x, np.inf), np.ones(len(x))
    for _k in range(n):
        for i in range(4):
            b[i] += min(a[i], x[i])
        a, b = b, a
    for i in range(4):
        y[i] = a[i] + b[i]


def equal_fills(y, x, n):
    a, b = np.full(len(x), np.inf), np.full(len(x), np.inf)
    for k in range(n):
        b[:] = np.inf
        b[k % 4] = x[k % 4]
        a, b = b, a
    for i in range(4):
        y[i] = a[i]


def made_anew(y, x, n):
    prev = np.zeros(4)
    for _k in range(n):
        cur = np.zeros(4)
        for i in range(4):
            cur[i] = prev[i] + x[i]
        prev, cur = cur, prev
    for i in range(4):
        y[i] = prev[i]


def gives_one(y, x, n):
    prev, cur = x.copy(), np.zeros_like(x)
    for _k in range(n):
        for i in range(4):
            cur[i] = prev[i - 1 if i else 3] * 2
        prev, cur = cur, prev
    return prev


def numbers_too(y, x, n):
    a, b = 1, 2
    for _k in range(n):
        a, b = b, a
        x[0], x[1] = x[1], x[0]
    y[0] = a - 2 * b


def gives_what_is_exchanged_once(y, x, n):
    w = np.zeros_like(x)
    for i in range(4):
        w[i] = x[i] + n
    x, w = w, x
    for i in range(4):
        w[i] -= x[i]
    y, w = w, y
    w[0] = 1
    return x, y, w


def one_statement_for_tensors_and_numbers(y, x, n):
    t, u = 0, 1.0
    for k in range(n):
        for i in range(4):
            y[i] = x[(i + 1) % 4] + k
        x, y, t, u = y, x, t + k, u + x[0]
    x[0], y[1] = t, u


def of_other_shapes_and_dtypes(y, x, n):
    w, v = np.zeros(n + 1, dtype=np.float32), np.zeros(2)
    w, v, x = v, x, w
    for i in range(len(x)):
        x[i] = i
    for i in range(len(w)):
        w[i] = len(v) + x[0]
    y[0] = w[1] + len(x)


def of_which_nothing_is_read(y, x, n):
    y, x = x, y
    return x


PROGRAMS = [
    workspaces, one_argument, two_arguments, rotated, several, in_the_last_block, ends_early,
    different_fills, equal_fills, made_anew, gives_one, numbers_too,
    gives_what_is_exchanged_once, one_statement_for_tensors_and_numbers,
    of_other_shapes_and_dtypes, of_which_nothing_is_read,
]  # fmt: skip


@pytest.mark.parametrize("backend", backend_names())
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_exchanges(backend, program):
    compiled = kernel(backend=backend)(program)
    for fmt in (None, Dense(Element(0.0))):
        for n in (0, 1, 2, 3, 5, 6):
            y, x = np.array([0.5, 0, 7, 8]), np.array([1.0, 2, 0, 4])
            given = [v.copy() if fmt is None else Tensor(fmt, v) for v in (y, x)]
            referred = compiled.reference(y, x, n)
            result = program(y, x, n)
            found = compiled(*given, n)
            for tensor, wanted in zip(given, (y, x), strict=True):
                np.testing.assert_array_equal(np.asarray(tensor), wanted)
            if result is None:
                for name, wanted in (("y", y), ("x", x)):
                    np.testing.assert_array_equal(referred.get(name, wanted), wanted)
            else:
                np.testing.assert_array_equal(np.asarray(found), result)
                np.testing.assert_array_equal(referred, result)


@kernel
def turned(y, x):
    y, x = x, y
    y[0] += 1


def test_a_kernel_that_is_called_gives_arguments_back():
    @kernel
    def caller(y, x, n):
        for _k in range(n):
            turned(y, x)

    y, x = np.zeros(2), np.zeros(2)
    caller(y, x, 3)
    assert y.tolist() == [0, 0]
    assert x.tolist() == [3, 0]


def test_contents_may_be_swapped_as_well():
    @kernel
    def both(y, x, n):
        for _k in range(n):
            x, y = y, x
            x[0] += 1
            swap(x, y)

    y, x = np.array([1.0]), np.array([10.0])
    both(y, x, 1)
    assert y.tolist() == [10.0]
    assert x.tolist() == [2.0]


@kernel
def rolled(to, of, by):
    for i in range(len(to)):
        to[i] = of[(i + 1) % 4] + by


@kernel
def passed_on(y, x, by):
    rolled(y, x, by)


def test_names_that_are_only_given_to_kernels():
    @kernel
    def steps(y, x, a, b, n):
        for _k in range(n):
            passed_on(y, x, a)
            y, x = x, y
            a, b = b, a

    for n in (1, 2, 3):
        y, x, there, back = np.zeros(4), np.arange(4.0), np.zeros(4), np.arange(4.0)
        steps(y, x, 1, 2, n)
        for k in range(n):
            rolled.__wrapped__(there, back, 1 + k % 2)
            there, back = back, there
        if n % 2:
            there, back = back, there
        assert y.tolist() == there.tolist()
        assert x.tolist() == back.tolist()
