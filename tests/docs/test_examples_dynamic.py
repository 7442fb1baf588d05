"""Dynamic programming and recurrences against plain Python and SciPy."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.signal
from examples_support import example

programs = example("dynamic")
WORDS = ("saturday", "sundays", "a", "", "aaaa", "sun")


def distance_by_hand(a: str, b: str) -> int:
    @cache
    def distance(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        changed = distance(i - 1, j - 1) + (a[i - 1] != b[j - 1])
        return min(changed, distance(i - 1, j) + 1, distance(i, j - 1) + 1)

    return distance(len(a), len(b))


@pytest.mark.parametrize(("a", "b"), [*itertools.product(WORDS, WORDS)])
def test_edit_distances_by_rows_and_by_anti_diagonals(a: str, b: str) -> None:
    expected = distance_by_hand(a, b)
    assert programs.edit_distance(a, b) == expected
    x, y = (np.array([*map(ord, word)], np.int32) for word in (a, b))
    table = np.zeros((len(a) + len(b) + 1, len(a) + 1), np.int32)
    programs.edit_diagonals(table, x, y)
    assert table[-1, -1] == expected


@pytest.mark.parametrize(("states", "steps"), [(1, 1), (1, 4), (2, 1), (2, 4), (3, 5)])
def test_the_most_likely_states(states: int, steps: int) -> None:
    generator = np.random.default_rng(states + steps)
    start, step, emit = (np.log(generator.random((*d, states))) for d in ((), (states,), (3,)))
    seen = generator.integers(0, 3, steps)

    def probability(path: Any) -> Any:
        moves = sum(step[r, s] for r, s in itertools.pairwise(path))
        return start[path[0]] + moves + sum(emit[o, s] for s, o in zip(path, seen, strict=True))

    found = programs.most_likely(start, step, emit.T.copy(), seen)
    best = max(itertools.product(range(states), repeat=steps), key=probability)
    assert tuple(found) == best


@pytest.mark.parametrize("size", [0, 1, 2, 50])
def test_prefix_sums_and_a_filter(size: int) -> None:
    x = np.random.default_rng(0).integers(-5, 5, size).astype(float)
    y = np.empty(size)
    programs.prefix_sums(y, x)
    np.testing.assert_array_equal(y, np.cumsum(x))
    b, a = np.array([0.2, 0.4, 0.2]), np.array([1.0, -0.3, 0.1])
    programs.second_order(y, x, b, a)
    if size:
        np.testing.assert_allclose(y, scipy.signal.lfilter(b, a, x))


def test_it_runs(capsys: pytest.CaptureFixture[str]) -> None:
    programs.main(["kitten", "sitting"])
    assert "edit distance of kitten and sitting: 3" in capsys.readouterr().out
