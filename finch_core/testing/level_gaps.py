"""The tests of ``LevelSuite`` on wide gaps: large dimensions with few entries, dtypes that are too
narrow for them, and updates one behind the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from finch_core.errors import FinchError, FormatError
from finch_core.interface.level import Format
from finch_core.interface.plugins import hub
from finch_core.interface.storage import largest_of, narrowest
from finch_core.runtime.tensor import Tensor
from finch_core.runtime.validation import validate
from finch_core.testing import wrapped_programs
from finch_core.testing.arrays import Array, array
from finch_core.testing.formats import Limit, admit, indexed, leaf, nest, takes_any_order
from finch_core.testing.level_updates import more, more_of_matrix
from finch_core.testing.running import on, using

FAR = 2**16 + 2**12 + 1
"""A dimension that indices of 16 bits do not reach."""

PLACES = ((0, 1, 255, 256, 40_000, FAR - 1), (65_536,))
"""The indices of what is stored along such a dimension."""

NEAR = 2**10 + 1
"""A dimension for the interpreter, where whole matrices would take long."""

NARROW = ("int8", "uint16")


def apart(places: tuple[int, ...], n: int = FAR) -> Array:
    """A vector with entries at those of these places that it has, or at its end."""
    data = np.zeros(n)
    places = tuple(at for at in places if at < n) or (n - 1,)
    data[list(places)] = np.arange(len(places)) + 1.0
    return data


def wide(levels: Sequence[Any]) -> tuple[Format, int]:
    """A format of these levels with a leaf, and how long its dimensions may be, at most ``FAR``:
    with indices of 64 bits where a parameter that is given makes them too narrow for that."""
    format = nest(levels, leaf())
    if _reach(format) < FAR:
        format = indexed(format, np.int64)
    return format, _reach(format)


def _reach(format: Format) -> int:
    narrow = (narrowest(level.fields) for level in format.levels())
    return min([FAR, *(largest_of(dtype) for dtype in narrow if dtype is not None)])


class LevelGaps:
    """Tests of large dimensions; ``format`` and ``limits`` are those of the suite."""

    format: ClassVar[Any]
    limits: ClassVar[Mapping[str, Limit]] = {}

    def _taken(self, format: Format, data: Array) -> Tensor:
        """A tensor of what the format can hold of ``data``, made of stored elements alone."""
        return Tensor(format, _compressed(admit(format, data, self.limits)))

    def test_entries_lie_far_apart(self, backend: str) -> None:
        """Each protocol finds entries between which there is nothing for thousands of indices."""
        format, n = wide([type(self).format])
        others = _compressed(apart((0, 2, 256, 40_000, 65_536, FAR - 1), n))
        for places in PLACES:
            with using(backend):
                tensor = self._taken(format, apart(places, n))
                validate(tensor)
            data = admit(format, apart(places, n), self.limits)
            np.testing.assert_array_equal(tensor.to_numpy(), data, err_msg=str(format))
            for protocol in sorted(format.protocols & set(wrapped_programs.BY_PROTOCOL)):
                run = on(backend, wrapped_programs.BY_PROTOCOL[protocol])
                for lo, hi in ((0, n), (min(200, n // 2), n - 1)):
                    found = run(Tensor(leaf()), tensor, others, lo, hi).value
                    expected = data[lo:hi] @ others.to_numpy()[lo:hi]
                    assert found == expected, (protocol, places, lo, hi)

    def test_fibers_lie_far_apart(self, backend: str) -> None:
        """Rows are stored between which thousands are empty: below this level, and above it."""
        this, dense = type(self).format, hub().layout("dense")
        compressed = hub().layout("compressed")
        for levels in ((this, compressed), (compressed, this), (dense, this)):
            format, n = wide(levels)
            n = min(n, NEAR) if backend == "interpreter" else n
            data = np.zeros((n, 2))
            data[[0, 3, n // 3, n // 2, n - 1], [1, 0, 1, 1, 0]] = [1, 2, 3, 4, 5]
            with using(backend):
                tensor = self._taken(format, data)
                validate(tensor)
                found = tensor.to_numpy()
            expected = admit(format, data, self.limits)
            np.testing.assert_array_equal(found, expected, err_msg=str(format))

    def test_narrow_dtypes_hold_all_or_are_refused(self, backend: str) -> None:
        """An index, or a number of entries, that a parameter's dtype cannot hold does not wrap."""
        whole = nest([type(self).format], leaf())
        for dtype in NARROW:
            format = indexed(whole, dtype)
            if format == whole:  # it has no such parameter
                return
            for data in (apart(PLACES[0]), array((300,), float, "full", 1)):
                try:
                    with using(backend):
                        found = self._taken(format, data).to_numpy()
                except FinchError:
                    continue
                expected = admit(format, data, self.limits)
                np.testing.assert_array_equal(found, expected, err_msg=str(format))

    def test_updates_come_one_behind_the_other(self, backend: str) -> None:
        """Each update writes behind what is stored: far along a vector, and to rows that were not
        assembled before."""
        this, dense = type(self).format, hub().layout("dense")
        compressed = hub().layout("compressed")
        n = wide([this])[1]
        n = min(n, NEAR) if backend == "interpreter" else n
        vector = [apart((at,), n) for at in (5, n // 3, n // 2, n - 1)]
        rows = [np.where(np.arange(8)[:, None] // 2 == k, array((8, 3), float, "half", k), 0)
                for k in range(4)]  # fmt: skip
        for levels, parts in (((this,), vector), ((this, this), rows), ((compressed, this), rows),
                              ((this, compressed), rows), ((dense, this), rows)):  # fmt: skip
            format, _n = wide(levels)
            if all(level.thaws for level in format.levels()):
                self._in_turn(backend, format, parts)

    def test_updates_before_what_is_stored_are_made_or_refused(self, backend: str) -> None:
        """A level that appends refuses what comes before; others make it."""
        format, n = wide([type(self).format])
        n = min(n, NEAR) if backend == "interpreter" else n
        if all(level.thaws for level in format.levels()):
            parts = [apart((n // 2,), n), apart((3, n // 5), n)]
            self._in_turn(backend, format, parts, refuses=True)

    def _in_turn(
        self, backend: str, format: Format, parts: list[Array], refuses: bool = False
    ) -> None:
        """Add parts to an empty tensor, and check it after each; what it cannot hold is refused,
        and so may be what comes too early, if it ``refuses`` that."""
        run = on(backend, more if parts[0].ndim == 1 else more_of_matrix)
        sums = np.zeros_like(parts[0])
        with using(backend):
            tensor = self._taken(format, sums)
        for part in parts:
            held = np.array_equal(admit(format, sums + part, self.limits), sums + part)
            with using(backend):
                other = _compressed(part)
                try:
                    run(tensor, other)
                except FormatError:
                    assert not held or (refuses and not takes_any_order(format)), str(format)
                    validate(tensor)
                    return
                assert held, f"{format} holds what its limit leaves out"
                validate(tensor)
                sums += part
                np.testing.assert_array_equal(tensor.to_numpy(), sums, err_msg=str(format))


def _compressed(data: Array) -> Tensor:
    """A tensor that stores only what is not zero."""
    return Tensor(nest([hub().layout("compressed")] * data.ndim, leaf()), data)


__all__ = ["LevelGaps"]
