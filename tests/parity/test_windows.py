"""Windows, and shifted accesses of what is wrapped, beyond what the suite of wrappers asks."""

from __future__ import annotations

import numpy as np
import pytest
from wrapper_support import BACKENDS, MATRICES, on

from finch_core import DimensionMismatch, FormatError, Tensor
from finch_core.level import Format
from finch_levels import Dense, Element, Scalar
from finch_wrappers import offset, protocolize, swizzle, window

all_matrices = pytest.mark.parametrize("format", MATRICES, ids=str)


def shift_rows(s, A, c):
    s[...] = 0
    for i, j in _:
        s[()] += A[i + c, j] * (i + 10 * j + 1)
    return s


@all_matrices
def test_shifted_accesses_of_wrappers_of_wrappers(format: Format) -> None:
    A = np.array([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0], [0.0, 0.0, 5.0], [1.0, 1.0, 1.0]])
    T = Tensor(format, A)
    nests = {
        "offset of swizzle": (offset(swizzle(T, (1, 0)), 1, -2), A.T, 1, -2),
        "swizzle of offset": (swizzle(offset(T, -2, 1), (1, 0)), A.T, 1, -2),
        "offset of offset": (offset(offset(T, 1, 0), 2, -1), A, 3, -1),
        "protocol of offset": (protocolize(offset(T, 1, 1), None, "walk"), A, 1, 1),
    }
    for name, (wrapped, array, c, d) in nests.items():
        rows, columns = np.indices(array.shape)
        for backend in BACKENDS:
            found = on(backend, shift_rows)(Scalar(0.0), wrapped, 2).value
            assert found == (array * (rows - c - 2 + 10 * (columns - d) + 1)).sum(), name


def test_a_window_is_updated_in_place() -> None:
    def add(y, x):
        for i in _:
            y[i] += x[i]
        return y

    def declare(y, x):
        y[...] = 0
        for i in _:
            y[i] += x[i]
        return y

    for backend in BACKENDS:
        y = Tensor(Dense(Element(0.0)), np.zeros(5))
        part = window(y, (1, 4))
        assert on(backend, add)(part, np.array([1.0, 2.0, 3.0])) is part
        np.testing.assert_array_equal(np.asarray(y), [0, 1, 2, 3, 0])
        np.testing.assert_array_equal(np.asarray(part), [1, 2, 3])
    with pytest.raises(FormatError, match="is a part of a tensor, and cannot be declared"):
        on("interpreter", declare)(part, np.ones(3))


def test_a_window_lies_within_its_tensor() -> None:
    y = Tensor(Dense(Element(0.0)), np.zeros(5))
    with pytest.raises(DimensionMismatch, match="from 3 up to 6 is not within dimension 0"):
        window(y, (3, 6))
    part = window(y, (3, 5))
    y.fill((4,))
    with pytest.raises(DimensionMismatch, match="from 3 up to 5"):
        part.words()
