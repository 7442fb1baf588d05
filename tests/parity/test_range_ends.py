"""Ranges whose ends and steps are read from views: within them, and refused outside."""

from __future__ import annotations

import numpy as np
import pytest

from finch_core import OutOfBounds, kernel
from finch_wrappers import reverse, stride


def stops(y, p, k):
    for j in range(k):
        for _i in range(p[j]):
            y[j] += 1


def starts(y, p, k):
    for j in range(k):
        for _i in range(p[j], 4):
            y[j] += 1


def steps(y, p, k):
    for j in range(k):
        for _i in range(0, 4, p[j]):
            y[j] += 1


def down(y, p, k):
    for j in range(k):
        for _i in range(3, p[j], -p[j]):
            y[j] += 1


P = np.array([3, 1, 2, 1])
VIEWS = {"reversed": reverse(P), "every other": stride(P, 2)}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("function", [stops, starts, steps, down])
@pytest.mark.parametrize("backend", ["interpreter", "c"])
def test_ends_that_are_read_from_views(function, view, backend):
    called = kernel(function, backend=backend)
    y, given = np.zeros(5), VIEWS[view]
    called(y, given, 2)
    np.testing.assert_array_equal(y, called.reference(np.zeros(5), given, 2)["y"])
    with pytest.raises(OutOfBounds, match="out of bounds for dimension 0 of p of size 4"):
        called(y, given, 5)
