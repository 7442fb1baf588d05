import numpy as np
import pytest

from finch_core import FormatError, Tensor
from finch_levels import Dense, Element


def test_buffers_mapping():
    expected = """\
buffers is a tuple, not a mapping from names to arrays
  hint: as in {"1_ptr": ptr, "1_idx": idx, "2_val": val}; docs/formats.md lists them"""
    with pytest.raises(FormatError) as error:
        Tensor.from_buffers(Dense(Element(0.0)), (2,), ({}, {"val": np.zeros(2)}))
    assert str(error.value) == expected
