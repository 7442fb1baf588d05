"""Windows that loops of their own go through: where the outer range keeps them inside, there is
nothing to test. C, the interpreter and Python agree."""

from __future__ import annotations

import numpy as np
import pytest

from finch_core import Tensor, kernel
from finch_core.errors import FinchError
from finch_core.testing import backend_names
from finch_levels import Dense, Element, RunList, SparseBand, SparseList

BACKENDS = backend_names()


def dilated(y, x):
    for i in range(1, x.shape[0] - 1):
        for j in range(1, x.shape[1] - 1):
            m = x[i, j]
            for a in range(3):
                for b in range(3):
                    m = max(m, x[i + a - 1, j + b - 1])
            y[i, j] = m


def filtered(y, x):
    for i in range(2, x.shape[0] - 2):
        for j in range(2, x.shape[1] - 2):
            t = 0.0
            for a in range(-2, 3):
                for b in range(-2, 3):
                    t += x[i + a, j + b] * (a + 2 * b)
            y[i, j] = t


def mirrored(y, x):
    for i in range(2, x.shape[0]):
        for j in range(x.shape[1]):
            for a in range(3):
                y[i, j] += x[i - a, j]


PROGRAMS = (dilated, filtered, mirrored)
LEVELS = (Dense, SparseList, RunList, SparseBand)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.__name__)
@pytest.mark.filterwarnings("ignore::finch_core.errors.PerformanceWarning")
def test_programs(backend, program, level):
    for shape in ((7, 6), (3, 3), (1, 2), (0, 4)):
        x = np.random.default_rng(1).integers(-2, 4, shape) / 1.0
        found, wanted = np.zeros(shape), np.zeros(shape)
        kernel(backend=backend)(program)(found, Tensor(Dense(level(Element(0.0))), x))
        program(wanted, x)
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("program", [dilated, filtered])
def test_nothing_is_tested_within(program):
    text = kernel(program).lower(np.zeros((3, 3)), np.zeros((3, 3))).as_text("assembly")
    assert "fail" not in text[text.index("for i in") : text.index("site 0")]


def too_far(y, x):
    for i in range(1, x.shape[0]):
        for j in range(x.shape[1]):
            for a in range(3):
                y[i, j] += x[i + a - 1, j]


def below(x, a, b):
    s = 0.0
    if a <= b:
        s = x[b - a]
    return s


def beside(x, a, b):
    s = 0.0
    if a <= b:
        for i in range(a - b, 1):
            s += x[i]
    return s


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_leaves_the_tensor_fails(backend):
    with pytest.raises(FinchError, match="out of bounds"):
        kernel(backend=backend)(too_far)(np.zeros((4, 4)), np.ones((4, 4)))
    for far in (-(2**63), -(2**62) - 5):
        with pytest.raises(FinchError):
            kernel(backend=backend)(below)(np.ones(4), far, 2**62 + 9)
        with pytest.raises(FinchError):
            kernel(backend=backend)(beside)(np.ones(4), -5, 2)
