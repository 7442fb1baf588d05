"""Single elements that are read between the declaration of an output that is written in order and
the loop that writes it: C, the interpreter, the reference and Python agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from finch_core import Tensor, kernel
from finch_core.testing import backend_names
from finch_levels import (
    Dense,
    Element,
    RunList,
    SparseBlockList,
    SparseCOO,
    SparseList,
    SparseRunList,
)

BACKENDS = backend_names()
LEVELS: list[Any] = [SparseList, RunList, SparseBlockList, SparseRunList, SparseCOO]


def value(w, x, p, n):
    w[...] = 0
    q = p[1]
    for i in range(n):
        w[i] = q * x[i]


def starts(w, x, p, n):
    w[...] = 0
    for i in range(p[1], n):
        w[i] = x[i]


def steps(w, x, p, n):
    w[...] = 0
    for i in range(p[1], n, 2):
        w[i] = x[i]


def guarded(w, x, p, n):
    w[...] = 0
    if p[p[1]] >= 1:
        for i in range(n):
            w[i] = x[i]


def one_turn(w, x, p, n):
    w[...] = 0
    for _k in range(1):
        for _m in range(n, min(n + 1, len(p) + 3)):
            for i in range(n):
                w[i] = x[i]


def parts(w, x, p, n):
    w[...] = 0
    q = x[1]
    for i in range(p[0]):
        w[i] = x[i] + q
    for i in range(p[0], n):
        w[i] = x[i] * p[0]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", [value, starts, steps, guarded, one_turn, parts])
@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.__name__)
def test_vectors(backend, program, level):
    if program is parts and not level.resumes:
        pytest.skip("several loops cannot write it")
    x, p, n = np.array([0.0, 0, 2, 2, 3, 4]), np.array([3, 1, 0]), 6
    wanted = np.zeros(n)
    program(wanted, x, p, n)
    compiled = kernel(backend=backend)(program)
    w = Tensor(level(Element(0.0)), (n,))
    for form in (SparseList, RunList, Dense):
        compiled(w, Tensor(form(Element(0.0)), x), p, n)
        np.testing.assert_array_equal(w.to_numpy(), wanted)
    np.testing.assert_array_equal(compiled.reference(w, x, p, n)["w"], wanted)


def first_of_row(C, A, p):
    C[...] = 0
    for i in range(4):
        q = A[i, 0]
        for j in range(4):
            C[i, j] = A[i, j] * q


def gathered(C, A, p):
    C[...] = 0
    for i in range(4):
        q = p[p[i]]
        if A[q, i] != 2:
            for j in range(p[q], 4):
                C[i, j] = A[i, j] + q


def of_the_last_row(C, A, p):
    C[...] = 0
    last = A[3, 3]
    for i in range(p[0], 4):
        t = A[p[i], 1] + last
        for j in range(4):
            if A[i, j] != 0:
                C[i, j] = t


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", [first_of_row, gathered, of_the_last_row])
@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.__name__)
def test_rows(backend, program, level):
    A = np.array([[4.0, 2, 2, 0], [1, 0, 0, 0], [2, 0, 0, 0], [0, 6, 6, 4]])
    p, leaf, wanted = np.array([0, 2, 1, 3]), Element(0.0), np.zeros((4, 4))
    program(wanted, A, p)
    compiled = kernel(backend=backend)(program)
    C = Tensor(level(SparseCOO(leaf)) if level is SparseCOO else Dense(level(leaf)), (4, 4))
    for form in (Dense(SparseList(leaf)), SparseList(RunList(leaf)), Dense(Dense(leaf))):
        compiled(C, Tensor(form, A), p)
        np.testing.assert_array_equal(C.to_numpy(), wanted)
    np.testing.assert_array_equal(compiled.reference(C, A, p)["C"], wanted)
