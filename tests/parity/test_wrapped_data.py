"""Wrappers around what is no tensor yet: read as ``asarray`` reads it, or refused by name."""

import numpy as np
import pytest

from finch_core import FinchError, _, kernel
from finch_core.testing import backend_names
from finch_levels import Scalar
from finch_wrappers import offset, permissive, protocolize, swizzle, toeplitz, window

WRAPPERS = {
    "offset": lambda data: offset(data, 0, 0),
    "permissive": lambda data: permissive(data, False, False),
    "protocolize": lambda data: protocolize(data, "walk", "follow"),
    "swizzle": lambda data: swizzle(data, (0, 1)),
    "window": lambda data: window(data, (0, 2), None),
}


def total(s, a):
    s[...] = 0
    for i in range(2):
        for j in range(3):
            s[()] += a[i, j]
    return s


@pytest.mark.parametrize("backend", backend_names())
@pytest.mark.parametrize("name", WRAPPERS)
def test_nested_lists_are_wrapped(name, backend):
    data = [[1.0, 2.0, 3.0], (4.0, 5.0, 6.0)]
    run = kernel(backend=backend)(total)
    assert run(Scalar(0.0), WRAPPERS[name](data)).value == 21.0


@pytest.mark.parametrize("name", WRAPPERS)
@pytest.mark.parametrize("data", [None, "text", {1: 2}, [[1.0], [2.0, 3.0]], 5])
def test_what_is_no_tensor_is_refused(name, data):
    with pytest.raises(FinchError):
        WRAPPERS[name](data)


@kernel
def sums(y, a):
    y[...] = 0
    for i in _:
        for k in range(2):
            y[i] += a[i, k]
    return y


def test_toeplitz_of_a_list():
    found = sums(np.zeros(3), toeplitz([1.0, 2.0, 3.0, 4.0]))
    assert found.tolist() == [3.0, 5.0, 7.0]
