import numpy as np
import pytest
from error_support import refusal

from finch_core import Tensor, _, kernel
from finch_core.errors import KernelSyntaxError
from finch_levels import Element, SparseByteMap


@kernel
def rows(y, p):
    for i in _:
        w = Tensor(SparseByteMap(Element(0.0)), (p[i],))
        for j in _:
            w[j] += 1
            y[i] += w[j]


def test_local_shape_late():
    expected = """\
the shape of w is not known before the program runs
  line 3
    w = Tensor(SparseByteMap(Element(0.0)), (p[i],))
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: make it of whole numbers, parameters that are numbers, sizes of tensors that the kernel \
does not declare, and their sums"""
    assert refusal(KernelSyntaxError, rows, np.zeros(2), np.array([1, 2])) == expected
    with pytest.raises(KernelSyntaxError, match="the shape of w is not known before"):
        rows.reference(np.zeros(2), np.array([1, 2]))
