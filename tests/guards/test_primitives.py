"""What the entry of an operator says of it is whole: no other list has to know it."""

from __future__ import annotations

import numpy as np
import pytest

from finch_core.ir.dtypes import FLOAT64, SUPPORTED
from finch_core.ir.operators import Operator, operator
from finch_core.ir.primitives import PRIMITIVES
from finch_core.testing.operands import operator_names

ALL = [operator(name) for name in PRIMITIVES]
LIBRARY = [op for op in ALL if op.library]


def test_every_operator_is_asked_by_the_suite_of_backends() -> None:
    asked = {name for dtype in SUPPORTED for name in operator_names(dtype)}
    assert set(PRIMITIVES) - asked == {"tuple"}  # which has a test of its own


@pytest.mark.parametrize("op", LIBRARY, ids=str)
def test_functions_of_the_library_take_and_give_doubles(op: Operator) -> None:
    """They are declared so; others need a helper in each backend."""
    arguments, result = op.typing((FLOAT64,) * op.arity[0])
    assert {*map(np.dtype, arguments), np.dtype(result)} == {FLOAT64}


@pytest.mark.parametrize("op", LIBRARY, ids=str)
def test_what_a_library_approximates_is_costly(op: Operator) -> None:
    assert op.costly or "f" not in op.approximate
