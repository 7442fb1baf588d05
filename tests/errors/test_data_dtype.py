import numpy as np
import pytest
import scipy.sparse as sp
from error_support import refusal

from finch_core import FormatError, Tensor
from finch_levels import Dense, Element, SparseList


def test_data_dtype():
    expected = """\
the format holds int64, and cannot take data of float64
  hint: write Element(0.0), or cast the data to int64"""
    format = Dense(SparseList(Element(0)))
    for data in ([[1.5, 0], [0, 2]], np.eye(2), sp.csr_array(np.eye(2))):
        assert refusal(FormatError, Tensor, format, data) == expected


@pytest.mark.parametrize(
    ("fill", "data", "leaf"),
    [
        (False, [1, 0], "Element(0)"),
        (np.float32(2), [1j, 0], "Element(2+0j)"),
        (np.int8(1), np.ones(2, np.float32), "Element(np.float32(1.0))"),
        (0, np.zeros(2, "M8[s]"), None),
    ],
)
def test_leaves_that_hold_the_data(fill, data, leaf):
    with pytest.raises(FormatError) as error:
        Tensor(Dense(Element(fill)), data)
    dtype = np.asarray(fill).dtype
    hint = f"write {leaf}, or cast the data to {dtype}"
    assert error.value.hint == (hint if leaf else "give the Element the dtype datetime64[s]")
