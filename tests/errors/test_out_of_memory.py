import numpy as np
import pytest
from error_support import VECTOR, refusal

from finch_core import Tensor, kernel
from finch_core.errors import OutOfMemory
from finch_core.testing import backend_names
from finch_levels import Dense, Element, SparseList


@kernel
def huge(y, x, n):
    y[...] = 0
    for i in range(0, n):
        y[i] = x[0]


def test_out_of_memory():
    expected = """\
memory ran out for y, of shape (576460752303423488,): 4,611,686,018,427,387,904 bytes of float64
  line 1
    def huge(y, x, n):
             ^
  hint: what was declared is empty; compute less at a time, or in narrower dtypes"""
    assert refusal(OutOfMemory, huge, Tensor(Dense(Element(0.0))), VECTOR, 2**59) == expected


def squares(x, n):
    v = np.ones(3)
    w = np.zeros((n, n))
    w[0, 0] = x[0]
    return w[0, 0] + v[0]


def lists(x, n):
    w = Tensor(Dense(SparseList(Element(0.0))), (n, n))
    w[...] = 0
    for i in range(n):
        w[i, 0] = x[0]
    return w[0, 0]


@pytest.mark.parametrize("backend", backend_names())
def test_the_workspace_is_named(backend):
    expected = """\
memory ran out for w, of shape (10000000, 10000000): 800,000,000,000,000 bytes of float64
  line 2
    w = np.zeros((n, n))
    ^
  hint: what was declared is empty; compute less at a time, or in narrower dtypes"""
    assert refusal(OutOfMemory, kernel(backend=backend)(squares), VECTOR, 10**7) == expected
    found = refusal(OutOfMemory, kernel(backend=backend)(lists), VECTOR, 10**14)
    shape = "(100000000000000, 100000000000000)"
    assert found.startswith(f"memory ran out for w, of shape {shape}\n  line 1\n")
