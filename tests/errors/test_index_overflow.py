import numpy as np
import pytest
from error_support import copied, text

from finch_core import Tensor
from finch_core.errors import IndexOverflow
from finch_levels import Element, SparseList


def test_index_overflow():
    expected = """\
a dimension of 300 is too long for indices of int8
  hint: give the level a wider index dtype, index=np.int64"""
    y = Tensor(SparseList(Element(0.0), index=np.int8))
    with pytest.raises(IndexOverflow) as error:
        copied(y, np.ones(300))
    assert text(error.value, copied) == expected
    assert y.nstored == 0
