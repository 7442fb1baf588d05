"""Kernels whose calls are values: C, the interpreter, the reference and Python, which runs the
undecorated function, agree."""

from __future__ import annotations

import numpy as np
import pytest

from finch_core import Tensor, kernel
from finch_core.errors import KernelSyntaxError
from finch_core.testing import backend_names
from finch_levels import Dense, Element, RunList, SparseList

BACKENDS = backend_names()
FORMATS = [Dense(Element(0.0)), SparseList(Element(0.0)), RunList(Element(0.0))]


@kernel
def place_of_greatest(x):
    best = x[0]
    at = 0
    for i in range(1, len(x)):
        if x[i] > best:
            best = x[i]
            at = i
    return at


@kernel
def ends(x):
    low = x[0]
    high = x[0]
    for i in range(len(x)):
        low = min(low, x[i])
        high = max(high, x[i])
    return low, high


@kernel
def dot(a, b):
    s = 0.0
    for i in range(len(a)):
        s += a[i] * b[i]
    return s


@kernel
def taken(stack, top):
    stack[top] = -stack[top]
    return top - 1


@kernel
def scaled_by(y, by):
    for i in range(len(y)):
        y[i] += by * i


def names(y, x):
    at = place_of_greatest(x)
    low, high = ends(x)
    y[0] = at
    y[1] = high - low
    return dot(x, x) / 2


def parts(y, x):
    y[0] = dot(x, x) + 2 * dot(a=x, b=x)
    y[1] += abs(dot(x, x)) + place_of_greatest(x) * y[1]
    if dot(x, x) > 3 and x[0] > 0:
        y[2] = dot(x, x)
    elif place_of_greatest(x) == 1:
        y[3] = 1
    for k in range(place_of_greatest(x)):
        y[k] += dot(x, x)


def loops(y, x):
    n = 0
    for i in range(len(x)):
        n = n + place_of_greatest(x) * i
        m = dot(x, x)
        m += i
        y[i] = m if n > 2 else dot(x, x) if False else m + 1
    return n


def conditions(y, x):
    n = 0
    while dot(y, y) < 100 and (n < 3 or dot(x, y) < 0):
        n += 1
        if n == 2:
            continue
        y[n] += 2 * n
    t = dot(x, x) if n > 2 else 0.0
    y[0] += dot(x, y) if t > 50 else place_of_greatest(x) + (dot(x, y) if n else 1)
    if n < 0 or dot(x, x) > 80:
        return dot(y, y)
    elif n > 0 and (place_of_greatest(x) == 3 or dot(x, x) < 5):
        y[1] -= t or dot(x, x)
    return -1.0 if n > 9 else dot(y, y) and t + 1


def guards(y, x):
    for i in range(len(x)):
        if i > 0 and dot(x, x) > x[i - 1]:
            y[i] = x[i - 1]
        y[i] += dot(x, x) * x[i - 1] if i > 0 else 0.5
        k = i
        while (k > 0 and dot(x, x) > x[k - 1]) or k > 2:
            k -= 1
        y[i] += k
    return taken(y, 1) if x[0] > 0 else 7


def written_within(y, x):
    y[0] = y[1] + (taken(y, 1) if x[0] > 0 else 0)


def written_after(y, x):
    t = y[1] == 0 and taken(y, 1)
    y[0] = t


def chained(y, x):
    y[0] = 0 < dot(x, x) < dot(x, x) + 1


def arguments(y, x):
    scaled_by(y, 2 * dot(x, x) - place_of_greatest(x))
    y[1] = taken(y, place_of_greatest(x))


def effects(y, x):
    top = 2
    y[0] = x[0]
    y[1] = 1
    y[2] = 2
    while top > 0:
        top = taken(y, top)
    return top


PROGRAMS = [names, parts, loops, conditions, guards, arguments, effects]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fmt", FORMATS, ids=str)
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("values", [[3.0, 9.0, 0.0, 0.0], [0.0, 0.0, -2.0, 1.0], [1.0] * 4])
def test_calls_are_values(backend, fmt, program, values):
    x, y, wanted = np.array(values), np.zeros(4), np.zeros(4)
    number = program(wanted, x)
    compiled, given = kernel(backend=backend)(program), Tensor(fmt, x)
    referred = compiled.reference(np.zeros(4), given)
    np.testing.assert_equal(referred, {"y": wanted} if number is None else number)
    assert compiled(y, given) == number
    np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_call_in_a_chain_of_comparisons_is_refused(backend):
    with pytest.raises(KernelSyntaxError, match="'dot' is a kernel, whose call is a value in a st"):
        kernel(backend=backend)(chained)(np.zeros(4), np.ones(4))


@pytest.mark.parametrize("program", [written_within, written_after])
def test_a_call_that_writes_is_no_part_of_a_condition(program):
    with pytest.raises(KernelSyntaxError, match="'taken' writes to its arguments, and its call"):
        kernel(program)(np.zeros(4), np.ones(4))


def test_the_call_is_inlined():
    def distance(x, y):
        return dot(x, x) - 2 * dot(x, y) + dot(y, y)

    x, y = np.arange(4.0), np.ones(4)
    assert kernel(distance).lower(x, y).as_text("assembly").count("for ") == 3


@pytest.mark.parametrize("backend", BACKENDS)
def test_parameters_have_defaults(backend):
    @kernel(backend=backend)
    def scaled(y, x, by=2, shift=0.5):
        for i in range(len(x)):
            y[i] = x[i] * by + shift

    @kernel(backend=backend)
    def twice(y, x, by=3):
        scaled(y, x)
        scaled(y, y, by, shift=1)

    x = np.arange(4.0)
    for given, named, wanted in [
        ((), {}, 2 * x + 0.5), ((3,), {}, 3 * x + 0.5), ((), {"shift": 1}, 2 * x + 1),
    ]:  # fmt: skip
        for _turn in range(3):
            y = np.zeros(4)
            scaled(y, x, *given, **named)
            np.testing.assert_array_equal(y, wanted)
            np.testing.assert_array_equal(
                scaled.reference(np.zeros(4), x, *given, **named)["y"], wanted
            )
    twice(y, x)
    np.testing.assert_array_equal(y, (2 * x + 0.5) * 3 + 1)
    scaled.bind(y, x)()
    np.testing.assert_array_equal(y, 2 * x + 0.5)
    with pytest.raises(TypeError, match="lacks the argument 'x'"):
        scaled(y)
