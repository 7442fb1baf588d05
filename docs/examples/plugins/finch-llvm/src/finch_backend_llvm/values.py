"""How values of a dtype look in LLVM: in registers, as constants, and in memory.

A bool is an ``i1`` in a register and a byte in memory. Complex numbers and tuples are aggregates
in registers; in memory they are read and written part by part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from llvmlite import ir

from finch_core.ir.dtypes import Type, concrete, is_tuple, tuple_fields

DType = np.dtype[Any]
Value = Any
Tag = Callable[[Any], None]
"""Puts metadata on a load or store."""

BIT, BYTE, INT32, INT64 = (ir.IntType(bits) for bits in (1, 8, 32, 64))
FLOAT, DOUBLE, POINTER = ir.FloatType(), ir.DoubleType(), ir.PointerType()
_FLOATS = {2: ir.HalfType(), 4: FLOAT, 8: DOUBLE}


def float_type(itemsize: int) -> Any:
    """The type of floats of this size."""
    return _FLOATS[itemsize]


def value_type(dtype: Type) -> Any:
    """The type of a value in a register."""
    dtype = concrete(dtype)
    if is_tuple(dtype):
        return ir.LiteralStructType([value_type(field) for field in tuple_fields(dtype)])
    if dtype.kind == "b":
        return BIT
    if dtype.kind in "iu":
        return ir.IntType(8 * dtype.itemsize)
    if dtype.kind == "c":
        part = float_type(dtype.itemsize // 2)
        return ir.LiteralStructType([part, part])
    return float_type(dtype.itemsize)


def real_dtype(dtype: DType) -> DType:
    """The dtype of a complex number's parts."""
    return np.dtype(f"f{dtype.itemsize // 2}")


def constant(value: Any, dtype: Type) -> Value:
    """A NumPy scalar of ``dtype`` as a constant."""
    dtype = concrete(dtype)
    if is_tuple(dtype):
        parts = [constant(value[k], field) for k, field in enumerate(tuple_fields(dtype))]
        return ir.Constant.literal_struct(parts)
    if dtype.kind == "c":
        part = real_dtype(dtype)
        return ir.Constant.literal_struct([constant(v, part) for v in (value.real, value.imag)])
    plain = float(value) if dtype.kind == "f" else int(value)
    return ir.Constant(value_type(dtype), plain)


# -- memory ---------------------------------------------------------------------------------


def no_tag(instruction: Any) -> None:
    """Memory of which nothing is known."""


def _parts(dtype: DType) -> Iterator[tuple[DType, int]]:
    """The dtypes and offsets of what an aggregate consists of."""
    if dtype.kind == "c":
        part = real_dtype(dtype)
        yield part, 0
        yield part, part.itemsize
        return
    fields: Any = dtype.fields or {}
    for name in dtype.names or ():
        yield fields[name][:2]


def _is_aggregate(dtype: DType) -> bool:
    return dtype.kind == "c" or is_tuple(dtype)


def at_byte(b: Any, pointer: Value, offset: int) -> Value:
    """``offset`` bytes behind ``pointer``."""
    if offset == 0:
        return pointer
    return b.gep(pointer, [ir.Constant(INT64, offset)], inbounds=True, source_etype=BYTE)


def load(b: Any, pointer: Value, dtype: DType, tag: Tag = no_tag) -> Value:
    """The value of ``dtype`` at ``pointer``."""
    if _is_aggregate(dtype):
        result = ir.Constant(value_type(dtype), ir.Undefined)
        for k, (part, offset) in enumerate(_parts(dtype)):
            value = load(b, at_byte(b, pointer, offset), part, tag)
            result = b.insert_value(result, value, k)
        return result
    kind = BYTE if dtype.kind == "b" else value_type(dtype)
    loaded = b.load(pointer, typ=kind, align=dtype.alignment)
    tag(loaded)
    return b.icmp_unsigned("!=", loaded, ir.Constant(BYTE, 0)) if dtype.kind == "b" else loaded


def store(b: Any, value: Value, pointer: Value, dtype: DType, tag: Tag = no_tag) -> None:
    """Put ``value`` at ``pointer``."""
    if _is_aggregate(dtype):
        for k, (part, offset) in enumerate(_parts(dtype)):
            store(b, b.extract_value(value, k), at_byte(b, pointer, offset), part, tag)
        return
    stored = b.zext(value, BYTE) if dtype.kind == "b" else value
    tag(b.store(stored, pointer, align=dtype.alignment))


def element(b: Any, base: Value, index: Value, dtype: DType) -> Value:
    """The address of ``base[index]``."""
    kind = ir.ArrayType(BYTE, dtype.itemsize)
    if not _is_aggregate(dtype):
        kind = BYTE if dtype.kind == "b" else value_type(dtype)
    return b.gep(base, [index], inbounds=True, source_etype=kind)
