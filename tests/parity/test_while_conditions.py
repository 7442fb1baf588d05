"""Conditions of ``while`` on a loop's index keep the accesses in its body inside."""

from __future__ import annotations

import numpy as np
import pytest
from shared_programs import function_of

from finch_core import Tensor, kernel
from finch_core.errors import DimensionMismatch
from finch_levels import Element, SparseList

DATA = np.array([1.0, 0.0, 3.0, 1.0])
PROGRAMS = {
    "before": """
def k(y, x, n):
    for i in range(len(x)):
        while i > 0 and y[i] < 3:
            y[i] += x[i - 1] + 1
""",
    "after": """
def k(y, x, n):
    for i in range(len(x)):
        w = 0
        while i + 1 < len(x) and w < n:
            w += 1
            y[i] += x[i + 1] + w
""",
    "both": """
def k(y, x, n):
    for i in range(n):
        for j in range(n + 2):
            while j > 0 and j < len(x) and y[j] < 2:
                y[j] += x[j - 1] + 1
""",
}


@pytest.mark.parametrize("backend", ["interpreter", "c"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_body_is_inside(name: str, backend: str) -> None:
    function = function_of(PROGRAMS[name])
    expected = np.zeros(4)
    function(expected, DATA, 3)
    for x in (DATA, Tensor(SparseList(Element(0.0)), DATA)):
        found = np.zeros(4)
        kernel(backend=backend)(function)(found, x, 3)
        assert found.tolist() == expected.tolist()


def test_a_condition_that_may_hold_elsewhere_keeps_nothing_inside() -> None:
    text = PROGRAMS["before"].replace("i > 0 and", "i > 0 or")
    with pytest.raises(DimensionMismatch):
        kernel(backend="interpreter")(function_of(text))(np.zeros(4), DATA, 3)
