"""Dtypes, constants, and what the standard asks of them."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from finch_array.functions import dtype_of
from finch_array.operands import NUMBERS, array_of
from finch_core.ir.dtypes import SUPPORTED

DTYPES: dict[str, Any] = {str(dtype): dtype for dtype in SUPPORTED}
BEYOND = ("float16",)
"""The dtypes that the standard does not have."""

CONSTANTS: dict[str, Any] = {
    "e": np.e, "inf": np.inf, "nan": np.nan, "newaxis": None, "pi": np.pi,
}  # fmt: skip

_KINDS = {
    "bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu",
    "real floating": "f", "complex floating": "c", "numeric": "iufc",
}  # fmt: skip


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind, or of one of several: a dtype, or ``"integral"``, say. Raises
    ``ValueError`` for another name."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise ValueError(f"{kind!r} is no kind of dtypes; they are {', '.join(_KINDS)}")
        return np.dtype(dtype).kind in _KINDS[kind]
    return bool(np.dtype(dtype) == np.dtype(kind))


def _types(values: Any) -> list[Any]:
    found = []
    for value in values:
        plain = isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic)
        if plain or isinstance(value, (np.dtype, type)):
            found.append(value)
        else:
            found.append(dtype_of(value) if hasattr(value, "dtype") else np.dtype(value))
    return found


def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype to which arrays, dtypes and numbers are promoted. Raises ``TypeError`` if there is
    none."""
    return np.result_type(*_types(arrays_and_dtypes))


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether a dtype, or that of an array, is promoted to another without loss: a bool."""
    given = dtype_of(from_) if isinstance(from_, NUMBERS) else _dtype_in(from_)
    return bool(np.can_cast(given, to))


def _dtype_in(given: Any) -> Any:
    """The dtype of an array; what is no array, such as ``np.float64``, is one itself."""
    is_array = hasattr(given, "dtype") and not isinstance(given, type)
    return dtype_of(given) if is_array else given


Limits = namedtuple("Limits", ["bits", "eps", "max", "min", "smallest_normal", "dtype"])
"""The limits of a float dtype, as plain numbers."""


def finfo(type: Any, /) -> Any:
    """The limits of a float dtype, or of that of an array: ``Limits``. Raises ``ValueError`` for
    other dtypes."""
    found = np.finfo(_dtype_in(type))
    return Limits(
        found.bits, float(found.eps), float(found.max), float(found.min),
        float(found.smallest_normal), found.dtype,
    )  # fmt: skip


def iinfo(type: Any, /) -> Any:
    """The limits of an integer dtype, or of that of an array. Raises ``ValueError`` for other
    dtypes."""
    return np.iinfo(_dtype_in(type))


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """``x`` with its values, and its fill, cast to a dtype, in its format. Raises ``FormatError``
    for a dtype that is not supported, and ``ValueError`` for a device other than ``"cpu"``."""
    from finch_array.methods import astype as cast

    return cast(array_of(x), dtype, copy=copy, device=device)


class Info:
    """What the namespace can do, by the standard's ``__array_namespace_info__``."""

    def capabilities(self) -> dict[str, Any]:
        """Boolean masks, results of shapes that depend on data, and dimensions without a bound."""
        return {
            "boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64
        }  # fmt: skip

    def default_device(self) -> str:
        """``"cpu"``."""
        return "cpu"

    def devices(self) -> tuple[str, ...]:
        """``("cpu",)``."""
        return ("cpu",)

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The dtypes of numbers that name none."""
        return {
            "real floating": np.dtype(np.float64), "complex floating": np.dtype(np.complex128),
            "integral": np.dtype(np.int64), "indexing": np.dtype(np.intp),
        }  # fmt: skip

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """The dtypes by name, of a kind if one is given."""
        standard = {n: d for n, d in DTYPES.items() if n not in BEYOND}
        return {n: d for n, d in standard.items() if kind is None or isdtype(d, kind)}


def __array_namespace_info__() -> Info:  # noqa: N807 (the standard's name)
    """What the namespace can do."""
    return Info()
