"""Integers and bools: they wrap, ``//`` and ``%`` floor, and nothing is undefined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from finch_backend_llvm.code import FALSE, Code
from finch_backend_llvm.values import BYTE, DOUBLE, DType, Value, float_type

Rule = Callable[..., Value]


def _number(value: int, like: Value) -> Value:
    return ir.Constant(like.type, value)


def _is_zero(c: Code, x: Value) -> Value:
    return c.builder.icmp_unsigned("==", x, _number(0, x))


# -- arithmetic -----------------------------------------------------------------------------


def _neg(c: Code, dtype: DType, x: Value) -> Value:
    return c.builder.sub(_number(0, x), x)


def _abs(c: Code, dtype: DType, x: Value) -> Value:
    if dtype.kind != "i":
        return x
    negative = c.builder.icmp_signed("<", x, _number(0, x))
    return c.builder.select(negative, _neg(c, dtype, x), x)


def _sign(c: Code, dtype: DType, x: Value) -> Value:
    b, zero = c.builder, _number(0, x)
    positive = b.icmp_signed(">", x, zero) if dtype.kind == "i" else b.icmp_unsigned(">", x, zero)
    one = b.zext(positive, x.type)
    if dtype.kind != "i":
        return one
    return b.sub(one, b.zext(b.icmp_signed("<", x, zero), x.type))


def _safe_divisor(c: Code, dtype: DType, y: Value) -> tuple[Value, Value]:
    """A divisor that no division traps on, and whether ``y`` was -1 (which it negates by hand)."""
    b = c.builder
    minus = b.icmp_signed("==", y, _number(-1, y)) if dtype.kind == "i" else FALSE
    special = b.or_(_is_zero(c, y), minus)
    return b.select(special, _number(1, y), y), minus


def _remainder(c: Code, dtype: DType, x: Value, divisor: Value) -> Value:
    """``x`` modulo a safe divisor, with the sign of ``x``."""
    b = c.builder
    return b.srem(x, divisor) if dtype.kind == "i" else b.urem(x, divisor)


def _crosses(c: Code, remainder: Value, y: Value) -> Value:
    """Whether a truncated division must be corrected to one that floors."""
    b, zero = c.builder, _number(0, y)
    opposite = b.icmp_signed("<", b.xor(remainder, y), zero)
    return b.and_(b.icmp_signed("!=", remainder, zero), opposite)


def _floordiv(c: Code, dtype: DType, x: Value, y: Value) -> Value:
    b, zero = c.builder, _number(0, x)
    divisor, minus = _safe_divisor(c, dtype, y)
    if dtype.kind == "i":
        quotient = b.sdiv(x, divisor)
        crosses = _crosses(c, b.srem(x, divisor), divisor)
        quotient = b.sub(quotient, b.zext(crosses, x.type))
        quotient = b.select(minus, b.sub(zero, x), quotient)
    else:
        quotient = b.udiv(x, divisor)
    return b.select(_is_zero(c, y), zero, quotient)


def _mod(c: Code, dtype: DType, x: Value, y: Value) -> Value:
    divisor, _ = _safe_divisor(c, dtype, y)
    remainder = _remainder(c, dtype, x, divisor)
    if dtype.kind != "i":
        return remainder
    b = c.builder
    return b.select(_crosses(c, remainder, divisor), b.add(remainder, divisor), remainder)


def _fmod(c: Code, dtype: DType, x: Value, y: Value) -> Value:
    return _remainder(c, dtype, x, _safe_divisor(c, dtype, y)[0])


def _truediv(c: Code, dtype: DType, x: Value, y: Value) -> Value:
    b = c.builder
    widen = b.sitofp if dtype.kind == "i" else b.uitofp
    return b.fdiv(widen(x, DOUBLE), widen(y, DOUBLE))


def _pow(c: Code, dtype: DType, x: Value, y: Value) -> Value:
    kind = x.type
    name = f"power.{dtype.kind}{kind.width}"
    return c.builder.call(
        c.helper(name, kind, [kind, kind], lambda code, args: _power(code, dtype, *args)), [x, y]
    )


def _power(c: Code, dtype: DType, x: Value, y: Value) -> None:
    """By squaring. A negative exponent (which NumPy refuses) gives the power truncated."""
    b, kind = c.builder, x.type
    zero, one = _number(0, x), _number(1, x)
    if dtype.kind == "i":
        is_unit = b.icmp_unsigned("<=", b.add(x, one), ir.Constant(kind, 2))
        with b.if_then(b.and_(b.icmp_signed("<", y, zero), b.not_(is_unit))):
            b.ret(zero)
    result, base, rest = c.variable(kind, one), c.variable(kind, x), c.variable(kind, y)
    with c.loop(lambda: b.icmp_unsigned("!=", c.get(rest), zero)):
        odd = b.trunc(c.get(rest), ir.IntType(1)) if kind.width > 1 else c.get(rest)
        times = b.mul(c.get(result), c.get(base))
        b.store(b.select(odd, times, c.get(result)), result)
        b.store(b.mul(c.get(base), c.get(base)), base)
        b.store(b.lshr(c.get(rest), one), rest)
    b.ret(c.get(result))


# -- bits -----------------------------------------------------------------------------------


def _lshift(c: Code, dtype: DType, x: Value, y: Value) -> Value:
    b = c.builder
    fits = b.icmp_unsigned("<", y, _number(x.type.width, y))
    return b.select(fits, b.shl(x, y), _number(0, x))


def _rshift(c: Code, dtype: DType, x: Value, y: Value) -> Value:
    b, last = c.builder, _number(x.type.width - 1, y)
    fits = b.icmp_unsigned("<=", y, last)
    if dtype.kind == "i":
        return b.ashr(x, b.select(fits, y, last))
    return b.select(fits, b.lshr(x, y), _number(0, x))


def _byte(c: Code, x: Value) -> Value:
    b = c.builder
    if x.type.width < 8:
        return b.zext(x, BYTE)
    return x if x.type.width == 8 else b.trunc(x, BYTE)


def _popcount(c: Code, dtype: DType, x: Value) -> Value:
    return _byte(c, c.intrinsic("ctpop", _abs(c, dtype, x)))


def _ctz(c: Code, dtype: DType, x: Value) -> Value:
    kind = x.type
    function = c.declared(f"llvm.cttz.{kind.intrinsic_name}", kind, [kind, ir.IntType(1)])
    return _byte(c, c.builder.call(function, [x, FALSE]))


# -- comparison -----------------------------------------------------------------------------


def compare(c: Code, dtype: DType, relation: str, x: Value, y: Value) -> Value:
    """A comparison of integers or bools."""
    b = c.builder
    return (b.icmp_signed if dtype.kind == "i" else b.icmp_unsigned)(relation, x, y)


def _select(relation: str) -> Rule:
    def rule(c: Code, dtype: DType, x: Value, y: Value) -> Value:
        """``x`` unless ``y`` is strictly better."""
        return c.builder.select(compare(c, dtype, relation, y, x), y, x)

    return rule


def same(c: Code, dtype: DType, x: Value) -> Value:
    """What does nothing to the values of a dtype."""
    return x


def _plain(name: str) -> Rule:
    return lambda c, dtype, x, y: getattr(c.builder, name)(x, y)


_AND, _OR = _plain("and_"), _plain("or_")

INTEGERS: dict[str, Any] = {
    "add": _plain("add"), "sub": _plain("sub"), "mul": _plain("mul"), "neg": _neg, "abs": _abs,
    "sign": _sign, "conj": same, "floordiv": _floordiv, "mod": _mod, "fmod": _fmod,
    "truediv": _truediv, "pow": _pow, "min": _select("<"), "max": _select(">"),
    "minimum": _select("<"), "maximum": _select(">"), "bitand": _AND, "bitor": _OR,
    "bitxor": _plain("xor"), "invert": lambda c, dtype, x: c.builder.not_(x), "lshift": _lshift,
    "rshift": _rshift, "popcount": _popcount, "ctz": _ctz, "real": same,
    "imag": lambda c, dtype, x: _number(0, x), "floor": same, "ceil": same, "trunc": same,
    "frombits": lambda c, dtype, x: c.builder.bitcast(x, float_type(dtype.itemsize)),
    "isnan": lambda c, dtype, x: FALSE, "isinf": lambda c, dtype, x: FALSE,
    "isfinite": lambda c, dtype, x: ir.Constant(ir.IntType(1), 1),
}  # fmt: skip
"""The rules of operators on integers."""

BOOLS: dict[str, Any] = INTEGERS | {
    "add": _OR, "mul": _AND, "min": _AND, "max": _OR, "minimum": _AND, "maximum": _OR, "and": _AND,
    "or": _OR, "not": lambda c, dtype, x: c.builder.not_(x),
}  # fmt: skip
"""The rules of operators on bools."""
