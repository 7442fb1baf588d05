import numpy as np
from error_support import VECTOR, refusal

from finch_core import LifecycleError, Tensor, _, kernel, walk
from finch_levels import Element, SparseByteMap


@kernel
def prefix(y, x):
    for i in _:
        y[i] += x[i] * y[walk(i)]


def test_read_by_walking():
    expected = """\
y is read and updated within one loop, and walk reads what is stored when the loop begins
  line 3
    y[i] += x[i] * y[walk(i)]
                   ^^^^^^^^^^
  hint: read it without walk, or by follow"""
    y = Tensor(SparseByteMap(Element(0.0)), np.ones(4))
    assert refusal(LifecycleError, prefix, y, VECTOR) == expected
