"""Conversions between tensors and the objects of another library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from finch_core.records import frozen


@frozen
class Conversion:
    """How objects of another library become tensors, and tensors such objects.

    ``attribute`` is an attribute that its objects have and others do not; ``objects`` names
    them in messages. ``take(object)`` gives a tensor, which shares the object's memory if its
    layout allows: a kernel may read it as an argument. ``give(tensor)`` gives an object of the
    library, and ``by`` is the call by which a user asks for that, for hints. Both raise
    ``FormatError`` for what cannot be converted.

    ``unchanged(object)`` gives a function that says whether the object still has the shape, the
    dtype and the memory that it has now, so that a kernel can be bound to it; None where ``take``
    gives a copy of its values.
    """

    name: str
    attribute: str
    objects: str
    take: Callable[[Any], Any]
    give: Callable[[Any], Any]
    by: str = ""
    unchanged: Callable[[Any], Callable[[], bool] | None] = lambda _: None
