"""Conditions keep writes of declared tensors at 0 and above; how long these are says the range
alone. C, the interpreter and the reference agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from finch_core import Tensor, kernel
from finch_core.errors import OutOfBounds
from finch_core.testing import backend_names
from finch_levels import (
    Dense,
    Element,
    RunList,
    SparseBlockList,
    SparseByteMap,
    SparseHash,
    SparseList,
)

LEVELS: list[Any] = [Dense, SparseList, RunList, SparseBlockList, SparseByteMap, SparseHash]


def from_a_number(w, p, a, n):
    w[...] = 0
    for i in range(a, n):
        if i >= 0 and i < n:
            w[i] = i + 1


def shifted(w, p, a, n):
    w[...] = 0
    for i in range(a, n):
        if i > 0:
            w[i - 1] = i


def from_an_element(w, p, a, n):
    w[...] = 0
    for i in range(p[0], n):
        if i >= 0 and p[1] == 0:
            w[i] = 2.0


def other_conditions(w, p, a, n):
    w[...] = 0
    for i in range(a, 2 * n):
        if i < 0:
            continue
        if abs(i - 2) < 2 and i != 2:
            w[i] = 5.0


PROGRAMS = [from_a_number, shifted, from_an_element, other_conditions]


@pytest.mark.parametrize("backend", backend_names())
@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.__name__)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_condition_keeps_a_write_above_0(backend, level, program):
    compiled = kernel(backend=backend)(program)
    for n in (0, 1, 4):
        for a in (-3, -1, 0, 2):
            w, p = Tensor(level(Element(0.0)), (7,)), np.array([a, 0])
            compiled(w, p, a, n)
            wanted = np.zeros({shifted: max(n - 1, 0), other_conditions: 2 * n}.get(program, n))
            for i in range(a, 2 * n if program is other_conditions else n):
                if program is shifted:
                    if i > 0:
                        wanted[i - 1] = i
                elif i >= 0 and (program is not other_conditions or i in (1, 3)):
                    wanted[i] = {from_a_number: i + 1, from_an_element: 2.0}.get(program, 5.0)
            np.testing.assert_array_equal(w.to_numpy(), wanted)
            np.testing.assert_array_equal(compiled.reference(w, p, a, n)["w"], wanted)


@pytest.mark.parametrize("backend", backend_names())
def test_rows(backend):
    @kernel(backend=backend)
    def rows(w, p, n):
        w[...] = 0
        for r in range(n):
            for i in range(p[r], n):
                if i >= 0 and i < n:
                    w[r, i] = r + i

    for format in (Dense(SparseList(Element(0.0))), SparseHash(SparseHash(Element(0.0)))):
        w, p = Tensor(format, (3, 3)), np.array([-1, 2, -5])
        rows(w, p, 3)
        wanted = np.array([[0.0, 1, 2], [0, 0, 3], [2, 3, 4]])
        np.testing.assert_array_equal(w.to_numpy(), wanted)
        np.testing.assert_array_equal(rows.reference(w, p, 3)["w"], wanted)


@pytest.mark.parametrize("backend", backend_names())
def test_a_write_below_0_is_refused(backend):
    @kernel(backend=backend)
    def below(w, p, n):
        w[...] = 0
        for i in range(p[0], n):
            if i >= p[1]:
                w[i] = 1.0

    w = Tensor(SparseList(Element(0.0)), (3,))
    for run in (below, below.reference):
        with pytest.raises(OutOfBounds):
            run(w, np.array([-1, -1]), 3)
