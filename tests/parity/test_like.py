"""``A.like(value, dtype)``: the same elements stored, with other values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from finch_core import FormatError, Tensor
from finch_core.plugins import hub
from finch_core.runtime.validation import validate
from finch_core.testing.arrays import array
from finch_core.testing.formats import admit, leaf, level_names, nest
from finch_levels import Dense, Element, Pattern, Scalar, SparseByteMap, SparseHash, SparseList

CSR = Dense(SparseList(Element(0.0)))


def made(format: Any, kind: str = "half") -> Tensor:
    return Tensor(format, admit(format, array((5, 7), float, kind, 3)))


@pytest.mark.parametrize("name", level_names())
def test_the_same_elements_are_stored(name: str) -> None:
    level = hub().level(name)
    for levels in ((Dense, level), (level, Dense), (level, level)):
        for kind in ("half", "empty", "runs", "full"):
            tensor = made(nest(levels, leaf()), kind)
            structure = tensor.structure()
            for value, dtype in ((None, None), (2.5, None), (3, np.int32), (None, np.complex64)):
                found = tensor.like(value, dtype)
                validate(found)
                assert found.shape == tensor.shape
                assert found.nstored == tensor.nstored
                assert found.dtype == (tensor.dtype if dtype is None else dtype)
                expected = np.where(structure, 0 if value is None else value, 0)
                np.testing.assert_array_equal(found.to_numpy(), expected)
                np.testing.assert_array_equal(found.structure(), structure)


def test_memory_is_its_own() -> None:
    tensor = made(CSR)
    found = tensor.like(1.0)
    assert not any(
        np.shares_memory(a, b) for a in found.buffers.values() for b in tensor.buffers.values()
    )
    before = found.to_numpy().copy()
    tensor.fill((2, 2))
    np.testing.assert_array_equal(found.to_numpy(), before)


@pytest.mark.parametrize("level", [SparseHash, SparseByteMap])
def test_it_can_be_inserted_into(level: Any) -> None:
    """What is not stored is fill, also in the memory that entries are inserted into."""
    found = Tensor(level(Element(0.0)), np.array([0.0, 2.0, 0.0, 3.0])).like(7.0)
    from finch_core.testing.level_updates import more
    from finch_core.testing.running import on

    on(None, more)(found, np.array([1.0, 0.0, 0.0, 1.0]))
    assert found.to_numpy().tolist() == [1.0, 7.0, 0.0, 8.0]


def test_a_pattern_takes_the_values_of_what_is_given() -> None:
    edges = Tensor(Dense(SparseList(Pattern())), np.eye(3, dtype=bool))
    assert edges.like().format == edges.format
    assert edges.like(2.0).to_numpy().tolist() == (2 * np.eye(3)).tolist()
    assert edges.like(dtype=np.float32).dtype == np.float32
    assert edges.like(dtype=np.float32).nstored == 3


def test_other_fills_and_scalars() -> None:
    tensor = Tensor(SparseList(Element(np.inf)), np.array([np.inf, 1.0]))
    assert tensor.like().to_numpy().tolist() == [np.inf, np.inf]
    assert tensor.like(0.0).to_numpy().tolist() == [np.inf, 0.0]
    assert Scalar(2.0).like(3.0).value == 3.0
    assert tensor.like(-0.0).to_numpy().tolist() == [np.inf, 0.0]
    with pytest.raises(FormatError, match="the fill value inf is not a value of int64"):
        tensor.like(dtype=np.int64)
    with pytest.raises(FormatError, match=r"2\.5 is not a value of int64"):
        Tensor(SparseList(Element(0)), np.array([1, 0])).like(2.5)
