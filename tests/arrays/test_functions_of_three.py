"""Functions of three arrays, so many cases that merges are predicated, and patterns that are equal,
which are walked once."""

from __future__ import annotations

import numpy as np
import pytest

import finch_array as fa
from finch_levels import Dense, Element, SparseList, SparseRunList

LEAF = Element(0.0)
FORMATS = [
    SparseList(SparseList(LEAF)), Dense(SparseList(LEAF)), SparseRunList(SparseRunList(LEAF)),
]  # fmt: skip


def spread(x, y, z, n, d, w):
    return (x + (n - y) * (d - z) * (d - z) if n - y > 0 else x) / w


@pytest.mark.parametrize("format", FORMATS, ids=str)
@pytest.mark.parametrize("alike", ["all", "two", "none"])
def test_functions_of_three_are_those_of_numpy(format, alike):
    rng = np.random.default_rng(3)
    same = rng.random((6, 7)) < 0.3
    other = rng.random((6, 7)) < 0.4
    cases = {"all": (same, same, same), "two": (same, same, ~same), "none": (same, other, ~same)}
    places = cases[alike]
    given = [np.where(place, rng.random(same.shape) + 0.01, 0) for place in places]
    arrays = [fa.asarray(x, format=format) for x in given]
    for numbers in ((60.0, 0.0, 3.0), (0.0, 1.0, 2.0)):
        found = fa.elementwise_of(spread)(*arrays, *numbers)
        assert np.allclose(found.to_numpy(), np.vectorize(spread)(*given, *numbers))
