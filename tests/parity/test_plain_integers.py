"""Plain integers at the ends of an int64: the reference wraps them where compiled code does, not
only where they are stored. NumPy's int64 scalars say what is right."""

from __future__ import annotations

import numpy as np
import pytest

from finch_core import Tensor, kernel
from finch_core.testing import backend_names
from finch_levels import Element

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
