"""Complex numbers: pairs of floats. Sums and products may be reductions in lanes; all others are in
terms of the parts (``finch_core.ir.expansions``)."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from finch_backend_llvm.code import Code
from finch_backend_llvm.values import DType, Value


def parts(c: Code, z: Value) -> tuple[Value, Value]:
    """The real and imaginary part."""
    return c.builder.extract_value(z, 0), c.builder.extract_value(z, 1)


def pair(c: Code, re: Value, im: Value) -> Value:
    """A complex number."""
    kind = ir.LiteralStructType([re.type, im.type])
    half = c.builder.insert_value(ir.Constant(kind, ir.Undefined), re, 0)
    return c.builder.insert_value(half, im, 1)


def _add(c: Code, dtype: DType, x: Value, y: Value) -> Value:
    (a, ai), (d, di) = parts(c, x), parts(c, y)
    re = c.builder.fadd(a, d, flags=c.flags)
    return pair(c, re, c.builder.fadd(ai, di, flags=c.flags))


def _mul(c: Code, dtype: DType, x: Value, y: Value) -> Value:
    b = c.builder
    (a, ai), (d, di) = parts(c, x), parts(c, y)
    re = b.fsub(b.fmul(a, d), b.fmul(ai, di), flags=c.flags)
    return pair(c, re, b.fadd(b.fmul(a, di), b.fmul(ai, d), flags=c.flags))


def compare(c: Code, dtype: DType, relation: str, x: Value, y: Value) -> Value:
    """``==`` or ``!=``."""
    b = c.builder
    (a, ai), (d, di) = parts(c, x), parts(c, y)
    if relation == "==":
        return b.and_(b.fcmp_ordered("==", a, d), b.fcmp_ordered("==", ai, di))
    return b.or_(b.fcmp_unordered("!=", a, d), b.fcmp_unordered("!=", ai, di))


COMPLEXES: dict[str, Any] = {
    "add": _add, "mul": _mul,
    "real": lambda c, dtype, z: parts(c, z)[0], "imag": lambda c, dtype, z: parts(c, z)[1],
}  # fmt: skip
"""The rules of operators on complex numbers."""
