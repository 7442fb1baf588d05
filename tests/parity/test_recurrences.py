"""Loops that read what they update: C, the interpreter, the reference and the plain Python function
over NumPy arrays agree, in every format that can be read while it is updated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from finch_core import Tensor, _, asarray, kernel
from finch_core.testing import backend_names
from finch_levels import (
    Dense,
    Element,
    RunList,
    Scalar,
    SparseBand,
    SparseBlockList,
    SparseByteMap,
    SparseHash,
    SparseList,
)

BACKENDS = backend_names()

VECTORS = {
    "array": None,
    "dense": lambda leaf: Dense(leaf),
    "map": lambda leaf: SparseByteMap(leaf),
    "hash": lambda leaf: SparseHash(leaf),
}
MATRICES = {
    "array": None,
    "dense": lambda leaf: Dense(Dense(leaf)),
    "rows of maps": lambda leaf: Dense(SparseByteMap(leaf)),
    "map of rows": lambda leaf: SparseByteMap(Dense(leaf)),
    "hash": lambda leaf: SparseHash(SparseHash(leaf)),
}
OPERANDS = {
    "dense": lambda leaf: Dense(Dense(leaf)),
    "list": lambda leaf: Dense(SparseList(leaf)),
    "runs": lambda leaf: Dense(RunList(leaf)),
    "band": lambda leaf: Dense(SparseBand(leaf)),
    "blocks": lambda leaf: Dense(SparseBlockList(leaf)),
    "map": lambda leaf: SparseByteMap(SparseHash(leaf)),
}


# -- in a vector ----------------------------------------------------------------------------------


def prefix(y, x, n):
    for i in range(1, n):
        y[i] = y[i - 1] + x[i]


def second_order(y, x, n):
    for i in range(2, n):
        y[i] = x[i] + y[i - 1] // 2 - y[i - 2] // 3


def powers(y, x, n):
    for i in range(n):
        for k in range(3):
            y[i] = y[i] * 2 + k + x[i] * 0


def same_each_turn(y, x, n):
    for i in range(n):
        for _k in range(3):
            y[i] = y[i] + y[i] + 1
        if x[i] > 0:
            y[i] += 1
            y[i] *= 3


def written_then_read(y, x, n):
    for i in range(n):
        y[i] = x[i]
        y[n - 1 - i] += y[i]
        if y[i] > 1:
            y[i] -= 1


def taken_and_changed(y, x, n):
    for i in range(n):
        v = y[i]
        y[i] = x[i] + 1
        y[n - 1 - i] = v + y[i]


def bounded_by_itself(y, x, n):
    for i in range(n):
        for j in range(n):
            if j < y[i]:
                y[i] -= 1
                y[j] += x[i]


def ended_by_itself(y, x, n):
    for i in range(n):
        for j in range(min(max(y[i], 0), n)):
            y[j] = y[i] + x[j] - 1


def two_in_turn(y, x, n):
    for i in range(n):
        for _k in range(2):
            y[i] += 1
            x[i] = x[i] + y[i]
            y[i] -= 3


def guarded(y, x, n):
    for i in range(n):
        if y[i] >= 0 and y[i] < n:
            y[y[i]] += 1
            y[i] = 2 * n
            if y[i] < n:
                y[y[i]] += 5


def gathered(y, x, n):
    for i in range(n):
        y[i] = (y[i] + x[i]) % n
        y[i] = y[y[y[i] % n] % n]


PROGRAMS = (
    prefix, second_order, powers, same_each_turn, written_then_read, taken_and_changed,
    bounded_by_itself, ended_by_itself, two_in_turn, guarded, gathered,
)  # fmt: skip


def given(form: dict[str, Any], name: str, data: np.ndarray) -> Any:
    """An argument in the format of that name, or the array itself."""
    if form[name] is None:
        return data.copy()
    return Tensor(form[name](Element(data.dtype.type(0))), data)


def agree(function: Any, backend: str, forms: tuple[Any, ...], *data: Any) -> None:
    """What ``function`` does to arrays, its kernel does to tensors, and its reference."""
    expected = [x.copy() if isinstance(x, np.ndarray) else x for x in data]
    with np.errstate(all="ignore"):
        function(*expected)
    made = [
        given(*form, x) if isinstance(x, np.ndarray) and form else x
        for form, x in zip(forms, data, strict=True)
    ]
    program = kernel(backend=backend)(function)
    parameters = function.__code__.co_varnames
    for name, found in program.reference(*made).items():
        np.testing.assert_array_equal(found, expected[parameters.index(name)])
    program(*made)
    for found, wanted in zip(made, expected, strict=True):
        if isinstance(wanted, np.ndarray):
            np.testing.assert_array_equal(asarray(found).to_numpy(), wanted)


@pytest.mark.sampled(0.29)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("form", VECTORS)
@pytest.mark.parametrize("function", PROGRAMS)
def test_vectors(function, form, backend):
    rng = np.random.default_rng(len(form))
    indexing = function in (ended_by_itself, guarded, gathered)
    dtype = {"array": np.int8, "map": np.float64}.get(form, np.int64)
    dtype = np.int64 if indexing else dtype
    for n in (0, 1, 2, 7):
        y = (rng.integers(-2, 5, n) * (rng.random(n) < 0.6)).astype(dtype)
        x = rng.integers(0, 3, n).astype(dtype)
        agree(function, backend, ((VECTORS, form), (VECTORS, form), ()), y, x, n)


# -- in a matrix ----------------------------------------------------------------------------------


def shortest(D, A, n):
    for k in range(n):
        for i in range(n):
            for j in range(n):
                D[i, j] = min(D[i, j], D[i, k] + D[k, j] + A[i, j])


def edits(D, A, n):
    for j in range(n):
        D[0, j] = j
    for i in range(1, n):
        D[i, 0] = i
        for j in range(1, n):
            up = D[i - 1, j] + 1
            D[i, j] = min(D[i - 1, j - 1] + (A[i, j] != 0), min(up, D[i, j - 1] + 1))


def eliminated(D, A, n):
    for k in range(n):
        for i in range(k + 1, n):
            D[i, k] += A[i, k] * D[k, k]
            for j in range(k + 1, n):
                D[i, j] -= D[i, k] * D[k, j]


def transposed(D, A, n):
    for i in range(n):
        for j in range(i):
            v = D[i, j]
            D[i, j] = D[j, i] + A[i, j]
            D[j, i] = v


def relaxed(D, A, n):
    for _t in range(2):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                D[i, j] = (D[i - 1, j] + D[i + 1, j] + D[i, j - 1] + D[i, j + 1]) // 3 + A[i, j]


def swept(D, A, n):
    for i in range(n):
        for j in range(n):
            if A[i, j] != 0:
                D[0, i] = D[0, i] + A[i, j] * D[0, j]
                D[1 % n, j] = max(D[1 % n, j], D[0, i])


MATRIX_PROGRAMS = (shortest, edits, eliminated, transposed, relaxed, swept)


@pytest.mark.sampled(0.29)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("form", MATRICES)
@pytest.mark.parametrize("function", MATRIX_PROGRAMS)
def test_matrices(function, form, backend):
    rng = np.random.default_rng(len(form))
    chosen = [*OPERANDS][MATRIX_PROGRAMS.index(function) :: len(OPERANDS)]
    for operand in (*chosen, *chosen, "list"):
        n = int(rng.integers(0, 6))
        D = rng.integers(-2, 5, (n, n)) * (rng.random((n, n)) < 0.7)
        A = rng.integers(1, 3, (n, n)) * (rng.random((n, n)) < 0.4)
        agree(function, backend, ((MATRICES, form), (OPERANDS, operand), ()), D, A, n)


# -- what the last turn has stored ----------------------------------------------------------------


def gauss_seidel(y, A, n):
    for i in range(n):
        t = 7
        for j in range(n):
            if j != i:
                t -= A[i, j] * y[j]
        y[i] = t + A[i, i]


def over_again(y, A, n):
    for i in range(n):
        t = 0
        for j in range(i + 1):
            t += A[i, j] * y[j]
        for j in range(2, n):
            t -= A[i, j] * y[j]
        y[i] += t
        for j in range(n):
            t += A[i, j] * y[j]
        y[0 * i] = t % 5 if n < 0 else y[0]


def added(y, A, n):
    for _k in range(2):
        for i in range(n):
            t = 0
            for j in range(n):
                t += A[i, j] * y[j]
                if y[j] > 3:
                    t += 1
            y[i] += t % 3


def where_needed(y, A, n):
    for i in range(n):
        t = 0
        for j in range(i):
            t += A[i, j] * y[j]
        if t > 1:
            y[i] = t


def longest(y, A, n):
    for i in range(n):
        m = 0
        for j in range(i):
            if A[j, i] > 0:
                m = max(m, y[j])
        y[i] = m + 1


@pytest.mark.sampled(0.29)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("operand", OPERANDS)
@pytest.mark.parametrize("function", [gauss_seidel, over_again, added, where_needed, longest])
def test_the_element_of_the_last_turn(function, operand, backend):
    rng = np.random.default_rng(3)
    for n in (0, 1, 2, 7):
        A = rng.integers(1, 3, (n, n)) * (rng.random((n, n)) < 0.4)
        if operand == "band":
            A = np.triu(np.tril(A, 1), -2)
        y = rng.integers(0, 4, n)
        if n == 0 and function is over_again:
            continue
        agree(function, backend, ((VECTORS, "array"), (OPERANDS, operand), ()), y, A, n)


# -- solves ---------------------------------------------------------------------------------------


@kernel
def forward(x, L, b):
    x[...] = 0
    for i in _:
        t = Scalar(0.0)
        t[()] = b[i]
        for j in range(i):
            t[()] -= L[i, j] * x[j]
        x[i] = t[()] / L[i, i]
    return x


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("form", ["dense", "map", "hash"])
@pytest.mark.parametrize("operand", OPERANDS)
def test_a_declared_output_is_read(operand, form, backend):
    rng = np.random.default_rng(0)
    L = np.tril(rng.random((9, 9)) * (rng.random((9, 9)) < 0.4)) + 2 * np.eye(9)
    b = rng.random(9)
    x = Tensor(VECTORS[form](Element(0.0)))
    solved = kernel(backend=backend)(forward.__wrapped__)(x, given(OPERANDS, operand, L), b)
    np.testing.assert_allclose(solved.to_numpy(), np.linalg.solve(L, b))
