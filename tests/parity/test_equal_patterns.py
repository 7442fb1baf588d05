"""Patterns that are equal are walked once: the results are those of merges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from finch_core import Tensor, _, kernel, stored
from finch_core.runtime.convert import from_coordinates
from finch_core.testing import backend_names
from finch_core.testing.running import on
from finch_levels import Dense, Element, SparseByteMap, SparseList

BACKENDS = backend_names()
CSR = Dense(SparseList(Element(0.0)))
CSF = Dense(SparseList(SparseList(Element(0.0))))


def sampled(C: Any, S: Any, T: Any, u: Any, v: Any) -> Any:
    for i, j in _:
        if stored(C[i, j]):
            C[i, j] = S[i, j] * u[i] * v[j] + T[i, j]
    return C


def fibers(C: Any, A: Any, x: Any) -> Any:
    for i, j in _:
        if stored(C[i, j]):
            t = 0.0
            for k in _:
                t += A[i, j, k] * x[k]
            C[i, j] = t
    return C


def times(C: Any, S: Any) -> Any:
    for i, j in _:
        C[i, j] *= S[i, j]
    return C


def structure_of(shape: tuple[int, ...], seed: int, share: float = 0.4) -> Any:
    return np.random.default_rng(seed).random(shape) < share


def tensor(format: Any, structure: Any, seed: int) -> Tensor:
    rng, places = np.random.default_rng(seed), np.nonzero(structure)
    return from_coordinates(format, structure.shape, [*places], rng.random(len(places[0])) + 1)


def others(structure: Any) -> list[Any]:
    """The same structure, and ones that differ: in the last row, by an empty row, and all over."""
    changed = [structure.copy() for _copy in range(3)]
    if structure.size:
        changed[1][-1] = np.roll(structure[-1], 1)
        changed[2][0] = False
    return [*changed, structure_of(structure.shape, 99)]


SHAPES = [(0, 3), (1, 1), (3, 0), (7, 9), (40, 40)]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_read_beside_a_pattern(backend: str, shape: tuple[int, int]) -> None:
    structure, u, v = structure_of(shape, 1), np.arange(1.0, shape[0] + 1), np.ones(shape[1])
    for other in others(structure):
        C, S, T = (tensor(CSR, s, k) for k, s in enumerate((structure, other, structure)))
        s, t = S.to_numpy(), T.to_numpy()
        expected = on(backend, sampled).reference(C.copy(), S, T, u, v)
        on(backend, sampled)(C, S, T, u, v)
        np.testing.assert_allclose(C.to_numpy(), np.where(structure, s * u[:, None] * v + t, 0.0))
        np.testing.assert_allclose(C.to_numpy(), expected)
        np.testing.assert_array_equal(C.structure(), structure)
        D, before = tensor(CSR, structure, 5), tensor(CSR, structure, 5).to_numpy()
        on(backend, times)(D, S)
        np.testing.assert_allclose(D.to_numpy(), before * s)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_below_a_pattern(backend: str) -> None:
    below, x = structure_of((6, 7, 8), 2, 0.3), np.arange(8.0)
    A = tensor(CSF, below, 3)
    for structure in others(below.any(axis=2)):
        C = tensor(CSR, structure, 4)
        on(backend, fibers)(C, A, x)
        np.testing.assert_allclose(C.to_numpy(), np.where(structure, A.to_numpy() @ x, 0.0))


@pytest.mark.parametrize("backend", BACKENDS)
def test_of_levels_that_cannot_be_compared_and_of_other_dtypes(backend: str) -> None:
    structure = structure_of((5, 6), 7)
    narrow = Dense(SparseList(Element(0.0), index=np.int32, pointer=np.int32))
    for format in (Dense(SparseByteMap(Element(0.0))), narrow):
        C, S = tensor(CSR, structure, 1), tensor(format, structure, 2)
        expected = C.to_numpy() * S.to_numpy()
        on(backend, times)(C, S)
        np.testing.assert_allclose(C.to_numpy(), expected)


def text_of(program: Any, *args: Any, disabled: tuple[str, ...] = ()) -> str:
    text: str = kernel(disabled=disabled)(program).lower(*args).as_text("assembly")
    return text.partition("kernel ")[2]


def test_one_walk_serves_both():
    C, S = (tensor(CSR, structure_of((3, 4), 1), k) for k in range(2))
    text = text_of(times, C, S)
    equal = text[text.index("if equal_") : text.index("else:")]
    assert "C2_val[q] *= S2_val[q]" in equal
    assert "while" not in equal
    assert "S1_idx[S1_p]" in text.partition("else:")[2]
    assert "equal_" not in text_of(times, C, S, disabled=("equal_patterns",))


def rows_in_turn(C: Any, S: Any, k: Any) -> Any:
    for i in _:
        if i == k:
            for j in _:
                C[i, j] *= S[i, j]


def some(C: Any, S: Any, n: Any) -> Any:
    for i in range(n):
        for j in _:
            C[i, j] *= S[i, j]


def test_patterns_are_not_compared_for_a_part_of_them():
    C, S = (tensor(CSR, structure_of((3, 4), 1), k) for k in range(2))
    assert "equal_" not in text_of(rows_in_turn, C, S, 1)
    assert "equal_" not in text_of(some, C, S, 2)
