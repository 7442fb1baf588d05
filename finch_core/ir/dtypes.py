"""Types of expressions: NumPy dtypes, and the weak types of plain Python numbers.

A type is a ``numpy.dtype`` or one of the Python classes ``int``, ``float``, ``complex``, which
are the weak types of numbers that take the other operand's width (NEP 50): ``float32 * 2.0`` is
float32. Tuples have structured dtypes with the fields ``f0``, ``f1``, ...
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from finch_core.ir.stored_dtypes import stored_dtype

Type = np.dtype[Any] | type

BOOL: np.dtype[Any] = np.dtype(np.bool_)
INTP: np.dtype[Any] = np.dtype(np.intp)
FLOAT64: np.dtype[Any] = np.dtype(np.float64)
COMPLEX128: np.dtype[Any] = np.dtype(np.complex128)

_CONCRETE: dict[type, np.dtype[Any]] = {
    int: np.dtype(np.int64),
    float: FLOAT64,
    complex: COMPLEX128,
}
_WEAK_BY_KIND: dict[str, type] = {"i": int, "f": float, "c": complex}

SUPPORTED: tuple[np.dtype[Any], ...] = tuple(
    np.dtype(name)
    for name in (
        "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
        "float16 float32 float64 complex64 complex128"
    ).split()
)
INTEGERS: tuple[np.dtype[Any], ...] = tuple(dtype for dtype in SUPPORTED if dtype.kind in "iu")
"""The dtypes that indices and pointers may have."""


def is_weak(dtype: Type) -> bool:
    """Whether ``dtype`` is the type of a plain Python number."""
    return isinstance(dtype, type)


def same(a: Type, b: Type) -> bool:
    """Whether two types are equal. (NumPy's ``==`` equates ``int`` and ``int64``.)"""
    return a is b or (is_weak(a) == is_weak(b) and a == b)


def concrete(dtype: Type) -> np.dtype[Any]:
    """The NumPy dtype for values of this type if nothing else determines it. Raises ``TypeError``
    for the type of ``missing``."""
    if not isinstance(dtype, type):
        return dtype
    found = _CONCRETE.get(dtype)
    if found is None:
        raise TypeError(f"{dtype.__name__} is no type of numbers")
    return found


def type_of(value: Any) -> Type:
    """The type of a Python or NumPy scalar, or of a tuple of them; ``TypeError`` for other
    values."""
    if isinstance(value, (bool, np.bool_)):
        return BOOL
    if isinstance(value, np.generic):
        return value.dtype
    for weak in (int, float, complex):
        if isinstance(value, weak):
            return weak
    if isinstance(value, tuple):
        return tuple_dtype(tuple(concrete(type_of(v)) for v in value))
    raise TypeError(f"a value of type {type(value).__name__} is not a scalar")


@cache
def tuple_dtype(fields: tuple[np.dtype[Any], ...]) -> np.dtype[Any]:
    """The structured dtype of a tuple, with the alignment of a C struct."""
    return np.dtype([(f"f{k}", dtype) for k, dtype in enumerate(fields)], align=True)


def is_tuple(dtype: Type) -> bool:
    """Whether ``dtype`` is structured: the type of a tuple."""
    return not isinstance(dtype, type) and dtype.names is not None


def tuple_fields(dtype: Type) -> tuple[np.dtype[Any], ...]:
    """The dtypes of a structured dtype's fields, in order."""
    fields: Any = concrete(dtype).fields or {}
    return tuple(fields[name][0] for name in concrete(dtype).names or ())


_SUPPORTED = frozenset(SUPPORTED)


def is_storable(dtype: np.dtype[Any]) -> bool:
    """Whether tensors may have ``dtype``: a supported scalar dtype, one that a plugin maps to such
    (``StoredDtype``), or a tuple of supported ones with the layout of a C struct, whatever its
    fields are called."""
    if not is_tuple(dtype):
        return dtype in _SUPPORTED or stored_dtype(dtype) is not None
    return _is_struct(dtype)


@cache
def _is_struct(dtype: np.dtype[Any]) -> bool:
    parts = tuple_fields(dtype)
    if not parts or not all(is_tuple(p) or p in _SUPPORTED for p in parts):
        return False
    return _places(dtype) == _places(tuple_dtype(parts))


def _places(dtype: np.dtype[Any]) -> tuple[int, ...]:
    """The offsets of the fields of a structured dtype, and its size."""
    fields: Any = dtype.fields or {}
    return (*(fields[name][1] for name in dtype.names or ()), dtype.itemsize)


def _widths(kind: str) -> str:
    return "/".join(str(8 * dtype.itemsize) for dtype in SUPPORTED if dtype.kind == kind)


_BITS = [8 * dtype.itemsize for dtype in INTEGERS]
STORABLE = (
    f"bool, (u)int{min(_BITS)} to {max(_BITS)}, float{_widths('f')}, complex{_widths('c')}, "
    "or a tuple of these"
)
"""The dtypes that ``is_storable`` accepts, for messages."""


def as_number(value: Any) -> Any:
    """A value of NumPy as a number of Python; a date or a span of time as it is, since Python's
    have neither NaT nor nanoseconds."""
    return value if value.dtype.kind in "mM" else value.item()


@cache
def resolve(ufunc: np.ufunc, types: tuple[Type, ...]) -> tuple[np.dtype[Any], Type]:
    """The dtype in which ``ufunc`` computes for arguments of these types, and its result type.

    The result of weak arguments is weak, as in Python. Raises ``TypeError`` if NumPy has no
    loop for the types.
    """
    resolved = ufunc.resolve_dtypes((*types, *(None,) * ufunc.nout))
    loop, result = resolved[0], resolved[ufunc.nin]
    if all(is_weak(t) for t in types):
        return loop, _WEAK_BY_KIND.get(result.kind, result)
    return loop, result


@cache
def promote(types: tuple[Type, ...]) -> Type:
    """``np.result_type`` of these types; weak if all of them are."""
    if all(is_weak(t) for t in types):
        weak = (int, float, complex)
        if not set(types) <= {*weak}:
            raise TypeError("missing is of no type")
        return max(types, key=lambda dtype: weak.index(dtype))
    if any(is_tuple(t) for t in types):
        if len({concrete(t) for t in types}) > 1:
            raise TypeError("tuples of different types do not mix")
        return types[0]
    samples = [t(0) if isinstance(t, type) else t for t in types]
    return np.result_type(*samples)


def holds(target: np.dtype[Any], source: Type) -> bool:
    """Whether a value of type ``source`` may be stored as ``target`` without an explicit cast."""
    if is_tuple(target) or is_tuple(source):
        fields = tuple_fields(target), tuple_fields(source)
        return len(fields[0]) == len(fields[1]) > 0 and all(map(holds, *fields))
    if stored_dtype(target) is not None or (
        not is_weak(source) and stored_dtype(concrete(source)) is not None
    ):
        return bool(np.can_cast(concrete(source), target, "same_kind"))
    order = "biufc"
    kinds = target.kind, concrete(source).kind
    ranks = [order.index("i" if kind == "u" else kind) for kind in kinds]
    return ranks[0] >= ranks[1]
