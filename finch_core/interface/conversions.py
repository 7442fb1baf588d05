"""Conversions: what makes tensors of the objects of another library, and its objects of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from finch_core.records import frozen


@frozen
class Conversion:
    """How objects of another library are taken, and given.

    ``attribute`` is one that its objects have and others do not; ``objects`` names them in
    messages. ``take(object)`` gives a tensor, over the object's memory where that is laid out so:
    it may be an argument of a kernel, which reads it. ``give(tensor)`` gives an object of the
    library, ``by`` is how a user asks for that, for hints. Both raise ``FormatError`` for what
    cannot be converted.
    """

    name: str
    attribute: str
    objects: str
    take: Callable[[Any], Any]
    give: Callable[[Any], Any]
    by: str = ""
