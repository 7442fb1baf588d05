"""An operator that the C backend cannot compute is refused by its name."""

from __future__ import annotations

import numpy as np
import pytest

from finch_backend_c import ctree as c
from finch_backend_c.operators import Value, operate
from finch_core.errors import BackendError
from finch_core.ir.dtypes import FLOAT64
from finch_core.ir.operators import Operator, by_ufunc, register, unregister


def test_an_operator_without_a_function_is_refused() -> None:
    op = register(Operator("logaddexp", np.logaddexp, by_ufunc(np.logaddexp)))
    try:
        operands = tuple(Value(c.Name(name), FLOAT64) for name in "ab")
        with pytest.raises(BackendError) as caught:
            operate("logaddexp", operands, FLOAT64)
    finally:
        unregister(op)
    assert str(caught.value) == (
        "the C backend has no operator 'logaddexp' on float64\n"
        "  hint: give its entry the name of a function of the C library (library=...), or write "
        "a helper in finch_backend_c/helpers.py"
    )
