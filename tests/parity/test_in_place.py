"""Updates in place of what is stored: values change, the structure is walked and kept.

The oracle is the same loops over NumPy arrays, with the structure beside the values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from finch_core import LifecycleError, Tensor, _, stored, swap
from finch_core.runtime.convert import from_coordinates
from finch_core.testing import backend_names
from finch_core.testing.running import on
from finch_levels import (
    Dense,
    Element,
    Pattern,
    RunList,
    Scalar,
    SparseBand,
    SparseBlockList,
    SparseByteMap,
    SparseHash,
    SparseList,
    SparseRunList,
)
from finch_wrappers import LoTriMask, offset, swizzle

BACKENDS = backend_names()
LEVELS = [SparseList, SparseHash, SparseByteMap, SparseBlockList]
FORMATS = [*(Dense(level(Element(0.0))) for level in LEVELS), SparseList(SparseHash(Element(0.0)))]

pytestmark = pytest.mark.filterwarnings("ignore::finch_core.errors.PerformanceWarning")


def matrix(format: Any, seed: int, n: int = 7, zeros: bool = True) -> tuple[Tensor, Any, Any]:
    """A square matrix, some of whose stored values are zero; its values; and what it stores."""
    rng = np.random.default_rng(seed)
    structure = rng.random((n, n)) < 0.4
    np.fill_diagonal(structure, True)
    values = np.where(structure, rng.integers(1, 9, (n, n)).astype(float), 0.0)
    if zeros:
        values[rng.random((n, n)) < 0.2] = 0.0
    coords = list(np.nonzero(structure))
    return from_coordinates(format, (n, n), coords, values[structure]), values, structure


def same(tensor: Tensor, values: Any, structure: Any) -> None:
    np.testing.assert_allclose(tensor.to_numpy(), values, rtol=1e-12)
    np.testing.assert_array_equal(tensor.structure(), structure)
    assert tensor.nstored == structure.sum()


def ilu0(A: Any, n: Any) -> Any:
    for i in range(n):
        for k in range(i):
            if stored(A[i, k]):
                A[i, k] /= A[k, k]
                for j in range(k + 1, n):
                    if stored(A[i, j]):
                        A[i, j] -= A[i, k] * A[k, j]
    return A


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_incomplete_factors_keep_the_pattern(backend: str, format: Any) -> None:
    for seed in range(3):
        tensor, values, structure = matrix(format, seed, zeros=False)
        values += 40 * np.eye(len(values))
        tensor = from_coordinates(format, values.shape, [*np.nonzero(structure)], values[structure])
        expected = on(backend, ilu0).reference(tensor, len(values))
        for i in range(len(values)):
            for k in range(i):
                if structure[i, k]:
                    values[i, k] /= values[k, k]
                    row = structure[i] & (np.arange(len(values)) > k)
                    values[i, row] -= values[i, k] * values[k, row]
        np.testing.assert_allclose(expected, values, rtol=1e-12)
        on(backend, ilu0)(tensor, len(values))
        same(tensor, values, structure)


def sampled(C: Any, U: Any, V: Any) -> Any:
    for i, j in _:
        if stored(C[i, j]):
            t = Scalar(0.0)
            for k in _:
                t[()] += U[i, k] * V[j, k]
            C[i, j] = t[()]
    return C


def weighted(C: Any, U: Any, V: Any) -> Any:
    for i, j in _:
        v = C[i, j]
        if v != 0 and i != j:
            C[i, j] = U[i, j] / v
            C[i, j] += V[j, i]
    return C


def shifted(C: Any, U: Any, V: Any) -> Any:
    for i in _:
        for j in range(1, 7):
            if stored(C[i, j]) and not stored(C[j, i]):
                C[i, j] += C[i, j - 1] + U[j, i]
    return C


def smallest(C: Any, U: Any, V: Any) -> Any:
    for i, j in _:
        if stored(C[i, j]):
            C[i, j] = min(C[i, j], U[i, j])
        else:
            V[i, j] += 1
    return C


def expected_of(program: Any, C: Any, structure: Any, U: Any, V: Any) -> Any:
    C = C.copy()
    for i, j in zip(*np.nonzero(structure), strict=True):
        if program is sampled:
            C[i, j] = U[i] @ V[j]
        elif program is weighted and C[i, j] != 0 and i != j:
            C[i, j] = U[i, j] / C[i, j] + V[j, i]
        elif program is shifted and j >= 1 and not structure[j, i]:
            C[i, j] += C[i, j - 1] + U[j, i]
        elif program is smallest:
            C[i, j] = min(C[i, j], U[i, j])
    return C


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", [sampled, weighted, shifted, smallest])
@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_values_change_where_something_is_stored(backend: str, program: Any, format: Any) -> None:
    for seed in range(3):
        tensor, values, structure = matrix(format, seed)
        U, V = np.random.default_rng(seed).random((2, 7, 7))
        expected = expected_of(program, values, structure, U, V)
        given = on(backend, program).reference(tensor, U, V.copy())
        given = given[0] if isinstance(given, tuple) else given
        np.testing.assert_allclose(given, expected, rtol=1e-12)
        on(backend, program)(tensor, U, V.copy())
        same(tensor, expected, structure)


def by_rows(A: Any, d: Any) -> Any:
    for i, j in _:
        A[i, j] *= d[i]
    return A


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("level", [*LEVELS, RunList, SparseRunList, SparseBand])
def test_wrappers_are_updated_in_place(backend: str, level: Any) -> None:
    values = np.array([[0.0, 2, 2, 0], [3, 3, 0, 0], [0, 0, 0, 5]])
    d = np.arange(2.0, 6.0)
    tensor = Tensor(Dense(level(Element(0.0))), values)
    stores = tensor.nstored
    on(backend, by_rows)(tensor, d[:3])
    np.testing.assert_array_equal(tensor.to_numpy(), values * d[:3, None])
    if level not in (RunList, SparseRunList):
        on(backend, by_rows)(swizzle(tensor, (1, 0)), d)
        np.testing.assert_array_equal(tensor.to_numpy(), values * d[:3, None] * d)
    assert tensor.nstored == stores


def least(A: Any, x: Any) -> Any:
    for i in _:
        A[i] = max(A[i], x[i])
    return A


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_annihilating_fill_stays(backend: str) -> None:
    """``max`` with a fill of infinity; with a fill of 0 what is new is inserted, as before."""
    values = np.array([np.inf, 2.0, np.inf, -1.0])
    tensor = Tensor(SparseHash(Element(np.inf)), values)
    on(backend, least)(tensor, np.zeros(4))
    assert tensor.to_numpy().tolist() == [np.inf, 2.0, np.inf, 0.0]
    assert tensor.nstored == 2
    tensor = Tensor(SparseHash(Element(0.0)), np.array([0.0, 2.0, 0.0, 1.0]))
    on(backend, least)(tensor, np.array([1.0, 1.0, 0.0, 3.0]))
    assert tensor.to_numpy().tolist() == [1.0, 2.0, 0.0, 3.0]


def inserts_then_scales(A: Any, x: Any) -> Any:
    for i in _:
        if x[i] > 0:
            A[i] += x[i]
    for i in _:
        A[i] *= 2
    return A


@pytest.mark.parametrize("backend", BACKENDS)
def test_each_statement_is_decided_by_itself(backend: str) -> None:
    tensor = Tensor(SparseHash(Element(0.0)), np.array([0.0, 2.0, 0.0, 1.0]))
    on(backend, inserts_then_scales)(tensor, np.array([1.0, 1.0, 0.0, 0.0]))
    assert tensor.to_numpy().tolist() == [2.0, 6.0, 0.0, 2.0]
    assert tensor.nstored == 3


def test_the_structure_is_walked() -> None:
    """The loop over a hashed vector is that over its entries, which nothing is inserted into."""
    tensor = Tensor(SparseHash(Element(0.0)), np.array([0.0, 2.0, 0.0, 1.0]))
    text = on("interpreter", least_of_two).lower(tensor).as_text("assembly")
    assert "for q in range(" in text
    assert "grow(" not in text


def least_of_two(A: Any) -> Any:
    for i in _:
        if stored(A[i]):
            A[i] = min(A[i], 1.5)
    return A


def counted(s: Any, A: Any, M: Any) -> Any:
    s[...] = 0
    for i, j in _:
        if stored(A[i, j]) and not stored(M[i, j]):
            s[()] += 1
    return s


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_stored_asks_masks_and_wrappers(backend: str, format: Any) -> None:
    for seed in range(3):
        tensor, _values, structure = matrix(format, seed)
        run = on(backend, counted)
        found = run(Scalar(0), tensor, LoTriMask())
        assert (
            found.value == np.triu(structure, 1).sum() == run.reference(found, tensor, LoTriMask())
        )
        turned = swizzle(tensor, (1, 0))
        assert run(found, turned, tensor).value == (structure.T & ~structure).sum()
        assert run(found, turned, tensor).value == run.reference(found, turned, tensor)


def within(s: Any, A: Any) -> Any:
    s[...] = 0
    for i in range(0, 8):
        for j in range(0, 8):
            if stored(A[~(i - 1), ~(j + 2)]):
                s[()] += 1
    return s


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_nothing_is_stored_beyond_the_bounds(backend: str, format: Any) -> None:
    tensor, _values, structure = matrix(format, 1)
    run = on(backend, within)
    assert (
        run(Scalar(0), tensor).value == structure[:, 2:].sum() == run.reference(Scalar(0), tensor)
    )


def pattern(A: Any) -> Any:
    for i in _:
        if stored(A[i]):
            A[i] = False
    return A


def test_a_pattern_has_no_values_to_change() -> None:
    tensor = Tensor(SparseHash(Pattern()), np.array([True, False]))
    with pytest.raises(LifecycleError, match="read and updated"):
        on("interpreter", pattern)(tensor)


def offset_scaled(A: Any) -> Any:
    for i in range(-2, 2):
        A[i] *= 3.0
    return A


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_part_is_updated_through_a_wrapper(backend: str) -> None:
    tensor = Tensor(SparseList(Element(0.0)), np.array([0.0, 2.0, 0.0, 1.0, 4.0]))
    on(backend, offset_scaled)(offset(tensor, 2))
    assert tensor.to_numpy().tolist() == [0.0, 6.0, 0.0, 3.0, 4.0]


def repeated(A: Any, s: Any, n: Any) -> Any:
    for i in _:
        for _k in range(n):
            s[()] += A[i]
            A[i] = 1.5 * A[i] - A[i] * A[i] / 8
    return A, s


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("level", [*LEVELS, RunList, SparseRunList])
def test_each_turn_of_a_loop_updates(backend: str, level: Any) -> None:
    """An update that its own loop repeats is made as often; that of a run, once for the run."""
    tensor, s = Tensor(level(Element(0.0)), np.array([0.0, 2.0, 2.0, 3.0])), Scalar(0.0)
    expected = on(backend, repeated).reference(tensor, s, 3)
    on(backend, repeated)(tensor, s, 3)
    np.testing.assert_allclose(tensor.to_numpy(), expected[0], rtol=1e-12)
    np.testing.assert_allclose(s.value, expected[1], rtol=1e-12)


def doubled_in_turn(A: Any, B: Any, n: Any) -> Any:
    for _t in range(n):
        for i in _:
            A[i] *= 2
        swap(A, B)
    return A, B


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_swapped_between_updates(backend: str) -> None:
    tensors = [Tensor(SparseHash(Element(0.0)), np.array(v)) for v in ([1.0, 0, 2], [0, 3.0, 0])]
    expected = on(backend, doubled_in_turn).reference(*tensors, 3)
    for found, wanted in zip(on(backend, doubled_in_turn)(*tensors, 3), expected, strict=True):
        np.testing.assert_array_equal(found.to_numpy(), wanted)
