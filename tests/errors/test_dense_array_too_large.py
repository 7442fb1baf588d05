import pytest

from finch_core import Tensor
from finch_core.errors import OutOfMemory
from finch_levels import Element, SparseList


def test_dense_array_too_large():
    expected = """\
there is no memory for a dense array of shape (1099511627776, 1099511627776)
  hint: A.to_scipy() and A.to(format) take what is stored"""
    A = Tensor(SparseList(SparseList(Element(0.0))), (2**40, 2**40))
    with pytest.raises(OutOfMemory) as error:
        A.to_numpy()
    assert str(error.value) == expected
