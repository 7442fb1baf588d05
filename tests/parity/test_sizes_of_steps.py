"""Sizes that ranges with a step tell where they have no turns: the same however an end is written,
as a constant, a parameter or a length, and never more than the range is written to reach."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from finch_core import Tensor, kernel
from finch_core.testing import backend_names
from finch_levels import Dense, Element

BACKENDS = backend_names()
VECTOR = Dense(Element(0.0))
ENDS = [(2, 0), (2, 1), (2, 2), (9, 5), (9, 4), (2, 9), (0, 0)]


def by_parameters(y, w, x, a, b):
    y[...] = 0
    for i in range(a, b, 3):
        y[i] = 1
    return y


def by_lengths(y, w, x, a, b):
    y[...] = 0
    for i in range(len(w), len(x), 3):
        y[i] = 1
    return y


def backwards(y, w, x, a, b):
    y[...] = 0
    for i in reversed(range(a, b, 3)):
        y[i] = 1
    return y


def to_nine(y, w, x, a, b):
    y[...] = 0
    for i in range(a, 9, 3):
        y[i] = 1
    return y


def nine_to_two(y, w, x, a, b):
    y[...] = 0
    for i in range(9, 2, 3):
        y[i] = 1
    return y


def down_from_two(y, w, x, a, b):
    y[...] = 0
    for i in range(2, 9, -3):
        y[i] = 1
    return y


def found(function: Any, backend: str, a: int, b: int) -> list[float]:
    run = kernel(function, backend=backend)
    args = (np.zeros(a), np.zeros(b), a, b)
    y = run(Tensor(VECTOR), *args).to_numpy()
    np.testing.assert_array_equal(y, run.reference(Tensor(VECTOR), *args), strict=True)
    return y.tolist()


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_empty_range_tells_one_size_however_it_is_written(backend: str) -> None:
    for a, b in ENDS:
        wanted = [float(i in range(a, b, 3)) for i in range(max(0, (b - a - 1) // 3 * 3 + a + 1))]
        assert len(wanted) <= b
        for function in (by_parameters, by_lengths, backwards):
            assert found(function, backend, a, b) == wanted
    assert found(to_nine, backend, 9, 0) == [0.0] * 7
    assert found(nine_to_two, backend, 0, 0) == [0.0]
    assert found(down_from_two, backend, 0, 0) == [0.0] * 3


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("step", [2, 3, 2**62, 2**63 - 1])
def test_ends_that_are_far_have_no_turns(backend: str, step: int) -> None:
    """Where an end of an empty range, or what is computed of it, would wrap."""

    @kernel(backend=backend)
    def turns(a, b, s):
        found = 0
        for _i in range(a, b, s):
            found += 1
        return found

    far = [-(2**63), -(2**62) - 1, -1, 0, 1, 2**62 + 1, 2**63 - 1]
    for k, a in enumerate(far):
        for b in far[: k + 1]:
            assert turns(a, b, step) == 0
