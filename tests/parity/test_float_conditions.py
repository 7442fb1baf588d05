"""Conditions that compare an index with a float say what the comparison says: no more, no less."""

import numpy as np
import pytest

from finch_core import DimensionMismatch, kernel
from finch_core.errors import OutOfBounds

BACKENDS = pytest.mark.parametrize("backend", ["interpreter", "c"])


def below(y, n):
    for i in range(n):
        if i < 2.9:
            y[i] = 1


def below_mirrored(y, n):
    for i in range(n):
        if 1.5 >= i:  # noqa: SIM300
            y[i] = 1


def above(y, n):
    for i in range(n):
        if i >= 1.5:
            y[i - 2] = 1


def moved(y, n):
    for i in range(n):
        if i - 1 < 1.5:
            y[i] = 1


def halves(y, n):
    for i in range(n):
        if i * 0.5 < 1.9 and i - 0.5 < 2:
            y[i] = 1


def whole(y, n):
    for i in range(n):
        if i < np.inf and i <= 2.0 and i != 1e30 and i != 0.5:
            y[i] = 1


def never(y, n):
    for i in range(n):
        if i == 1.5 or i > np.inf:
            y[i] = 1


def of_elements(y, n):
    for i in range(n):
        if y[i] < np.inf and y[i] != np.nan:
            y[i] = 1


class Checked:
    """An array of which no index counts from the end."""

    def __init__(self, values):
        self.values = values

    def __getitem__(self, i):
        if not 0 <= i < len(self.values):
            raise IndexError
        return self.values[i]

    def __setitem__(self, i, value):
        if not 0 <= i < len(self.values):
            raise IndexError
        self.values[i] = value


@BACKENDS
@pytest.mark.parametrize(
    ("function", "runs"),
    [
        (below, {(3, 5), (3, 3), (2, 2), (5, 9)}), (below_mirrored, {(2, 5), (3, 3)}),
        (above, {(3, 5), (1, 3), (5, 5)}), (moved, {(3, 5), (3, 3)}), (halves, {(3, 3)}),
        (whole, {(3, 7), (3, 3)}), (never, {(3, 3)}), (of_elements, {(3, 3)}),
    ],
)  # fmt: skip
def test_floats_beside_indices(function, runs, backend):
    """``runs``: sizes and ends of ranges with which the kernel does as Python; with others it does,
    or is refused."""
    run = kernel(backend=backend)(function)
    for size in range(6):
        for n in range(10):
            wanted, memory = np.zeros(size), np.zeros(size + 9)
            memory[size:] = 7
            try:
                function(Checked(wanted), n)
            except IndexError:
                wanted = None
            else:
                referred = np.zeros(size)
                referred = run.reference(referred, n).get("y", referred)
                np.testing.assert_array_equal(referred, wanted)
            try:
                run(memory[:size], n)
            except (DimensionMismatch, OutOfBounds):
                assert (size, n) not in runs
            else:
                np.testing.assert_array_equal(memory[:size], wanted)
            assert (memory[size:] == 7).all()
