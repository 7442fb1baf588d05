"""The mask beside every format that is installed, on every backend, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from finch_cyclic import BlockCyclicMask

from finch_core import Tensor, _, kernel
from finch_core.plugins import hub
from finch_core.testing import (
    MaskSuite,
    admit,
    array,
    leaf,
    level_names,
    nest,
    using,
)

BACKENDS = pytest.mark.parametrize("backend", ["interpreter", None])
MASKS = [
    BlockCyclicMask(4, 3, 1), BlockCyclicMask(1, 2, 0), BlockCyclicMask(5, 1, 0),
    BlockCyclicMask(7, 3, 2), BlockCyclicMask(100, 2, 1),
]  # fmt: skip


class TestBlockCyclicMask(MaskSuite):
    masks = tuple(MASKS)


@kernel
def masked_sum(s, a, mask):
    s[...] = 0
    for i in _:
        if mask[i]:
            s[()] += a[i]
    return s


@kernel
def dealt(out, a, first, second):
    out[...] = 0
    for i in _:
        if first[i] or second[i]:
            out[i] = a[i]
    return out


@kernel
def condition(s, a):
    s[...] = 0
    for i in _:
        if (i // 4) % 3 == 1:
            s[()] += a[i]
    return s


@kernel
def rows(y, A, mask):
    y[...] = 0
    for i, j in _:
        if mask[i]:
            y[i] += A[i, j]
    return y


@kernel
def columns(y, A, mask):
    y[...] = 0
    for i, j in _:
        if mask[j]:
            y[i] += A[i, j]
    return y


@BACKENDS
def test_several_masks(backend):
    with using(backend):
        a = array((40,), float, "full", 1)
        for first in MASKS:
            for second in MASKS:
                there = first.to_numpy(40) | second.to_numpy(40)
                out = dealt(np.zeros(40), a, first, second)
                np.testing.assert_array_equal(out, np.where(there, a, 0))


@BACKENDS
@pytest.mark.parametrize("name", level_names())
def test_matrices(backend, name):
    format = nest([hub().layout("dense"), hub().level(name)], leaf())
    x = admit(format, array((9, 14), float, "half", 1))
    with using(backend):
        A = Tensor(format, x)
        for mask in MASKS:
            there = mask.to_numpy(9)
            np.testing.assert_array_equal(rows(np.zeros(9), A, mask), x.sum(1) * there)
            expected = x[:, mask.to_numpy(14)].sum(1)
            np.testing.assert_array_equal(columns(np.zeros(9), A, mask), expected)


def test_a_condition_means_the_mask():
    a = array((50,), float, "full", 2)
    expected = a[BlockCyclicMask(4, 3, 1).to_numpy(50)].sum()
    assert condition(Tensor(leaf()), a).value == expected
    assert condition.reference(np.zeros(()), a) == expected
    assert "BlockCyclicMask(4, 3, 1)[i]" in condition.lower(Tensor(leaf()), a).as_text("normalized")


def test_the_inner_loops_run_over_blocks():
    """No index is asked whether it is in a block."""
    text = masked_sum.lower(Tensor(leaf()), np.ones(9), MASKS[0]).as_text("assembly")
    assert "range(block_start, block_stop)" in text
    assert "%" not in text


def test_other_numbers_run_the_same_code():
    first, second = (masked_sum.lower(Tensor(leaf()), np.ones(9), mask) for mask in MASKS[:2])
    assert first.as_text("assembly") == second.as_text("assembly")


@pytest.mark.parametrize("numbers", [(0, 2, 0), (1, 2, 2), (1, 0, 0), (1, 2, -1), (-1, 2, 0)])
def test_numbers_that_are_no_mask_are_refused(numbers):
    with pytest.raises(ValueError, match="is no mask: 0 < block and 0 <= part < parts are wanted"):
        BlockCyclicMask(*numbers)
