"""The size of a view in a kernel is that of its shape, however views are nested."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from wrapper_support import BACKENDS, on

from finch_core import Tensor
from finch_core.errors import DimensionMismatch
from finch_levels import Dense, Element, SparseList
from finch_wrappers import protocolize, reverse, stride, swizzle, window

VIEWS: dict[str, Any] = {
    "steps": lambda A: stride(A, 2, 3), "back": lambda A: reverse(A),
    "steps back": lambda A: stride(A, -2, -1), "part": lambda A: stride(A, slice(1, 9, 3), None),
    "window": lambda A: window(A, (1, A.shape[0]), None), "turned": lambda A: swizzle(A, (1, 0)),
    "walked": lambda A: protocolize(A, "walk", None),
}  # fmt: skip
"""Views of a matrix."""


def sizes(y, A):
    n, m = A.shape
    y[0] = n
    y[1] = m
    for i in range(len(A)):
        for j in range(A.shape[1]):
            y[2] += A[i, j]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("shape", [(11, 7), (1, 4), (3, 0)])
def test_of_one_view(backend: str, name: str, shape: tuple[int, int]) -> None:
    check(backend, [name], shape)


@pytest.mark.parametrize("seed", range(12))
def test_of_nested_views(seed: int) -> None:
    check("interpreter", random.Random(seed).choices([*VIEWS], k=2), (9, 8))


def check(backend: str, names: list[str], shape: tuple[int, int]) -> None:
    values = np.arange(float(shape[0] * shape[1])).reshape(shape) % 5
    A: Any = Tensor(Dense(SparseList(Element(0.0))), values)
    for name in names:
        A = VIEWS[name](A)
    y = np.zeros(3)
    on(backend, sizes)(y, A)
    assert y.tolist() == [*A.shape, A.to_numpy().sum()]


def test_a_view_that_goes_on_has_no_size() -> None:
    from finch_wrappers import permissive

    with pytest.raises(DimensionMismatch, match="dimension 0 of A has no size"):
        on(BACKENDS[0], sizes)(
            np.zeros(3), permissive(Tensor(Dense(Dense(Element(0.0))), np.eye(2)))
        )
