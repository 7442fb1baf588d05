import numpy as np
import pytest

import finch_array as fa
from finch_core import FormatError, Tensor
from finch_levels import Dense, Element, SparseList
from finch_wrappers import offset, permissive


def test_array_not_from_zero():
    A = Tensor(Dense(SparseList(Element(0.0))), np.eye(3))
    for name, view, why in (
        ("offset", offset(A, 1, 0), "its indices do not begin at 0"),
        (
            "permissive",
            permissive(A, True, False),
            "indices before 0 and after the last are read, too, as missing",
        ),
    ):
        with pytest.raises(FormatError) as error:
            fa.sum(view, axis=0)
        assert str(error.value) == (
            f"the result of {name} is no array: {why}\n"
            "  hint: read it in a kernel, into a tensor of its own"
        )
