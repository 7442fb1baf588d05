import numpy as np
import pytest
from error_support import LEVELS

from finch_core import FormatError, Tensor
from finch_levels import Dense, Scalar, ShortCircuitScalar, SparseScalar


def test_scalar_below_level():
    with pytest.raises(FormatError) as error:
        Tensor(Dense(Scalar(0.0).format), np.ones(3))
    expected = """\
a Scalar holds one value, which all positions of a level would share
  hint: use Element, which has a value for each position"""
    assert str(error.value) == expected


@pytest.mark.parametrize("make", [Scalar, SparseScalar, ShortCircuitScalar])
@pytest.mark.parametrize(("name", "level"), LEVELS)
def test_every_scalar_below_every_level(make, name, level):
    with pytest.raises(FormatError, match="which all positions of a level would share"):
        level(make(0).format)
