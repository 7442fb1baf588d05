"""What wrappers mean in NumPy's terms: which element of the wrapped array is at each index.

A wrapper says it by examples, so that the suite of every other wrapper can nest with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from finch_core.records import frozen

Place = tuple[int, ...]
Range = tuple[int, int]


@frozen
class View:
    """A tensor as it is seen through wrappers.

    ``ranges`` are the indices at which it is read, from and up to, a pair a dimension. ``place``
    gives for an index that of the wrapped array's element, which may be outside of its ``shape``;
    None where a wrapper has nothing. What is not there is ``missing`` if ``permissive``, else it
    cannot be read. ``sized`` says which dimensions fix the extent of a loop over them.
    """

    shape: tuple[int, ...]
    ranges: tuple[Range, ...]
    place: Callable[[Place], Place | None]
    sized: tuple[bool, ...]
    permissive: bool = False

    @classmethod
    def of(cls, shape: tuple[int, ...]) -> View:
        """A tensor of this shape, as it is."""
        return cls(shape, tuple((0, n) for n in shape), lambda index: index, (True,) * len(shape))

    @property
    def ndim(self) -> int:
        return len(self.ranges)

    def element(self, index: Place) -> Place | None:
        """Where the element at ``index`` is in the wrapped array; None where there is none."""
        place = self.place(index)
        if place is None or not all(0 <= i < n for i, n in zip(place, self.shape, strict=True)):
            return None
        return place

    def moved(self, to: Callable[[Place], Place | None], **changes: Any) -> View:
        """This view seen otherwise: at an index, what this one has at index ``to(index)``."""

        def place(index: Place) -> Place | None:
            inner = to(index)
            return None if inner is None else self.place(inner)

        return attrs.evolve(self, place=place, **changes)


@frozen
class Example:
    """One way to use a wrapper: ``make`` wraps a tensor, and ``view`` is what comes out.

    ``updates``: it may be written to, in place; ``declares``: and declared, as a whole.
    ``protocols`` are those by which the wrapped tensor is read, if any.
    """

    make: Callable[[Any], Any]
    view: View
    updates: bool = True
    declares: bool = True
    protocols: frozenset[str] = frozenset()
