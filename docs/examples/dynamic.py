"""Dynamic programming and recurrences: each element is computed from those before it.

python docs/examples/dynamic.py [word word]
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from finch_core import _, kernel


@kernel
def edit_table(D, a, b):
    """``D[i, j]`` is the edit distance of the first ``i`` elements of ``a`` and ``j`` of ``b``."""
    n = len(a)
    m = len(b)
    for i in range(n + 1):
        D[i, 0] = i
    for j in range(m + 1):
        D[0, j] = j
    for i in range(n):
        for j in range(m):
            D[i + 1, j + 1] = min(D[i, j] + (a[i] != b[j]), min(D[i, j + 1], D[i + 1, j]) + 1)


@kernel
def edit_diagonals(D, a, b):
    """The same by anti-diagonals: ``D[d, i]`` is the distance of the first ``i`` elements of ``a``
    and ``d - i`` of ``b``. Elements of one anti-diagonal do not depend on each other."""
    n = len(a)
    m = len(b)
    for j in range(m + 1):
        D[j, 0] = j
    for i in range(n + 1):
        D[i, i] = i
    for d in range(2, n + m + 1):
        for i in range(max(1, d - m), min(n + 1, d)):
            D[d, i] = min(
                D[d - 2, i - 1] + (a[i - 1] != b[d - 1 - i]), min(D[d - 1, i - 1], D[d - 1, i]) + 1
            )


def edit_distance(a: str, b: str) -> int:
    """The least number of insertions, deletions and replacements that make ``b`` of ``a``."""
    x, y = (np.array([*map(ord, word)], np.int32) for word in (a, b))
    D = np.zeros((len(x) + 1, len(y) + 1), np.int32)
    edit_table(D, x, y)
    return int(D[-1, -1])


@kernel
def viterbi(best, back, start, step, emit, seen):
    """``best[t, s]``: the greatest log-probability of states up to time ``t`` that end in ``s``,
    given what was seen; ``back[t, s]``: the state before."""
    for s in _:
        best[0, s] = start[s] + emit[s, seen[0]]
    for t in range(1, len(seen)):
        for s in _:
            most = -math.inf
            which = -1
            for r in _:
                p = best[t - 1, r] + step[r, s]
                if p > most:
                    most = p
                    which = r
            best[t, s] = most + emit[s, seen[t]]
            back[t, s] = which


def most_likely(start: Any, step: Any, emit: Any, seen: Any) -> Any:
    """The most likely states of a hidden Markov model; probabilities are given as logarithms."""
    best = np.empty((len(seen), len(start)))
    back = np.zeros(best.shape, np.int64)
    viterbi(best, back, start, step, emit, seen)
    path = [int(best[-1].argmax())]
    for row in back[:0:-1]:
        path.append(int(row[path[-1]]))
    return np.array(path[::-1])


@kernel
def prefix_sums(y, x):
    total = 0.0
    for i in _:
        total += x[i]
        y[i] = total


@kernel
def second_order(y, x, b, a):
    """A filter with an infinite impulse response, in direct form: two inputs and two outputs back,
    which begin at zero."""
    x1 = 0.0
    x2 = 0.0
    y1 = 0.0
    y2 = 0.0
    for i in _:
        t = b[0] * x[i] + b[1] * x1 + b[2] * x2 - a[2] * y2 - a[1] * y1
        x2 = x1
        x1 = x[i]
        y2 = y1
        y1 = t
        y[i] = t


def main(arguments: list[str]) -> None:
    first, second = arguments or ("saturday", "sundays")
    print(f"edit distance of {first} and {second}: {edit_distance(first, second)}")
    x = np.ones(5)
    sums, filtered = np.empty(5), np.empty(5)
    prefix_sums(sums, x)
    second_order(filtered, x, np.array([0.2, 0.4, 0.2]), np.array([1.0, -0.3, 0.1]))
    print(f"prefix sums {sums}, filtered {filtered.round(3)}")


if __name__ == "__main__":
    main(sys.argv[1:])
