import pytest

from finch_core import Tensor
from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse
from finch_levels import Element, SparseByteMap


def test_local_shape_long():
    def kernel(y, n):
        w = Tensor(SparseByteMap(Element(0.0)), (n, n))
        y[()] = w[0]

    expected = """\
a shape of 2 dimensions for a format of 1
  File "FILE", line 11
    w = Tensor(SparseByteMap(Element(0.0)), (n, n))
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: nest one level a dimension, ending in a leaf"""
    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    assert str(error.value).replace(__file__, "FILE") == expected
