"""Coordinates of dense levels around lists are those that a conversion finds."""

import itertools

import numpy as np
import pytest

from finch_core import Tensor
from finch_core.runtime import convert, lists
from finch_levels import Dense, Element, SparseCOO, SparseList


@pytest.mark.parametrize("ndim", [1, 2, 3])
@pytest.mark.parametrize("index", [np.uint8, np.int32, np.int64, np.uint64])
def test_they_are_read_from_the_buffers(ndim, index, monkeypatch):
    rng = np.random.default_rng(ndim)
    for dense, shape in itertools.product(range(ndim), itertools.product((0, 1, 4), repeat=ndim)):
        format = Element(0.0)
        for k in range(ndim):
            lists_ = SparseList(format, index=index, pointer=index)
            format = lists_ if k < ndim - dense else Dense(format)
        tensor = Tensor(format, rng.integers(0, 3, shape).astype(float))
        found = lists.coordinates_of_lists(tensor)
        monkeypatch.setattr(convert, "coordinates_of_lists", lambda *_: None)
        wanted = convert.stored_coordinates(tensor)
        monkeypatch.undo()
        assert found[0] == wanted[0] == shape
        for mine, other in zip([*found[1], found[2]], [*wanted[1], wanted[2]], strict=True):
            np.testing.assert_array_equal(mine, other, strict=True)
            assert not any(np.shares_memory(mine, own) for own in tensor.buffers.values())
    assert lists.coordinates_of_lists(Tensor(Dense(Element(0.0)), np.ones(3))) is None


@pytest.mark.parametrize("dense", [0, 1])
def test_coordinates_are_read_as_they_are_stored(dense):
    rng = np.random.default_rng(dense)
    for shape in itertools.product((0, 1, 4), repeat=3):
        x = rng.integers(0, 3, shape).astype(float)
        format = SparseCOO(SparseCOO(Element(0.0), index=np.int32), index=np.int8)
        tensor = Tensor(Dense(format) if dense else SparseCOO(format, pointer=np.int16), x)
        found = lists.coordinates_of_lists(tensor)
        for mine, other in zip(found[1], x.nonzero(), strict=True):
            np.testing.assert_array_equal(mine, other, strict=True)
        np.testing.assert_array_equal(found[2], x[x.nonzero()], strict=True)
        assert found[0] == shape
        np.testing.assert_array_equal(tensor.to_numpy(), x, strict=True)
        shared = lists.coordinates_of_lists(tensor, shared=True)
        for mine, other in zip([*shared[1], shared[2]], [*found[1], found[2]], strict=True):
            np.testing.assert_array_equal(mine, other)
