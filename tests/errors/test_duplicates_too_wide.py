import numpy as np
import pytest
from error_support import refusal

from finch_core import FormatError
from finch_core.runtime.convert import from_coordinates
from finch_levels import Dense, Element, SparseList


@pytest.mark.parametrize(("dtype", "value"), [("int8", 100), ("uint8", 200), ("int32", 2**30)])
def test_duplicates_too_wide(dtype, value):
    format = Dense(SparseList(Element(np.dtype(dtype).type(0))))
    coords, values = [[1, 0, 1], [2, 0, 2]], np.array([value, 3, value], dtype)
    message = refusal(FormatError, from_coordinates, format, (2, 3), coords, values)
    assert message == (
        f"entries of the same index add up to {2 * value}, which does not fit in {dtype}\n"
        "  hint: pass values of a wider dtype, as in values.astype(np.int64)"
    )
    values[2] = 1
    found = from_coordinates(format, (2, 3), coords, values).to_numpy()
    assert found.tolist() == [[3, 0, 0], [0, 0, value + 1]]
