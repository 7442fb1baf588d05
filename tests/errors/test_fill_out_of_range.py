import numpy as np
import pytest

from finch_core import FormatError, Tensor
from finch_levels import Element, Scalar, ShortCircuitScalar, SparseScalar

WRONG = [
    (2**63, None), (2**64, None), (300, np.int8), (-1, np.uint8), (2, bool), (1.5, np.int64),
    (float("nan"), np.int32), (float("inf"), np.int64), (1e300, np.float32), (10**400, float),
    (1j, float), ("a", float), (None, float), (np.float64(2**63), np.int64),
    ((300, 1.0), np.dtype([("f0", "i1"), ("f1", "f8")], align=True)),
]  # fmt: skip
RIGHT = [
    (0.1, np.float32), (2.0, np.int8), (True, np.int8), (2**63, np.uint64), (1, complex),
    (np.inf, np.float32), (-(2**63), None), ((0, 1.5), None),
]  # fmt: skip


def test_fill_out_of_range():
    with pytest.raises(FormatError) as error:
        Element(300, np.int8)
    expected = """\
300 is not a fill value for int8: int8 is from -128 to 127
  hint: a wider dtype, Element(fill, np.float64), or a fill that it can hold"""
    assert str(error.value) == expected


@pytest.mark.parametrize("make", [Element, Scalar, SparseScalar, ShortCircuitScalar])
@pytest.mark.parametrize(("fill", "dtype"), WRONG)
def test_fills_that_the_dtype_cannot_hold(make, fill, dtype):
    with pytest.raises(FormatError, match="is not a fill value for"):
        make(fill, dtype)


@pytest.mark.parametrize(("fill", "dtype"), RIGHT)
def test_fills_that_it_can(fill, dtype):
    found = Element(fill, dtype).fill_value
    assert found == np.array(fill, found.dtype)[()]
    assert Tensor(Element(fill, dtype)).value == found.item()
