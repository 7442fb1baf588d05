import numpy as np
from error_support import VECTOR, refusal

from finch_core import BackendError, _, kernel


@kernel(backend="fortran")
def add(y, x):
    for i in _:
        y[i] += x[i]


def test_backend_unknown():
    message = refusal(BackendError, add, np.zeros(4), VECTOR)
    what, hint = message.splitlines()
    assert what == "there is no backend 'fortran'"
    assert hint.startswith("  hint: installed: 'c' (finch-python ")
    assert "'interpreter' (finch-python " in hint
