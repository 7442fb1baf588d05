"""Kernels that write tensors through several wrappers, whose memory grows on the way."""

from __future__ import annotations

import numpy as np
import pytest

from finch_core import Tensor, kernel
from finch_levels import Element, SparseByteMap, SparseHash
from finch_wrappers import offset, permissive, protocolize, reverse, swizzle

VIEWS = {
    "offset": lambda v: offset(v, 0),
    "reverse": reverse,
    "permissive": permissive,
    "protocolize": lambda v: protocolize(v, None),
    "swizzle": lambda v: swizzle(v, (0,)),
}


@pytest.mark.parametrize("backend", ["interpreter", "c"])
@pytest.mark.parametrize("level", [SparseHash, SparseByteMap])
@pytest.mark.parametrize("view", VIEWS)
def test_updates_through_a_view_of_a_permuted_view(backend, view, level):
    @kernel(backend=backend)
    def count(x, n):
        for i in range(n):
            x[i] += 1

    n = 700
    h = Tensor(level(Element(0.0)), (n,))
    v = VIEWS[view](swizzle(h, (0,)))
    for k in range(1, 4):
        count(v, n)
        assert h.nstored == n
        assert np.array_equal(h.to_numpy(), np.full(n, float(k)))
