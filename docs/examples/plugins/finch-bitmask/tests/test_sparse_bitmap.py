"""The author's suite, and what only this format does."""

from __future__ import annotations

import numpy as np
import pytest
from finch_bitmask import SparseBitmap

from finch_core import FormatError, Tensor, _, kernel
from finch_core.testing import LevelSuite, array, leaf, nest, using


class TestSparseBitmap(LevelSuite):
    format = SparseBitmap


@kernel
def add(c, a, b):
    c[...] = 0
    for i in _:
        c[i] = a[i] + b[i]
    return c


@kernel
def walked(s, a, b):
    s[...] = 0
    for i in _:
        s[()] += a[i] * b[i]
    return s


@kernel
def part(s, a, lo, hi):
    s[...] = 0
    for i in range(lo, hi):
        s[()] += a[i]
    return s


@kernel
def more(a, x):
    for i in range(64, 130):
        if x[i] != 0:
            a[i] += x[i]
    return a


BACKENDS = pytest.mark.parametrize("backend", ["interpreter", None])
LENGTHS = pytest.mark.parametrize("n", [63, 64, 65, 128, 200])


def bitmap(data):
    return Tensor(nest([SparseBitmap] * data.ndim, leaf()), data)


def read_by(protocol):
    """The format as it is read under a protocol, whether or not a wrapper is installed for it."""

    class Read(SparseBitmap):
        def unfurl(self, ctx, fiber, mode, _):
            return super().unfurl(ctx, fiber, mode, protocol)

    return Read


WALKED, GALLOPED, FOLLOWED = map(read_by, ("walk", "gallop", "follow"))


@BACKENDS
@LENGTHS
@pytest.mark.parametrize("kind", ["sparse", "half", "empty", "full", "last", "first"])
def test_fibers_of_several_words(backend, n, kind):
    with using(backend):
        a, b = array((n,), float, kind, n), array((n,), float, "sparse", n + 1)
        x, y = bitmap(a), bitmap(b)
        np.testing.assert_array_equal(x.to_numpy(), a)
        np.testing.assert_array_equal(add(Tensor(SparseBitmap(leaf())), x, y).to_numpy(), a + b)
        for first in (WALKED, GALLOPED, FOLLOWED):
            for second in (SparseBitmap, GALLOPED):
                x, y = Tensor(first(leaf()), a), Tensor(second(leaf()), b)
                assert walked(Tensor(leaf()), x, y).value == a @ b
        for lo in (0, 1, 63, n // 2, n):
            for hi in (n // 2, n - 1, n):
                assert part(Tensor(leaf()), x, lo, hi).value == a[lo:hi].sum()


@BACKENDS
def test_matrices_of_several_words(backend):
    with using(backend):
        for kind in ("sparse", "rows", "blocks"):
            a = array((70, 130), float, kind, 3)
            np.testing.assert_array_equal(bitmap(a).to_numpy(), a)
            assert bitmap(a).nstored == np.count_nonzero(a)


def test_a_bit_an_index_and_a_rank_a_word():
    x = np.zeros(130)
    x[[0, 63, 64, 129]] = 1, 2, 3, 4
    a = bitmap(x)
    assert a.buffers["0_words"].tolist() == [1 | 1 << 63, 1, 2]
    assert a.buffers["0_rank"].tolist() == [0, 2, 3, 4]
    assert a.buffers["1_val"].tolist() == [1, 2, 3, 4]
    assert a.nstored == 4


@BACKENDS
def test_updates_go_on_behind_what_is_stored(backend):
    with using(backend):
        x = np.zeros(130)
        x[[3, 70]] = 1, 2
        y = np.zeros(130)
        y[[100, 129]] = 3, 4
        run = kernel(backend=backend)(more.__wrapped__)
        assert run(bitmap(x), y).to_numpy().tolist() == (x + y).tolist()
        y[65] = 1
        with pytest.raises(FormatError, match="index 65 of a thawed SparseBitmap is not after"):
            run(bitmap(x), y)


@pytest.mark.parametrize(
    ("words", "rank", "message"),
    [
        ([1], [0], r"rank has 1 elements, and needs 2"),
        ([1], [0, 2], r"rank\[1\] does not count the bits of words\[0\]"),
        ([2**10], [0, 1], r"words\[0\] has bits beyond 10"),
        ([], [0, 1], r"words has 0 elements, and needs 1"),
    ],
)
def test_malformed_buffers_are_refused(words, rank, message):
    buffers = {
        "words": np.array(words, np.uint64),
        "rank": np.array(rank, np.intp),
        "val": np.zeros(2),
    }
    with pytest.raises(FormatError, match=message):
        Tensor.from_buffers(SparseBitmap(leaf()), (10,), buffers)


def test_the_inner_loop_is_a_scan_of_bits():
    text = part.lower(Tensor(leaf()), bitmap(np.ones(70)), 0, 70).as_text("assembly")
    assert "ctz(" in text
    whole = walked.lower(Tensor(leaf()), bitmap(np.ones(70)), np.ones(70)).as_text("assembly")
    assert "popcount" not in whole
