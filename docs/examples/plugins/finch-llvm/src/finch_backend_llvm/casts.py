"""Casts, as ``ndarray.astype`` does them on the processors that have one answer for overflow."""

from __future__ import annotations

from llvmlite import ir

from finch_backend_llvm.code import Code
from finch_backend_llvm.complexes import pair, parts
from finch_backend_llvm.values import (
    DOUBLE,
    FLOAT,
    INT32,
    INT64,
    DType,
    Value,
    real_dtype,
    value_type,
)
from finch_core.ir.dtypes import is_tuple, tuple_fields


def cast(c: Code, value: Value, source: DType, target: DType) -> Value:
    """``value`` of dtype ``source`` as one of dtype ``target``."""
    if source == target:
        return value
    if is_tuple(target):
        return _tuple(c, value, source, target)
    if source.kind == "c":
        return _from_complex(c, value, source, target)
    if target.kind == "c":
        re = cast(c, value, source, real_dtype(target))
        return pair(c, re, ir.Constant(re.type, 0.0))
    if target.kind == "b":
        return _truth(c, value, source)
    if source.kind == "f":
        return _from_float(c, value, source, target)
    return _from_integer(c, value, source, target)


def _tuple(c: Code, value: Value, source: DType, target: DType) -> Value:
    result = ir.Constant(value_type(target), ir.Undefined)
    for k, (before, after) in enumerate(
        zip(tuple_fields(source), tuple_fields(target), strict=True)
    ):
        part = cast(c, c.builder.extract_value(value, k), before, after)
        result = c.builder.insert_value(result, part, k)
    return result


def _from_complex(c: Code, value: Value, source: DType, target: DType) -> Value:
    re, im = parts(c, value)
    real = real_dtype(source)
    if target.kind == "b":
        return c.builder.or_(_truth(c, re, real), _truth(c, im, real))
    if target.kind == "c":
        part = real_dtype(target)
        return pair(c, cast(c, re, real, part), cast(c, im, real, part))
    return cast(c, re, real, target)


def _truth(c: Code, value: Value, source: DType) -> Value:
    b = c.builder
    if source.kind == "f":
        return b.fcmp_unordered("!=", value, ir.Constant(value.type, 0.0))
    return b.icmp_unsigned("!=", value, ir.Constant(value.type, 0))


def _from_integer(c: Code, value: Value, source: DType, target: DType) -> Value:
    b, kind = c.builder, value_type(target)
    signed = source.kind == "i"
    if target.kind == "f":
        return (b.sitofp if signed else b.uitofp)(value, kind)
    if kind.width < value.type.width:
        return b.trunc(value, kind)
    if kind.width == value.type.width:
        return value
    return (b.sext if signed else b.zext)(value, kind)


def _from_float(c: Code, value: Value, source: DType, target: DType) -> Value:
    b, kind = c.builder, value_type(target)
    if target.kind == "f":
        if target.itemsize == 2 and source.itemsize == 8:
            return b.fptrunc(_to_odd_float(c, value), kind)
        return (b.fptrunc if target.itemsize < source.itemsize else b.fpext)(value, kind)
    if kind == INT64:
        return _to_uint64(c, value) if target.kind == "u" else _to_signed(c, value, INT64)
    # narrower ones are cut from the signed integer that surely holds them
    wide = INT64 if target.kind == "u" and kind == INT32 else INT32
    whole = _to_signed(c, value, wide)
    return whole if whole.type == kind else b.trunc(whole, kind)


def _to_odd_float(c: Code, value: Value) -> Value:
    """A double as a float that is rounded to odd, so that rounding it again, to half precision,
    is exact. (A direct conversion is a function of the compiler's library, which is not there.)"""
    b = c.builder
    near = b.fptrunc(value, FLOAT)
    wide, bits = b.fpext(near, DOUBLE), b.bitcast(near, INT32)
    grown = b.fcmp_ordered(">", c.intrinsic("fabs", wide), c.intrinsic("fabs", value))
    below = b.sub(bits, b.zext(grown, INT32))
    odd = b.or_(below, ir.Constant(INT32, 1))
    exact = b.fcmp_unordered("==", wide, value)
    return b.bitcast(b.select(exact, bits, odd), FLOAT)


def _to_signed(c: Code, value: Value, kind: ir.IntType) -> Value:
    """Truncated towards zero; the smallest integer where it does not fit."""
    b = c.builder
    if value.type == ir.HalfType():
        value = b.fpext(value, ir.FloatType())
    limit = 2.0 ** (kind.width - 1)
    # floats around the limit are spaced by more than 1, but for doubles around 2**31
    low = limit + 1 if value.type == ir.DoubleType() and kind == INT32 else limit
    above = b.fcmp_ordered(">" if low > limit else ">=", value, ir.Constant(value.type, -low))
    fits = b.and_(above, b.fcmp_ordered("<", value, ir.Constant(value.type, limit)))
    return b.select(fits, b.fptosi(value, kind), ir.Constant(kind, -(2 ** (kind.width - 1))))


def _to_uint64(c: Code, value: Value) -> Value:
    b = c.builder
    limit = ir.Constant(value.type, 2.0**63) if value.type != ir.HalfType() else None
    if limit is None:
        return _to_signed(c, value, INT64)
    high = b.xor(_to_signed(c, b.fsub(value, limit), INT64), ir.Constant(INT64, -(2**63)))
    return b.select(b.fcmp_ordered(">=", value, limit), high, _to_signed(c, value, INT64))
