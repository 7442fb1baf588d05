"""Tensors that are made over their buffers are those that take them afterwards."""

from __future__ import annotations

import numpy as np
import pytest

from finch_core import Tensor
from finch_core.errors import IndexOverflow, PluginError
from finch_core.runtime.lists import arrays_in_use
from finch_core.runtime.over_buffers import copy_of, maker_of_fields, maker_over
from finch_levels import Dense, Element, SparseBand, SparseCOO, SparseList

ROWS = Dense(SparseList(Element(0.0), index=np.int8, pointer=np.int8))
DATA = np.array([[0.0, 1.0, 2.0], [0.0, 0.0, 3.0]])
FORMATS = {
    "rows": ROWS, "lists": SparseList(SparseList(Element(0.0))),
    "dense": Dense(Dense(Element(0.0))),
    "coordinates": SparseCOO(SparseCOO(Element(0.0))), "bands": Dense(SparseBand(Element(0.0))),
    "vector": SparseList(Element(0.0)),
}  # fmt: skip


def made(format):
    return Tensor(format, DATA if format.ndim == 2 else DATA[0])


def alike(one, other):
    assert one.format == other.format
    assert one.signature is other.signature
    assert one.record.size == other.record.size
    assert one.address == one.record.ctypes.data
    starts = {start for start, _ in one.memory}
    assert {a.ctypes.data for a in one.arrays if a.size} <= starts
    assert not starts & {start for start, _ in other.memory}
    np.testing.assert_array_equal(one.to_numpy(), other.to_numpy())


@pytest.mark.parametrize("name", FORMATS)
def test_copies(name):
    first = made(FORMATS[name])
    alike(copy_of(first), first)
    make = maker_over(first.format, Tensor)
    other = make(first.record, [array.copy() for array in first.arrays])
    alike(other, first)
    assert [a.size for a in arrays_in_use(first)] == [a.size for a in first.arrays_in_use()]


@pytest.mark.parametrize("name", FORMATS)
def test_fields(name):
    first = made(FORMATS[name])
    fields = []
    for k, level in enumerate(first.layout.levels):
        own = first.fields(k)
        fields.append({n: own[n].copy() for n in own if hasattr(own[n], "copy")})
        fields[-1] |= {f.name: own[f.name] for f in level.fields if not f.is_buffer}
    alike(maker_of_fields(first.format, Tensor)(first.shape, fields), first)


def test_what_is_no_field_is_refused():
    make = maker_of_fields(ROWS, Tensor)
    columns = {"ptr": np.zeros(3, np.int8), "idx": np.zeros(0, np.int8)}
    with pytest.raises(
        PluginError, match="is made with an array of int64 as 'ptr', which is an array of int8"
    ):
        make((2, 3), [{}, columns | {"ptr": np.zeros(3, np.int64)}, {"val": np.zeros(0)}])
    with pytest.raises(PluginError, match="is made without its field 'val'"):
        make((2, 3), [{}, columns, {}])
    with pytest.raises(IndexOverflow):
        make((2, 1000), [{}, columns, {"val": np.zeros(0)}])
    alike(make((2, 3), [{}, columns, {"val": np.zeros(0)}]), Tensor(ROWS, np.zeros((2, 3))))
