import numpy as np
import pytest

from finch_core import FormatError, asarray


def test_byte_order():
    swapped = np.ones(3).astype(np.dtype(float).newbyteorder())
    with pytest.raises(FormatError) as error:
        asarray(swapped)
    assert str(error.value).endswith(
        "  hint: a.astype(a.dtype.newbyteorder('=')) is a copy in the byte order of this machine"
    )
    assert asarray(swapped.astype(swapped.dtype.newbyteorder("="))).to_numpy().sum() == 3
