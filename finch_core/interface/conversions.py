"""Conversions between tensors and the objects of another library."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from finch_core.records import frozen

if TYPE_CHECKING:
    import numpy as np


@frozen
class Conversion:
    """How objects of another library become tensors, and tensors such objects.

    Its objects are recognised by ``attribute``, which they have and others do not, or by ``types``,
    the full names of their classes (``"pandas.core.frame.DataFrame"``), subclasses included: the
    library need not be imported for that. ``objects`` names them in messages. ``take(object)``
    gives a tensor, which shares the object's memory if its layout allows: a kernel may read it as
    an argument. ``give(tensor)`` gives an object of the library, and ``by`` is the call by which a
    user asks for that, for hints. Both raise ``FormatError`` for what cannot be converted.

    ``unchanged(object)`` gives a function that says whether the object still has the shape, the
    dtype and the memory that it has now, so that a kernel can be bound to it; None where ``take``
    gives a copy of its values.

    ``state(object)`` gives all that the object's value depends on, where ``take`` copies it: a
    value that can be compared, and a list of arrays. A kernel then keeps the copy for later calls,
    as long as no byte has changed. None (also: unless given) where ``take`` copies nothing, or the
    value is not in arrays.

    ``memory(object)`` gives the C-contiguous NumPy array over the memory of a dense object, so that
    a kernel may write it in place; None (also: unless given) for objects that are only read.

    ``coordinates(object)`` gives the shape, a list of an array of indices for each dimension, in
    any order and with repetitions, which are added, and the values, where the object holds these
    and what is absent is 0: a tensor of a format is then made of them, without ``take``. None
    (also: unless given) for others.

    A ``fallback`` is asked after all others: it is for protocols that objects of many libraries
    have.
    """

    name: str
    attribute: str
    objects: str
    take: Callable[[Any], Any]
    give: Callable[[Any], Any]
    by: str = ""
    unchanged: Callable[[Any], Callable[[], bool] | None] = lambda _: None
    types: tuple[str, ...] = ()
    fallback: bool = False
    state: Callable[[Any], tuple[Any, list[Any]] | None] = lambda _: None
    memory: Callable[[Any], np.ndarray[Any, Any] | None] = lambda _: None
    coordinates: Callable[[Any], tuple[tuple[int, ...], list[Any], Any] | None] = lambda _: None

    def takes(self, value: Any) -> bool:
        """Whether ``value`` is one of its objects."""
        if self.attribute and hasattr(value, self.attribute):
            return True
        return self._takes_class(type(value))

    def may_take(self, kind: type) -> bool:
        """Whether it may take objects of a class; those of others it does not."""
        return bool(self.attribute) or self._takes_class(kind)

    def _takes_class(self, kind: type) -> bool:
        classes = kind.__mro__ if self.types else ()
        return any(f"{c.__module__}.{c.__qualname__}" in self.types for c in classes)

    @property
    def objection(self) -> str:
        """Why this is no conversion; else an empty text."""
        attribute: Any = self.attribute  # of a plugin: anything
        types: Any = self.types
        if not isinstance(attribute, str):
            return f"has attribute = {attribute!r}: the name of an attribute"
        if isinstance(types, str) or not all(isinstance(name, str) for name in types):
            return f"has types = {types!r}: a tuple of full names of classes"
        if not attribute and not types:
            return "has neither an attribute nor types to recognise its objects by"
        return ""


__all__ = ["Conversion"]
