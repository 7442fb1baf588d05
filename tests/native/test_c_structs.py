"""Structured dtypes of a user's own: those that lie in memory as a C struct does, and no other."""

from __future__ import annotations

import numpy as np
import pytest

from finch_core import FormatError, Tensor
from finch_levels import Dense, Element, SparseList

NAMED = np.dtype([("a", "i4"), ("b", "f8")], align=True)


@pytest.mark.parametrize("level", [Dense, SparseList])
@pytest.mark.parametrize(
    "dtype", [NAMED, np.dtype([("x", NAMED), ("y", "i1")], align=True)], ids=str
)
def test_fields_of_any_name_are_stored(level, dtype):
    data = np.zeros(4, dtype)
    data[2] = np.frombuffer(bytes(range(dtype.itemsize)), np.uint8).view(dtype)[0]
    tensor = Tensor(level(Element(np.zeros((), dtype)[()])), data)
    for name in dtype.names:
        np.testing.assert_array_equal(tensor.to_numpy()[name], data[name])


@pytest.mark.parametrize(
    "dtype",
    [[("a", "i4"), ("b", "f8")], [("a", "f8", (2,))], [("a", "f16")], [("a", ">f8")], []],
    ids=str,
)
def test_other_layouts_are_refused(dtype):
    fill = np.zeros((), np.dtype(dtype))[()]
    with pytest.raises(FormatError, match="are not supported"):
        Element(fill)
