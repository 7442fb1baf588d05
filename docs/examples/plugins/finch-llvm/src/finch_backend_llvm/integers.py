"""Integers and bools: what wraps, and the plain instructions of what does not.

Divisions and shifts are LLVM's, which are undefined for a divisor of 0 and for shifts by the width
or more: kernels that reach this backend's rules have guarded them (``finch_core.ir.expansions``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from finch_backend_llvm.code import FALSE, Code
from finch_backend_llvm.values import BYTE, DType, Value, float_type

Rule = Callable[..., Value]


def _neg(c: Code, dtype: DType, x: Value) -> Value:
    return c.builder.sub(ir.Constant(x.type, 0), x)


def _rshift(c: Code, dtype: DType, x: Value, y: Value) -> Value:
    return (c.builder.ashr if dtype.kind == "i" else c.builder.lshr)(x, y)


def _byte(c: Code, x: Value) -> Value:
    return x if x.type.width == 8 else c.builder.trunc(x, BYTE)


def _popcount(c: Code, dtype: DType, x: Value) -> Value:
    return _byte(c, c.intrinsic("ctpop", x))


def _ctz(c: Code, dtype: DType, x: Value) -> Value:
    kind = x.type
    function = c.declared(f"llvm.cttz.{kind.intrinsic_name}", kind, [kind, ir.IntType(1)])
    return _byte(c, c.builder.call(function, [x, FALSE]))


def compare(c: Code, dtype: DType, relation: str, x: Value, y: Value) -> Value:
    """A comparison of integers or bools."""
    b = c.builder
    return (b.icmp_signed if dtype.kind == "i" else b.icmp_unsigned)(relation, x, y)


def _select(relation: str) -> Rule:
    def rule(c: Code, dtype: DType, x: Value, y: Value) -> Value:
        """``x`` unless ``y`` is strictly better."""
        return c.builder.select(compare(c, dtype, relation, y, x), y, x)

    return rule


def _plain(name: str) -> Rule:
    return lambda c, dtype, x, y: getattr(c.builder, name)(x, y)


def _invert(c: Code, dtype: DType, x: Value) -> Value:
    return c.builder.not_(x)


_AND, _OR, _XOR = _plain("and_"), _plain("or_"), _plain("xor")
_LESS, _GREATER = _select("<"), _select(">")

SIGNED: dict[str, Any] = {
    "add": _plain("add"), "sub": _plain("sub"), "mul": _plain("mul"), "neg": _neg,
    "min": _LESS, "max": _GREATER, "minimum": _LESS, "maximum": _GREATER, "bitand": _AND,
    "bitor": _OR, "bitxor": _XOR, "invert": _invert, "lshift": _plain("shl"), "rshift": _rshift,
    "ctz": _ctz,
}  # fmt: skip
"""The rules of operators on signed integers."""

UNSIGNED: dict[str, Any] = SIGNED | {
    "floordiv": _plain("udiv"), "mod": _plain("urem"), "popcount": _popcount,
    "frombits": lambda c, dtype, x: c.builder.bitcast(x, float_type(dtype.itemsize)),
}  # fmt: skip
"""The rules of operators on unsigned integers."""

BOOLS: dict[str, Any] = {
    "add": _OR, "mul": _AND, "min": _AND, "max": _OR, "minimum": _AND, "maximum": _OR,
    "bitand": _AND, "bitor": _OR, "bitxor": _XOR, "and": _AND, "or": _OR, "not": _invert,
    "invert": _invert,
}  # fmt: skip
"""The rules of operators on bools."""

GUARDED = ("floordiv", "mod", "lshift", "rshift")
"""What LLVM leaves undefined for some operands."""
