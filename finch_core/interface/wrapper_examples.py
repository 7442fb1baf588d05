"""The meaning of wrappers in terms of NumPy: which element of the wrapped array is at each index.

A wrapper's author gives examples, so that the test suites of all wrappers can nest them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from finch_core.records import evolve, frozen

Place = tuple[int, ...]
Range = tuple[int, int]


@frozen
class View:
    """A tensor as seen through wrappers.

    ``ranges`` are the indices at which it can be read, a (start, stop) pair for each dimension.
    ``place`` maps an index to that of the wrapped array's element, which may be outside of its
    ``shape``; None where there is no element. Where there is none, the value is ``missing`` if
    ``permissive``, else reading fails. ``sized`` says which dimensions give the extent of a
    loop over them. If ``endless``, there is an element at every index, as in a periodic tensor:
    ``ranges`` are then those over which the tests read, any that seem worth it.
    """

    shape: tuple[int, ...]
    ranges: tuple[Range, ...]
    place: Callable[[Place], Place | None]
    sized: tuple[bool, ...]
    permissive: bool = False
    endless: bool = False

    @classmethod
    def of(cls, shape: tuple[int, ...]) -> View:
        """A tensor of this shape, without wrappers."""
        return cls(shape, tuple((0, n) for n in shape), lambda index: index, (True,) * len(shape))

    @property
    def ndim(self) -> int:
        return len(self.ranges)

    def element(self, index: Place) -> Place | None:
        """The index in the wrapped array of the element at ``index``; None if there is none."""
        place = self.place(index)
        if place is None or not all(0 <= i < n for i, n in zip(place, self.shape, strict=True)):
            return None
        return place

    def moved(self, to: Callable[[Place], Place | None], **changes: Any) -> View:
        """A view whose element at an index is the element of this view at ``to(index)``."""

        def place(index: Place) -> Place | None:
            inner = to(index)
            return None if inner is None else self.place(inner)

        return evolve(self, place=place, **changes)


@frozen
class Example:
    """One way to use a wrapper: ``make`` wraps a tensor, and ``view`` is the result.

    ``updates``: its elements may be written in place; ``declares``: it may be declared as a
    whole. ``protocols`` are those by which the wrapped tensor is read, if any.
    """

    make: Callable[[Any], Any]
    view: View
    updates: bool = True
    declares: bool = True
    protocols: frozenset[str] = frozenset()
