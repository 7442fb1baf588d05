"""How many stored indices an intersection of two sorted lists looks at, counted by the interpreter:
galloping O(m log(n/m)) for lengths m << n, leader and follower O(m log n), two fingers O(n + m)
(paper, section "Looplets": jumpers "request leader-follower strategies or mutual-lookahead")."""

from __future__ import annotations

from collections.abc import Callable
from math import log2
from typing import Any

import numpy as np
import pytest

from finch_core import Tensor, kernel
from finch_core.reference import interpreter
from finch_levels import Element, Scalar, SparseBlockList, SparseList

N = 4096
"""The length of the longer list."""
SIZE = 16 * N


class Counted(np.ndarray[Any, Any]):
    """An array that counts the elements that are read."""

    reads = 0

    def item(self, *args: Any) -> Any:
        Counted.reads += 1
        return super().item(*args)

    def __getitem__(self, key: Any) -> Any:
        Counted.reads += 1
        return super().__getitem__(key)


def galloping(s, a, b):
    s[...] = 0
    for i in _:
        s[()] += a[gallop(i)] * b[gallop(i)]
    return s


def leading(s, a, b):
    s[...] = 0
    for i in _:
        s[()] += a[walk(i)] * b[follow(i)]
    return s


def two_fingers(s, a, b):
    s[...] = 0
    for i in _:
        s[()] += a[walk(i)] * b[walk(i)]
    return s


def reads(
    program: Callable[..., Any], short: Any, long: Any, monkeypatch: Any, level: Any = SparseList
) -> int:
    """How many stored indices are read to intersect two sets; the result is checked."""
    plain = interpreter._read

    def counted(slot: Any, record: Any) -> Any:
        found = plain(slot, record)
        return found.view(Counted) if slot.target.name.endswith("_idx") else found

    x, y = np.zeros(SIZE), np.zeros(SIZE)
    x[short], y[long] = 1.0, 2.0
    args = (Scalar(0.0), Tensor(level(Element(0.0)), x), Tensor(level(Element(0.0)), y))
    run = kernel(backend="interpreter")(program)
    run.lower(*args)
    monkeypatch.setattr(interpreter, "_read", counted)
    Counted.reads = 0
    assert run(*args).value == x @ y
    monkeypatch.undo()
    return Counted.reads


def spread(m: int) -> np.ndarray[Any, Any]:
    """``m`` indices, drawn at random."""
    return np.sort(np.random.default_rng(m).choice(SIZE, m, replace=False))


def clustered(m: int) -> np.ndarray[Any, Any]:
    """``m`` adjacent indices in the middle."""
    return np.arange(m) + SIZE // 2


def early(m: int) -> np.ndarray[Any, Any]:
    """``m`` indices, all before those of the other list begin."""
    return np.arange(m)


LONG = np.sort(np.random.default_rng(0).choice(np.arange(SIZE // 8, SIZE), N, replace=False))


@pytest.mark.parametrize("drawn", [spread, clustered, early], ids=lambda drawn: drawn.__name__)
@pytest.mark.parametrize("m", [1, 4, 16, 64, 256, 1024])
def test_galloping_takes_m_times_the_logarithm_of_n_over_m(
    m: int, drawn: Callable[[int], Any], monkeypatch: Any
) -> None:
    found = reads(galloping, drawn(m), LONG, monkeypatch)
    assert found <= BOUND * m * (log2(N / m) + 1) + BOUND * log2(N)


BOUND = 4
"""Reads for each doubling of the distance: galloping up to it, and bisecting what was passed."""


@pytest.mark.parametrize("m", [1, 16, 256])
def test_a_follower_is_searched_once_for_each_index_of_the_leader(m: int, monkeypatch: Any) -> None:
    found = reads(leading, spread(m), LONG, monkeypatch)
    assert m <= found <= m * (2 * log2(N) + 5)


@pytest.mark.parametrize("m", [1, 16, 256])
def test_two_fingers_pass_every_index_up_to_the_end_of_one_list(m: int, monkeypatch: Any) -> None:
    short = spread(m)
    passed = int((short[-1] > LONG).sum())
    found = reads(two_fingers, short, LONG, monkeypatch)
    assert passed <= found <= 4 * (passed + m + 2)


def test_what_galloping_saves_grows_with_the_longer_list(monkeypatch: Any) -> None:
    short = spread(16)
    counts = []
    for n in (256, 1024, 4096):
        long = np.sort(np.random.default_rng(n).choice(SIZE, n, replace=False))
        counts.append((reads(galloping, short, long, monkeypatch),
                       reads(two_fingers, short, long, monkeypatch)))  # fmt: skip
    (few, many), (more, _), (most, all_) = counts
    assert most - more <= 16 * 2 * BOUND, "four times as long: two doublings more for each index"
    assert all_ > 10 * many
    assert few < 6 * 16 * BOUND


def test_blocks_are_galloped_over_as_lists_are(monkeypatch: Any) -> None:
    blocks = np.concatenate([np.arange(8) + 64 * k for k in range(SIZE // 64)])
    found = reads(galloping, spread(16), blocks, monkeypatch, SparseBlockList)
    assert found <= 2 * BOUND * 16 * (log2(SIZE / 64 / 16) + 1) + BOUND * log2(N)
