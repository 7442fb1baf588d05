"""Dtypes that backends need not know: they are stored as a dtype that every backend has, and
computed in such a one.

``ir.storage_types`` removes them from assembly, by the rows of this registry, so that a backend,
the interpreter included, sees only the dtypes of ``ir.dtypes.SUPPORTED``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from finch_core.errors import MISTAKES, FinchError, PluginError, mistaken
from finch_core.ir.owners import of_owner
from finch_core.records import frozen

DType = np.dtype[Any]
CallRule = Callable[[Any, tuple[Any, ...], tuple[DType, ...], DType], Any]
CastRule = Callable[[Any, DType, DType], Any]


def _no_call(op: Any, args: tuple[Any, ...], types: tuple[DType, ...], result: DType) -> None:
    return None


def _no_cast(value: Any, source: DType, target: DType) -> None:
    return None


@frozen(eq=False)
class StoredDtype:
    """One dtype, or a family of them (one for each unit), which NumPy knows and backends do not.

    ``covers(dtype)`` says which. Their elements are stored as ``storage``, which has their size,
    and variables hold them as ``computed``. ``decode`` and ``encode`` are operators of one operand
    that convert an element to a value and back; None where the bits are the same.

    An operator is applied to the values in ``computed``, and its result is rounded by ``encode``
    and ``decode``. ``call(op, args, types, result)`` overrides that: it gives the value as an
    expression of the arguments' values, whose dtypes were ``types``; None for the usual meaning.
    So does ``cast(value, source, target)``, where one of the two is covered. Both raise
    ``TypeError`` for what has no meaning.

    What NumPy's ufuncs do with the dtype decides on the dtypes of results, and is what the
    expressions must compute.
    """

    name: str
    covers: Callable[[DType], bool]
    storage: DType
    computed: DType
    decode: Any = None
    encode: Any = None
    call: CallRule = _no_call
    cast: CastRule = _no_cast

    def value_of(self, scalar: Any) -> Any:
        """A scalar of a covered dtype as the scalar of ``computed`` that holds it."""
        bits = np.asarray(scalar).view(self.storage)[()]
        return bits if self.decode is None else self.decode.evaluate(bits)

    @property
    def objection(self) -> str:
        """Why this is no row of the registry; else an empty text."""
        for name in ("storage", "computed"):
            found: Any = getattr(self, name)  # of a plugin: anything
            if not isinstance(found, np.dtype) or found.kind not in "biufc" or found.itemsize > 16:
                return f"has {name} = {found!r}: a dtype that backends have"
        if (self.decode is None) != (self.encode is None):
            return "has one of decode and encode: both, or neither"
        if self.decode is None and self.storage != self.computed:
            return "is stored and computed in different dtypes: it needs decode and encode"
        return ""


_ROWS: dict[str, StoredDtype] = {}
"""The registered rows by name, in the order in which they are asked."""


def register_dtype(row: StoredDtype) -> None:
    """Add a row to the registry."""
    _ROWS[row.name] = row
    stored_dtype.cache_clear()


def unregister_dtype(row: StoredDtype) -> None:
    """Remove a row from the registry."""
    if _ROWS.get(row.name) is row:
        del _ROWS[row.name]
        stored_dtype.cache_clear()


_load: Callable[[], object] = lambda: None  # noqa: E731
"""Loads the plugins, before a dtype is said to be unknown."""


def load_with(load: Callable[[], object]) -> None:
    """Call ``load`` before the first dtype that backends do not have is looked up."""
    global _load
    _load = load


@cache
def stored_dtype(dtype: DType) -> StoredDtype | None:
    """The row that covers ``dtype``; None for what backends have and what no plugin knows.

    Raises ``PluginError`` if the row stores it in another size.
    """
    if (dtype.isbuiltin == 1 and dtype.kind in "biufc") or dtype.names is not None:
        return None
    _load()
    found = next((row for row in _ROWS.values() if asked(row, "covers", dtype)), None)
    if found is not None and found.storage.itemsize != dtype.itemsize:
        raise PluginError(
            f"{what_of(found)} covers {dtype}, of {dtype.itemsize} bytes, and stores it as "
            f"{found.storage}",
            hint="covers is true for dtypes of the size of storage alone",
        )
    return found


def asked(row: StoredDtype, method: str, *args: Any) -> Any:
    """What a function of a row gives; ``PluginError`` for what it raises, but ``TypeError``."""
    try:
        return getattr(row, method)(*args)
    except (FinchError, TypeError):
        raise
    except MISTAKES as error:
        raise mistaken(f"{method} of {what_of(row)}", error) from error


def what_of(row: StoredDtype) -> str:
    """A row and its plugin, for messages."""
    return f"the dtype {row.name!r}{of_owner(row)}"


__all__ = ["StoredDtype"]
