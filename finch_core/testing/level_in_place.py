"""The tests of ``LevelSuite`` on what is stored: ``stored(A[i])``, and updates in place."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from finch_core.errors import FormatError
from finch_core.frontend.functions import _, stored
from finch_core.interface.level import Format
from finch_core.interface.plugins import hub
from finch_core.ir.missing import coalesce
from finch_core.runtime.tensor import Tensor
from finch_core.runtime.validation import validate
from finch_core.testing.arrays import Array, array
from finch_core.testing.formats import Limit, admit, leaf, nest
from finch_core.testing.running import on, using

KINDS = ("half", "runs", "empty", "full", "last")


def count_stored(s: Any, a: Any) -> Any:
    """Count the stored elements of a matrix."""
    s[...] = 0
    for i, j in _:
        if stored(a[i, j]):
            s[()] += 1
    return s


def scaled(a: Any, x: Any, c: Any) -> Any:
    """Scale a matrix, alike along each run."""
    for i, j in _:
        a[i, j] *= c
    return a


def set_to(a: Any, x: Any, c: Any) -> Any:
    """Set each stored element to one that differs along a row."""
    for i, j in _:
        if stored(a[i, j]):
            a[i, j] = x[j] + c
    return a


def set_from(a: Any, b: Any) -> Any:
    """Set each stored element to what another matrix has there."""
    for i, j in _:
        if stored(a[i, j]):
            a[i, j] = b[i, j] + 1
    return a


def added_up(a: Any, x: Any, c: Any) -> Any:
    """Add to each stored element the one before it, which has been changed already."""
    for i, j in _:
        if a[i, j] != 0:
            a[i, j] += coalesce(a[i, ~(j - 1)], 0.0) * x[j]
    return a


def expected(program: Any, data: Array, structure: Array, x: Array, c: float) -> Array:
    """What an update in place of ``data`` gives, one element at a time."""
    found = data.copy()
    for i, j in zip(*np.nonzero(structure), strict=True):
        if program is scaled:
            found[i, j] *= c
        elif program is set_to:
            found[i, j] = x[j] + c
        elif found[i, j] != 0:
            found[i, j] += (found[i, j - 1] if j else 0.0) * x[j]
    return found


class LevelInPlace:
    """Tests of updates in place; ``format`` and ``limits`` are those of the suite."""

    format: ClassVar[Any]
    limits: ClassVar[Mapping[str, Limit]] = {}

    def _matrices(self, backend: str) -> Iterator[Tensor]:
        """Matrices that have this level, alone and with others."""
        this, dense = type(self).format, hub().layout("dense")
        compressed = hub().layout("compressed")
        for levels in ((dense, this), (this, dense), (this, this), (compressed, this),
                       (this, compressed)):  # fmt: skip
            format = nest(list(levels), leaf())
            for seed, kind in enumerate(KINDS):
                for shape in ((0, 3), (1, 1), (4, 6)):
                    data = admit(format, array(shape, float, kind, seed), self.limits)
                    with using(backend):
                        yield Tensor(format, data)

    def test_what_is_stored_is_asked(self, backend: str) -> None:
        """What is not fill is stored, and ``nstored`` counts what is."""
        run = on(backend, count_stored)
        for tensor in self._matrices(backend):
            structure = tensor.structure()
            assert structure[tensor.to_numpy() != 0].all(), tensor.format
            with using(backend):
                found = run(Tensor(leaf(0, np.int64)), tensor).value
            assert found == structure.sum(), tensor.format
            if not any(level.shares or level.pads for level in tensor.format.levels()[:-1]):
                assert found == tensor.nstored, tensor.format
            _check_fields(tensor)

    def test_patterns_are_told_apart(self, backend: str) -> None:
        """What is read beside stored elements is what is there, whether levels are ``alike`` or
        not."""
        this, dense = type(self).format, hub().layout("dense")
        if type(nest([this], leaf()).levels()[0]).alike is Format.alike:
            return
        run = on(backend, set_from)
        for levels in ((dense, this), (this, this)):
            format = nest(levels, leaf())
            data = [array((4, 6), float, kind, 0) for kind in KINDS]
            data = [data[0] * [[1], [1], [1], [0]], *data, array((4, 6), float, "half", 5)]
            data = [admit(format, one, self.limits) for one in data]
            for one, two in (*zip(data, data, strict=True), *itertools.pairwise(data)):
                with using(backend):
                    a, b = Tensor(format, one), Tensor(format, two)
                wanted = np.where(a.structure(), two + 1, one)
                np.testing.assert_array_equal(run(a, b).to_numpy(), wanted, err_msg=str(format))

    def test_values_change_in_place(self, backend: str) -> None:
        """Stored values change, and nothing else does; a level of runs may refuse a change of
        a part of a run, before it changes anything."""
        x = np.arange(1.0, 7.0)
        for program in (scaled, set_to, added_up):
            for tensor in self._matrices(backend):
                self._changed(backend, program, tensor, x)

    def _changed(self, backend: str, program: Callable[..., Any], tensor: Tensor, x: Any) -> None:
        data, structure = tensor.to_numpy().copy(), tensor.structure()
        kept, stored_before = _indices(tensor), tensor.nstored
        wanted = expected(program, data, structure, x, 2.0)
        shares = any(level.shares for level in tensor.format.levels()[:-1])
        if all(level.stores_fill for level in tensor.format.levels()[:-1]) and not shares:
            return  # dense: it is updated as usual
        try:
            assert on(backend, program)(tensor, x[: data.shape[1]], 2.0) is tensor
        except FormatError:
            assert shares, f"{tensor.format} refuses {program.__name__}"
            wanted = data
        validate(tensor)
        np.testing.assert_array_equal(tensor.to_numpy(), wanted, err_msg=str(tensor.format))
        assert tensor.nstored == stored_before
        np.testing.assert_array_equal(tensor.structure(), structure, err_msg=str(tensor.format))
        for name, buffer in _indices(tensor).items():
            np.testing.assert_array_equal(buffer, kept[name], err_msg=f"{tensor.format}: {name}")


def _check_fields(tensor: Tensor) -> None:
    """Check that the elements of fields that say so never decrease, or are not negative."""
    buffers = tensor.buffers
    for part in tensor.layout.buffers:
        name = f"{part.level}_{part.field.name}"
        if part.field.ascending and name in buffers:  # scratch ones are in no tensor
            decreases = np.diff(buffers[name].astype(object)) < 0
            assert not decreases.any(), f"{tensor.format}: {name} decreases"
        if part.field.nonnegative and name in buffers:
            assert not (buffers[name] < 0).any(), f"{tensor.format}: {name} is negative"


def _indices(tensor: Tensor) -> dict[str, Array]:
    """The buffers of a tensor, except its values."""
    values = f"{tensor.ndim}_val"
    return {name: array.copy() for name, array in tensor.buffers.items() if name != values}


__all__ = ["LevelInPlace", "added_up", "count_stored", "expected", "scaled", "set_from", "set_to"]
