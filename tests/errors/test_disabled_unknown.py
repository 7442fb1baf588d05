import numpy as np
from error_support import VECTOR, refusal

from finch_core import BackendError, _
from finch_core.runtime.kernel import Kernel
from finch_core.runtime.options import Options


def add(y, x):
    for i in _:
        y[i] += x[i]


def test_disabled_unknown():
    run = Kernel(add, Options(disabled=frozenset({"dead_cod", "points", "sort"}), backend="c"))
    what, hint = refusal(BackendError, run, np.zeros(4), VECTOR).splitlines()
    assert what == (
        "disabled names 'dead_cod', which is no rule, no pass and no optimisation of the backend 'c'"
    )
    assert hint.startswith(
        "  hint: those are appending, available_expressions, boolean_constants, "
    )
    assert hint.endswith("steady, store_forwarding, unswitching, until, vector_reductions")
