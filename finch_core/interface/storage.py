"""The storage of a level format: its buffers, how much of them is in use, and the tensor they
hold.

No code is emitted here: ``sizes``, ``entries``, ``validate`` and ``blank`` work on arrays from
Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache, wraps
from types import FunctionType
from typing import Any, ClassVar

import numpy as np

from finch_core.errors import FormatError, IndexOverflow
from finch_core.ir.dtypes import (
    INTP,
    STORABLE,
    concrete,
    is_storable,
    is_tuple,
    tuple_fields,
    type_of,
)
from finch_core.records import fields, frozen


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
    """Whether it is used within one kernel call only: users neither pass nor see it."""
    private: bool = False
    """Whether it describes memory beyond what is in use, as a kernel left it. It is ``init`` for
    buffers that come from outside."""

    ascending: bool = False
    """Whether the elements of a buffer in use never decrease, as where fibers start."""
    nonnegative: bool = False
    """Whether no element of a buffer in use is negative, as of indices."""
    indices: bool = False
    """Whether the elements of a buffer are indices of the level's dimension, or its size: no
    tensor has a dimension beyond what the dtype holds (``IndexOverflow``)."""

    def __attrs_post_init__(self) -> None:
        if not (isinstance(self.name, str) and self.name.isidentifier()):
            raise FormatError(f"a field is called {self.name!r}, which is not an identifier")
        object.__setattr__(self, "dtype", _field_dtype(self.name, self.dtype))


def _field_dtype(name: str, dtype: Any) -> np.dtype[Any]:
    """``dtype`` as the dtype of a field; ``FormatError`` if buffers cannot have it."""
    try:
        found: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        raise FormatError(
            f"the field {name!r} has the dtype {dtype!r}, which is not a dtype"
        ) from None
    if not is_storable(found):
        why = f"the field {name!r} has the dtype {found}, which is not supported"
        raise FormatError(why, hint=STORABLE)
    return found


def _parameters(function: FunctionType) -> tuple[str, ...]:
    code = function.__code__
    return code.co_varnames[: code.co_argcount]


def _with_shape(former: FunctionType) -> Any:
    """``entries(positions, fields, below)``, as version 1 had it, as it is called now."""
    if _parameters(former)[2:] != ("fields", "below"):
        return former

    @wraps(former)
    def entries(
        self: Any, positions: int, shape: int, fields: Mapping[str, Any], below: int
    ) -> Any:
        return former(self, positions, fields, below)

    del entries.__wrapped__  # its signature is the one of now
    return entries


class Storage:
    """The storage of one level and of all levels below it."""

    layout: ClassVar[str] = ""
    """The plain storage that this is, by which the core chooses a format for files and foreign
    arrays: ``dense``, ``compressed`` (sorted coordinates), ``values`` (a leaf), or none of
    these."""
    stores_fill: ClassVar[bool] = False
    """Whether every index has a stored value, so that skipping fills saves nothing."""
    pads: ClassVar[bool] = False
    """Whether it also stores indices that were never written, so that a stored fill carries no
    information: conversions to formats that can leave it out do so."""
    passes_values: ClassVar[bool] = False
    """Whether each subfiber of a level is one of the child's as it is, or all fill, and no field
    depends on values or their dtype. Functions of all elements then map the leaf's values, and keep
    the level. Without it, values may be computed from those of the child."""

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
        """The number of dimensions of this level and those below."""
        return 0 if self.child is None else 1 + self.child.ndim

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the leaves."""
        assert self.child is not None
        return self.child.dtype

    @property
    def fill_value(self) -> Any:
        """The value of elements that are not stored, as a NumPy scalar of ``dtype``."""
        assert self.child is not None
        return self.child.fill_value

    @property
    def holds_fill(self) -> bool:
        """Whether elements that are assembled and never written read as the fill."""
        return self.child is None or not self.stores_fill or self.child.holds_fill

    # -- its arrays ---------------------------------------------------------------------

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        own = vars(cls).get("entries")
        if isinstance(own, FunctionType) and "shape" not in _parameters(own):
            cls.entries = _with_shape(own)  # type: ignore[method-assign]

    def sizes(
        self, positions: int, shape: int, fields: Mapping[str, Any]
    ) -> tuple[dict[str, int], int]:
        """The number of elements in use of each buffer, and the number of positions of the child.

        For ``positions`` fibers of length ``shape``. ``fields`` maps field names to scalars and
        NumPy arrays of at least that size.
        """
        raise NotImplementedError

    def entries(self, positions: int, shape: int, fields: Mapping[str, Any], below: int) -> int:
        """The number of stored subfibers in ``positions`` fibers of length ``shape``.

        ``below`` is the number of child positions that ``sizes`` gives.
        """
        return below

    def validate(self, positions: int, shape: int, fields: Mapping[str, Any]) -> None:
        """Check the fields on which ``sizes`` relies, such as pointers that must not decrease.

        Raises ``FormatError`` with the buffer and the position. Only dtypes have been checked
        before.
        """

    def validate_contents(self, positions: int, shape: int, fields: Mapping[str, Any]) -> None:
        """Check the rest, as ``validate``: each buffer is at least as long as ``sizes`` says."""

    def validate_below(self, positions: int, fields: Sequence[Mapping[str, Any]]) -> None:
        """Check what concerns several levels, as ``validate``: ``fields`` are those of this level
        and of all below it, each of which is valid by itself."""

    def blank(self, positions: int, shape: int) -> tuple[dict[str, Any], int] | None:
        """The fields of an empty level, as arrays and scalars, and the number of child positions.

        Optional: if None, a kernel creates it. If all levels of a format have it, an empty
        tensor is made without compiling.
        """
        return None


def field_of_values(one: Storage, other: Storage) -> str | None:
    """The name of a field that has another dtype in another level that differs in the leaf's dtype
    alone; None if there is none. Scratch holds nothing between calls."""
    pairs = zip(one.fields, other.fields, strict=True)
    return next((a.name for a, b in pairs if a.dtype != b.dtype and not a.scratch), None)


# -- dtypes of fields -------------------------------------------------------------------


def integer_dtype(dtype: Any) -> np.dtype[Any]:
    """``dtype`` as an integer dtype of an index or pointer; ``FormatError`` otherwise."""
    try:
        result: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        raise FormatError(f"{dtype!r} is not a dtype") from None
    if result.kind not in "iu":
        raise FormatError(
            f"indices and pointers are integers, not {result}", hint="use np.int32 or np.int64"
        )
    return result


@lru_cache(maxsize=4096)
def _integer_parameters(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind) if field.converter is integer_dtype)


def integer_parameters(format: Any) -> dict[str, np.dtype[Any]]:
    """The parameters of a level that are dtypes of its integers: those that ``integer_dtype``
    converts, by their names."""
    kind: Any = type(format)
    return {name: getattr(format, name) for name in _integer_parameters(kind)}


def require_index(number: int, dtype: np.dtype[Any], parameter: str = "index") -> None:
    """Raise ``IndexOverflow`` unless ``number`` fits in ``dtype``, the value of the format's
    ``parameter``."""
    if number > largest_of(dtype):
        article = "an" if parameter == "index" else "a"
        raise IndexOverflow(
            f"{number} is too much for {article} {parameter} of {dtype}",
            hint=f"give the level a wider {parameter} dtype, {parameter}=np.int64",
        )


def narrowest(fields: Iterable[Field]) -> np.dtype[Any] | None:
    """The dtype of the ``indices`` of a level that holds the fewest; None if it holds any size."""
    dtypes = [field.dtype for field in fields if field.indices and not field.scratch]
    found = min(dtypes, key=largest_of, default=INTP)
    return found if largest_of(found) < largest_of(INTP) else None


@cache
def largest_of(dtype: np.dtype[Any]) -> int:
    """The largest number of an integer dtype."""
    return int(np.iinfo(dtype).max)


def holding(indices: Any, size: int) -> Any:
    """An array of indices that others have made, or a copy of int64 where a dimension of ``size``
    is too long for its dtype. What is no such array is left to checks."""
    dtype = getattr(indices, "dtype", INTP)
    narrow = isinstance(dtype, np.dtype) and dtype.kind in "iu" and size > largest_of(dtype)
    return indices.astype(INTP) if narrow else indices


def too_long(dtype: np.dtype[Any]) -> tuple[str, str]:
    """The message, with a place for the dimension, and the hint of one that ``dtype`` does not
    hold."""
    hint = "give the level a wider index dtype, index=np.int64"
    return f"a dimension of {{0}} is too long for indices of {dtype}", hint


def leaf_dtype(fill: Any, dtype: Any) -> np.dtype[Any]:
    """The dtype of a leaf with this fill value, ``dtype`` if given.

    Raises ``FormatError`` for a fill value that is no scalar, or a dtype that is not supported.
    """
    try:
        found = np.dtype(dtype) if dtype is not None else concrete(type_of(fill))
    except TypeError as error:
        raise FormatError(f"{fill!r} is not a fill value: {error}") from None
    if not is_storable(found):
        aligned = is_tuple(found) and all(map(is_storable, tuple_fields(found)))
        hint = "np.dtype(..., align=True) has the layout of a C struct, as tensors need"
        hint = hint if aligned else STORABLE
        if is_storable(found.newbyteorder("=")):
            hint = "a.astype(a.dtype.newbyteorder('=')) is a copy in the byte order of this machine"
        raise FormatError(f"tensors of {found} are not supported", hint=hint)
    return found


__all__ = [
    "Field", "Storage", "field_of_values", "holding", "integer_dtype", "largest_of", "leaf_dtype",
    "narrowest", "require_index", "too_long",
]  # fmt: skip
