"""What one of two conditions counts is added, not branched on, where C compilers keep branches."""

import numpy as np
import pytest

from finch_core import _, kernel
from finch_levels import Scalar


def union(n, x, y):
    n[...] = 0
    for i in _:
        if x[i] or y[i]:
            n[()] += 1


def either(n, x, y):
    n[...] = 0
    for i in _:
        if x[i] > 0 or y[i] > 1 or x[i] == y[i]:
            n[()] += 1
        else:
            n[()] += 10


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int64, float])
@pytest.mark.parametrize("program", [union, either])
def test_as_in_python(program, dtype):
    rng = np.random.default_rng(0)
    for size in (0, 1, 3, 64, 1000):
        x, y = rng.integers(0, 3, (2, size)).astype(dtype)
        run, n, wanted = kernel(backend="c")(program), Scalar(0), Scalar(0)
        run(n, x, y)
        kernel(backend="interpreter")(program)(wanted, x, y)
        assert n.value == wanted.value


def test_it_is_added():
    x = np.zeros(3, bool)
    text = kernel(backend="c")(union).lower(Scalar(0), x, x).as_text("source")
    assert "n_val += x1_val[i] || y1_val[i];" in text
