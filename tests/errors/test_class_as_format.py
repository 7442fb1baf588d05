import numpy as np
import pytest

from finch_core import FormatError, Tensor
from finch_levels import Dense


def test_the_class_of_a_level_is_no_format():
    with pytest.raises(FormatError) as error:
        Tensor(Dense, np.ones(3))
    assert str(error.value).startswith("Dense is not a format by itself: ")
    assert error.value.hint == "as in Tensor(Dense(Element(0.0)), data) for one dimension"
