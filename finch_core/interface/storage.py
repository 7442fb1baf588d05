"""What a format says of its storage: the buffers of its level, how much of them is in use, and what
the tensor is that they hold.

No code is emitted here, and nothing knows a kernel: ``sizes``, ``entries``, ``validate`` and
``blank`` look at arrays from Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from finch_core.errors import FormatError
from finch_core.ir.dtypes import STORABLE, concrete, is_storable, is_tuple, tuple_fields, type_of
from finch_core.records import frozen


@frozen
class Field:
    """A buffer or a persistent scalar of a level."""

    name: str
    dtype: np.dtype[Any]
    role: str
    """What it holds, for messages and documentation."""
    is_buffer: bool = True
    init: Any = 0
    """A scalar's value in an empty tensor."""
    scratch: bool = False
    """Whether it means nothing outside of a kernel: nobody is asked for it, or shown it."""
    private: bool = False
    """Whether it tells of memory beyond what is in use, of what a kernel has left there: begins
    with ``init`` over buffers that come from outside."""

    def __attrs_post_init__(self) -> None:
        if not (isinstance(self.name, str) and self.name.isidentifier()):
            raise FormatError(f"a field is called {self.name!r}, which is no identifier")
        object.__setattr__(self, "dtype", _field_dtype(self.name, self.dtype))


def _field_dtype(name: str, dtype: Any) -> np.dtype[Any]:
    """``dtype`` as that of a field; ``FormatError`` where no buffer can be of it."""
    try:
        found: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        raise FormatError(f"the field {name!r} has the dtype {dtype!r}, which is none") from None
    if not is_storable(found):
        why = f"the field {name!r} has the dtype {found}, which is not supported"
        raise FormatError(why, hint=STORABLE)
    return found


class Storage:
    """The storage of one level, and of all below it."""

    layout: ClassVar[str] = ""
    """The plain storage that this is, by which the core finds a format where it has to make one
    (files, foreign arrays): ``dense``, ``compressed`` (sorted coordinates), ``values`` (a leaf)."""
    stores_fill: ClassVar[bool] = False
    """Whether every index has a stored value, so that nothing is gained by leaving out fills."""
    pads: ClassVar[bool] = False
    """Whether it stores indices that nothing was written to, so that a fill which is stored means
    no more than one that is not: conversions to formats that can leave it out do."""

    @property
    def child(self) -> Storage | None:
        """The storage of the subfibers; None in a leaf."""
        raise NotImplementedError

    @property
    def fields(self) -> tuple[Field, ...]:
        """The buffers and persistent scalars of this level alone."""
        return ()

    # -- the tensor ---------------------------------------------------------------------

    @property
    def ndim(self) -> int:
        """The number of dimensions from here down."""
        return 0 if self.child is None else 1 + self.child.ndim

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the leaves."""
        assert self.child is not None
        return self.child.dtype

    @property
    def fill_value(self) -> Any:
        """The value of whatever is not stored, as a NumPy scalar of ``dtype``."""
        assert self.child is not None
        return self.child.fill_value

    @property
    def holds_fill(self) -> bool:
        """Whether what is assembled and never written reads as the fill."""
        return self.child is None or not self.stores_fill or self.child.holds_fill

    # -- its arrays ---------------------------------------------------------------------

    def sizes(
        self, positions: int, shape: int, fields: Mapping[str, Any]
    ) -> tuple[dict[str, int], int]:
        """How many elements of each buffer are in use for ``positions`` fibers of length ``shape``,
        and the number of positions of the child. ``fields`` maps field names to NumPy arrays (of
        at least that size) and scalars."""
        raise NotImplementedError

    def entries(self, positions: int, shape: int, fields: Mapping[str, Any], below: int) -> int:
        """How many subfibers are stored in ``positions`` fibers of length ``shape``, where
        ``sizes`` has ``below`` positions of the child."""
        return below

    def validate(self, positions: int, shape: int, fields: Mapping[str, Any]) -> None:
        """Raise ``FormatError`` naming the buffer and the position where ``sizes`` cannot rely on
        ``fields``: a pointer that is not one, say. Nothing has been checked before but dtypes."""

    def validate_contents(self, positions: int, shape: int, fields: Mapping[str, Any]) -> None:
        """As ``validate``, for what remains: each buffer is as long as ``sizes`` says."""

    def blank(self, positions: int, shape: int) -> tuple[dict[str, Any], int] | None:
        """The fields of an empty level, as arrays and scalars, and the child's positions.

        Optional: None has a kernel make it. Where all levels of a format have this, making an empty
        tensor compiles and lowers nothing.
        """
        return None


# -- dtypes of fields -------------------------------------------------------------------


def integer_dtype(dtype: Any) -> np.dtype[Any]:
    """``dtype`` as an integer dtype of an index or pointer; ``FormatError`` otherwise."""
    try:
        result: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        raise FormatError(f"{dtype!r} is no dtype") from None
    if result.kind not in "iu":
        raise FormatError(
            f"indices and pointers are integers, not {result}", hint="np.int32 or np.int64, say"
        )
    return result


def leaf_dtype(fill: Any, dtype: Any) -> np.dtype[Any]:
    """The dtype of a leaf with this fill value, ``dtype`` if given."""
    try:
        found = np.dtype(dtype) if dtype is not None else concrete(type_of(fill))
    except TypeError as error:
        raise FormatError(f"{fill!r} is no fill value: {error}") from None
    if not is_storable(found):
        aligned = is_tuple(found) and all(map(is_storable, tuple_fields(found)))
        raise FormatError(
            f"tensors of {found} are not supported",
            hint="np.dtype(..., align=True) lays fields out as they are here, as in C"
            if aligned
            else STORABLE,
        )
    return found


__all__ = ["Field", "Storage", "integer_dtype", "leaf_dtype"]
