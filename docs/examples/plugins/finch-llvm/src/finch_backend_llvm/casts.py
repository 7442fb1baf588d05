"""Casts of one instruction: kernels that come here cast floats to signed integers that hold them,
and complex numbers by their parts (``finch_core.ir.expansions``)."""

from __future__ import annotations

from llvmlite import ir

from finch_backend_llvm.code import Code
from finch_backend_llvm.values import DType, Value, value_type
from finch_core.ir.dtypes import is_tuple, tuple_fields


def cast(c: Code, value: Value, source: DType, target: DType) -> Value:
    """``value`` of dtype ``source`` as one of dtype ``target``."""
    if source == target:
        return value
    if is_tuple(target):
        return _tuple(c, value, source, target)
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
        return (b.fptrunc if target.itemsize < source.itemsize else b.fpext)(value, kind)
    return b.fptosi(value, kind)
