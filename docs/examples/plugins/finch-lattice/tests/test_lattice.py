"""The mask beside every format that is installed, on every backend, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from finch_lattice import EveryMask

from finch_core import Tensor, _, kernel
from finch_core.testing import MaskSuite, array, backend_names, leaf, nest, on
from finch_levels import Dense, Element, RunList, Scalar, SparseList
from finch_wrappers import offset, reverse, stride, window

BACKENDS = pytest.mark.parametrize("backend", backend_names())
MASKS = (EveryMask(3), EveryMask(1), EveryMask(4, 2), EveryMask(50, 3))


class TestEveryMask(MaskSuite):
    masks = MASKS


def both(s, a, first, second):
    s[...] = 0
    for i in _:
        if first[i] and second[i]:
            s[()] += a[i]
    return s


def shifted(s, a, mask):
    s[...] = 0
    for i in range(0, 20):
        if mask[i + 5]:
            s[()] += a[i]
    return s


def rows(y, A, mask):
    y[...] = 0
    for i in parallel(_):
        for j in _:
            if mask[j]:
                y[i] += A[i, j]
    return y


def first_hit(s, a, mask):
    s[...] = 0
    for i in _:
        if mask[i] and a[i] > 0:
            s[()] += a[i]
            break
    return s


def viewed(s, a, mask):
    s[...] = 0
    for i in _:
        if mask[i]:
            s[()] += a[i]
    return s


@BACKENDS
@pytest.mark.parametrize("level", [Dense, SparseList, RunList])
def test_masks_among_each_other(backend, level):
    x = array((40,), float, "half", 1)
    a = Tensor(level(Element(0.0)), x)
    for one in MASKS:
        for other in MASKS:
            there = one.to_numpy((40,)) & other.to_numpy((40,))
            assert on(backend, both)(Scalar(0.0), a, one, other).value == x[there].sum()
        moved = x[:20][one.to_numpy((25,))[5:]].sum()
        assert on(backend, shifted)(Scalar(0.0), window(a, (0, 20)), one).value == moved
        hits = np.flatnonzero(one.to_numpy((40,)) & (x > 0))
        assert on(backend, first_hit)(Scalar(0.0), a, one).value == (x[hits[0]] if hits.size else 0)
        run, there = on(backend, viewed), one.to_numpy((60,))
        assert run(Scalar(0.0), a, offset(one, 3)).value == x[there[3:43]].sum()
        assert run(Scalar(0.0), reverse(a), one).value == x[::-1][there[:40]].sum()
        assert run(Scalar(0.0), stride(a, 2), one).value == x[::2][there[:20]].sum()


@BACKENDS
def test_in_a_parallel_loop(backend):
    x = array((9, 30), float, "half", 2)
    A = Tensor(nest([Dense, SparseList], leaf()), x)
    for mask in MASKS:
        expected = x[:, mask.to_numpy((30,))].sum(1)
        np.testing.assert_array_equal(on(backend, rows)(np.zeros(9), A, mask), expected)
        np.testing.assert_array_equal(on(backend, rows)(np.zeros(9), x, mask), expected)


def test_hits_are_counted_and_a_list_is_tested():
    run = kernel(viewed)
    dense = run.lower(Scalar(0.0), np.ones(9), MASKS[0]).as_text("assembly")
    assert "for q in range(hit, hits):" in dense
    assert "%" not in dense
    listed = Tensor(SparseList(Element(0.0)), np.ones(9))
    assert "%" in run.lower(Scalar(0.0), listed, MASKS[0]).as_text("assembly")


def test_a_step_is_positive():
    with pytest.raises(ValueError, match=r"EveryMask\(0, 0\): step > 0 and first >= 0 are wanted"):
        EveryMask(0)
