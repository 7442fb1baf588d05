"""Floats: IEEE; functions come from the C library's ``libm``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from finch_backend_llvm.code import Code
from finch_backend_llvm.complexes import pair
from finch_backend_llvm.values import DType, Value
from finch_core.ir.primitives import PRIMITIVES
from finch_core.operators import operator

Rule = Callable[..., Value]


def compare(c: Code, dtype: DType, relation: str, x: Value, y: Value) -> Value:
    """A comparison of floats: all but ``!=`` are false for NaN."""
    b = c.builder
    return (b.fcmp_unordered if relation == "!=" else b.fcmp_ordered)(relation, x, y)


def _arithmetic(name: str) -> Rule:
    def rule(c: Code, dtype: DType, x: Value, y: Value) -> Value:
        return getattr(c.builder, name)(x, y, flags=c.flags)

    return rule


# -- choices --------------------------------------------------------------------------------


def _better(relation: str) -> Rule:
    def rule(c: Code, dtype: DType, x: Value, y: Value) -> Value:
        """``x`` unless ``y`` is strictly better."""
        return c.builder.select(c.builder.fcmp_ordered(relation, y, x), y, x)

    return rule


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
    "truediv": _arithmetic("fdiv"), "neg": lambda c, dtype, x: c.builder.fneg(x),
    "abs": _intrinsic("fabs"), "copysign": _intrinsic("copysign"), "min": _better("<"),
    "max": _better(">"),
    "tobits": lambda c, dtype, x: c.builder.bitcast(x, ir.IntType(8 * dtype.itemsize)),
    "complex": lambda c, dtype, x, y: pair(c, x, y),
}  # fmt: skip
"""The rules of operators on floats."""
