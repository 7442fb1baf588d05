"""``finch_array`` with creation functions whose arrays have a format of one's choice, for the
standard's own tests (``standard_suite.py``)."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

from array_support import without_passes

import finch_array as fa
from finch_levels import Dense, Element, RunList, SparseByteMap, SparseCOO, SparseList

CREATION = (
    "arange asarray empty empty_like eye from_dlpack full full_like linspace ones ones_like zeros "
    "zeros_like tril triu"
).split()
"""The functions of the namespace whose results are put into the format."""


def _nested(*levels: Any) -> Callable[[int], Any]:
    """Formats by their leaf: the last of ``levels`` for each dimension but the first ones."""

    def format_of(ndim: int) -> Callable[[Any], Any]:
        own = (levels * ndim)[:ndim]

        def made(leaf: Any) -> Any:
            for level in reversed(own):
                leaf = level(leaf)
            return leaf

        return made

    return format_of


FORMATS: dict[str, Callable[[int], Any]] = {
    "dense": _nested(Dense), "lists": _nested(SparseList), "coordinates": _nested(SparseCOO),
    "runs": _nested(RunList), "bytemaps": _nested(SparseByteMap),
    "rows": lambda ndim: _nested(*[Dense] * (ndim - 1), SparseList)(ndim),
}  # fmt: skip
"""What arrays are made as: by their number of dimensions, and their leaf."""


def converted(name: str, array: Any) -> Any:
    """An array without dimensions as it is, another in the format ``name``, with fill 0."""
    made = FORMATS[name]
    if not hasattr(array, "signature") or array.ndim == 0:
        return array
    return fa.asarray(array, format=made(array.ndim)(Element(array.dtype.type(0))))


def namespace(name: str, plain: bool = False) -> ModuleType:
    """The namespace, with arrays in the format ``name`` (a key of ``FORMATS``); ``plain``: kernels
    run as they are lowered."""
    if plain:
        without_passes()
    xp = ModuleType("finch_array")
    for attribute in (*fa.NAMES, "__array_api_version__"):
        setattr(xp, attribute, getattr(fa, attribute))

    def wrapped(function: Any) -> Any:
        @wraps(function)
        def made(*args: Any, **options: Any) -> Any:
            return converted(name, function(*args, **options))

        return made

    for function in CREATION:
        setattr(xp, function, wrapped(getattr(fa, function)))
    return xp
