"""Floats: IEEE, with NumPy's ``//`` and ``%``; functions come from the C library's ``libm``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from finch_backend_llvm.code import Code
from finch_backend_llvm.values import DType, Value
from finch_core.ir.primitives import PRIMITIVES
from finch_core.operators import operator

Rule = Callable[..., Value]


def number(value: float, like: Value) -> Value:
    """A constant of the type of ``like``."""
    return ir.Constant(like.type, value)


def is_nan(c: Code, x: Value) -> Value:
    """Whether ``x`` is NaN."""
    return c.builder.fcmp_unordered("uno", x, x)


def magnitude(c: Code, x: Value) -> Value:
    """``|x|``."""
    return c.intrinsic("fabs", x)


def copysign(c: Code, x: Value, sign: Value) -> Value:
    """``x`` with the sign of ``sign``."""
    return c.intrinsic("copysign", x, sign)


def compare(c: Code, dtype: DType, relation: str, x: Value, y: Value) -> Value:
    """A comparison of floats: all but ``!=`` are false for NaN."""
    b = c.builder
    return (b.fcmp_unordered if relation == "!=" else b.fcmp_ordered)(relation, x, y)


def _arithmetic(name: str) -> Rule:
    def rule(c: Code, dtype: DType, x: Value, y: Value) -> Value:
        return getattr(c.builder, name)(x, y, flags=c.flags)

    return rule


# -- division that floors -------------------------------------------------------------------


def _floor_parts(c: Code, x: Value, y: Value) -> tuple[Value, Value]:
    """The quotient before it is rounded, and the remainder with the sign of ``y``."""
    b, zero = c.builder, number(0.0, x)
    remainder = c.math("fmod", x, y)
    quotient = b.fdiv(b.fsub(x, remainder), y)
    nonzero = b.fcmp_unordered("!=", remainder, zero)
    differs = b.xor(b.fcmp_ordered("<", y, zero), b.fcmp_ordered("<", remainder, zero))
    crosses = b.and_(nonzero, differs)
    quotient = b.select(crosses, b.fsub(quotient, number(1.0, x)), quotient)
    moved = b.select(crosses, b.fadd(remainder, y), remainder)
    return quotient, b.select(nonzero, moved, copysign(c, zero, y))


def _floordiv(c: Code, dtype: DType, x: Value, y: Value) -> Value:
    b, zero = c.builder, number(0.0, x)
    quotient, _ = _floor_parts(c, x, y)
    whole = c.intrinsic("floor", quotient)
    short = b.fcmp_ordered(">", b.fsub(quotient, whole), number(0.5, x))
    whole = b.select(short, b.fadd(whole, number(1.0, x)), whole)
    plain = b.fdiv(x, y)
    vanishes = b.fcmp_ordered("==", quotient, zero)
    whole = b.select(vanishes, copysign(c, zero, plain), whole)
    return b.select(b.fcmp_ordered("==", y, zero), plain, whole)


def _mod(c: Code, dtype: DType, x: Value, y: Value) -> Value:
    b = c.builder
    _, remainder = _floor_parts(c, x, y)
    nan = number(math.nan, x)
    return b.select(b.fcmp_ordered("==", y, number(0.0, x)), nan, remainder)


# -- choices --------------------------------------------------------------------------------


def _better(relation: str) -> Rule:
    def rule(c: Code, dtype: DType, x: Value, y: Value) -> Value:
        """``x`` unless ``y`` is strictly better."""
        return c.builder.select(c.builder.fcmp_ordered(relation, y, x), y, x)

    return rule


def _with_nan(relation: str) -> Rule:
    def rule(c: Code, dtype: DType, x: Value, y: Value) -> Value:
        """``y`` unless ``x`` is as good or NaN: a NaN comes through from either side."""
        b = c.builder
        first = b.or_(b.fcmp_ordered(relation, x, y), is_nan(c, x))
        return b.select(first, x, y)

    return rule


def _sign(c: Code, dtype: DType, x: Value) -> Value:
    b, zero = c.builder, number(0.0, x)
    one = b.select(b.fcmp_ordered(">", x, zero), number(1.0, x), zero)
    signed = b.select(b.fcmp_ordered("<", x, zero), number(-1.0, x), one)
    return b.select(is_nan(c, x), x, signed)


def is_inf(c: Code, dtype: DType, x: Value) -> Value:
    """Whether ``x`` is infinite."""
    return c.builder.fcmp_ordered("==", magnitude(c, x), number(math.inf, x))


def is_finite(c: Code, dtype: DType, x: Value) -> Value:
    """Whether ``x`` is neither infinite nor NaN."""
    return c.builder.fcmp_ordered("<", magnitude(c, x), number(math.inf, x))


# -- functions ------------------------------------------------------------------------------


def _intrinsic(name: str) -> Rule:
    return lambda c, dtype, *args: c.intrinsic(name, *args)


def _math(name: str) -> Rule:
    return lambda c, dtype, *args: c.math(name, *args)


ROUNDING = ("sqrt", "floor", "ceil", "trunc", "rint")
"""What processors do by themselves."""

LIBRARY = {
    op.name: op.library
    for op in map(operator, PRIMITIVES)
    if op.library and op.name not in (*ROUNDING, "abs", "copysign")
}
"""Operators that are functions of ``math.h``, by their names there."""

FLOATS: dict[str, Any] = {
    **{name: _intrinsic(name) for name in ROUNDING},
    **{name: _math(symbol) for name, symbol in LIBRARY.items()},
    "add": _arithmetic("fadd"), "sub": _arithmetic("fsub"), "mul": _arithmetic("fmul"),
    "truediv": _arithmetic("fdiv"), "floordiv": _floordiv, "mod": _mod,
    "neg": lambda c, dtype, x: c.builder.fneg(x), "abs": _intrinsic("fabs"), "sign": _sign,
    "conj": lambda c, dtype, x: x, "copysign": _intrinsic("copysign"), "min": _better("<"),
    "max": _better(">"), "minimum": _with_nan("<="), "maximum": _with_nan(">="),
    "real": lambda c, dtype, x: x, "imag": lambda c, dtype, x: number(0.0, x),
    "tobits": lambda c, dtype, x: c.builder.bitcast(x, ir.IntType(8 * dtype.itemsize)),
    "isnan": lambda c, dtype, x: is_nan(c, x), "isinf": is_inf, "isfinite": is_finite,
}  # fmt: skip
"""The rules of operators on floats."""
