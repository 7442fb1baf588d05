"""Ragged arrays as tensors, as arguments, and back."""

from __future__ import annotations

import numpy as np
import pytest
from finch_ragged.ragged import Ragged

from finch_core import FormatError, Tensor, _, asarray
from finch_core.plugins import hub
from finch_core.testing import backend_names, leaf, nest, on

ROWS = Ragged([1.0, 2.0, 3.0, 4.0], [0, 1, 1, 4])
ARRAY = [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [2.0, 3.0, 4.0]]


def sums(y, A):
    y[...] = 0
    for i in _:
        for j in _:
            y[i] += A[i, j]
    return y


def test_values_are_shared() -> None:
    ragged = Ragged([1.0, 2.0, 3.0, 4.0], [0, 1, 1, 4])
    tensor = asarray(ragged)
    assert tensor.to_numpy().tolist() == ARRAY
    ragged.values[3] = 7.0
    assert tensor[2, 2] == 7.0


@pytest.mark.parametrize("layout", ["dense", "compressed"])
def test_it_fills_tensors_of_any_format(layout: str) -> None:
    level = hub().layout(layout)
    assert Tensor(nest([level, level], leaf()), ROWS).to_numpy().tolist() == ARRAY


@pytest.mark.parametrize("backend", backend_names())
def test_kernels_take_it(backend: str) -> None:
    assert on(backend, sums)(np.zeros(3), ROWS).tolist() == [1.0, 0.0, 9.0]


def test_tensors_become_ragged() -> None:
    back = hub().conversion("ragged").give(asarray(ROWS))
    assert back.rows() == [[1.0], [], [2.0, 3.0, 4.0]]
    assert hub().conversion("ragged").give(asarray(np.zeros((2, 0)))).rows() == [[], []]
    with pytest.raises(FormatError, match="a Ragged has rows"):
        hub().conversion("ragged").give(asarray(np.zeros(3)))


def test_offsets_that_decrease_are_refused() -> None:
    with pytest.raises(FormatError):
        asarray(Ragged([1.0], [1, 0]))


def test_it_is_not_written() -> None:
    with pytest.raises(FormatError, match="y is written, and ragged arrays are read only"):
        on(None, sums)(ROWS, ROWS)
