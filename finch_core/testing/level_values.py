"""The tests of ``LevelSuite`` on where elements come from: the leaf's values, or the level."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from finch_core.errors import FinchError
from finch_core.interface.layout import layout
from finch_core.interface.plugins import hub
from finch_core.interface.storage import field_of_values
from finch_core.runtime.tensor import Tensor
from finch_core.testing.arrays import Array, array
from finch_core.testing.formats import Limit, admit, leaf, nest
from finch_core.testing.level_buffers import Given, changes, contents
from finch_core.testing.running import FULL, using

MOST = 24
"""How many changes of the buffers of a tensor are tried, drawn with a fixed seed."""

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "x * 2": lambda x: x * 2,
    "1 - x": lambda x: 1 - x,
    "x > 1": lambda x: x > 1,
    "x.astype(float32)": lambda x: x.astype(np.float32),
}
"""Array functions of one array, of which the first keeps the fill 0, and others do not."""


def has_arrays() -> bool:
    """Whether tensors have array functions: an array namespace is installed."""
    return bool(hub().array_namespaces)


class LevelValues:
    """Tests of functions of all elements; ``format`` and ``limits`` are those of the suite."""

    format: ClassVar[Any]
    limits: ClassVar[Mapping[str, Limit]] = {}

    def _given(self) -> Iterator[Tensor]:
        """Tensors of buffers as kernels leave them, and of others that are valid."""
        this, dense = type(self).format, hub().layout("dense")
        for levels in ((this,), (dense, this)):
            format, shape = nest([*levels], leaf()), (6,) if len(levels) == 1 else (3, 4)
            made = Tensor(format, admit(format, array(shape, float, "half", 4), self.limits))
            given = Given(shape, contents(made))
            tried = [one for one in changes(given, format) if one.shape == shape]
            if not os.environ.get(FULL):
                draw = random.Random(f"{format.name} {len(tried)}")
                tried = draw.sample(tried, min(len(tried), MOST))
            for one in (given, *tried):
                buffers = {k: v.copy() if np.ndim(v) else v for k, v in one.buffers.items()}
                try:
                    yield Tensor.from_buffers(format, shape, buffers)
                except FinchError:
                    continue

    def test_values_are_passed(self, backend: str) -> None:
        """A level with ``passes_values`` has no elements but the leaf's values, and the fill; no
        field has the dtype of values."""
        this = type(self).format
        one, other = nest([this], leaf()), nest([this], leaf(False))
        if not one.levels()[0].passes_values:
            return
        name = field_of_values(one, other)
        assert name is None, f"{one} passes values, and its field {name!r} has their dtype"
        with using(backend):
            for tensor in self._given():
                number = layout(tensor.format).values
                assert number is not None
                before, stored = tensor.to_numpy().copy(), tensor.structure()
                tensor.arrays[number][:] = 3 * tensor.arrays[number] + 5
                wanted = np.where(stored, 3 * before + 5, before)
                _equal(tensor.to_numpy(), wanted, f"{tensor.format} with other values")

    def test_array_functions_are_of_all_elements(self, backend: str) -> None:
        """Whatever a level computes elements from, functions of arrays take the elements."""
        if not has_arrays():
            return
        with using(backend):
            for tensor in self._given():
                data = tensor.to_numpy()
                for name, function in FUNCTIONS.items():
                    found = function(tensor)
                    _equal(found.to_numpy(), function(data), f"{name} of {tensor.format}")
                    for depth, level in enumerate(found.format.levels()):
                        values = found.fields(depth)
                        wrong = [f.name for f in level.fields if values[f.name].dtype != f.dtype]
                        assert not wrong, f"{name} of {tensor.format}: the dtype of {wrong[0]}"


def _equal(found: Array, wanted: Array, told: str) -> None:
    np.testing.assert_array_equal(found, wanted, told)


__all__ = ["LevelValues", "has_arrays"]
