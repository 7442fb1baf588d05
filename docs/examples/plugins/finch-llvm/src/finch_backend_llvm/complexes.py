"""Complex numbers: pairs of floats; functions come from the C library, in double precision."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from finch_backend_llvm import floats
from finch_backend_llvm.code import FALSE, Code
from finch_backend_llvm.floats import is_nan, magnitude, number
from finch_backend_llvm.values import DOUBLE, DType, Value, real_dtype
from finch_core.ir.dtypes import COMPLEX128

Rule = Callable[..., Value]
PAIR = ir.LiteralStructType([DOUBLE, DOUBLE])


def parts(c: Code, z: Value) -> tuple[Value, Value]:
    """The real and imaginary part."""
    return c.builder.extract_value(z, 0), c.builder.extract_value(z, 1)


def pair(c: Code, re: Value, im: Value) -> Value:
    """A complex number."""
    kind = ir.LiteralStructType([re.type, im.type])
    half = c.builder.insert_value(ir.Constant(kind, ir.Undefined), re, 0)
    return c.builder.insert_value(half, im, 1)


def _by_parts(name: str) -> Rule:
    """An operation on the real and the imaginary parts apart."""

    def rule(c: Code, dtype: DType, *args: Value) -> Value:
        operation, real = floats.FLOATS[name], real_dtype(dtype)
        columns = zip(*(parts(c, z) for z in args), strict=True)
        return pair(c, *(operation(c, real, *column) for column in columns))

    return rule


def _mul(c: Code, dtype: DType, x: Value, y: Value) -> Value:
    b = c.builder
    (a, ai), (d, di) = parts(c, x), parts(c, y)
    re = b.fsub(b.fmul(a, d), b.fmul(ai, di), flags=c.flags)
    return pair(c, re, b.fadd(b.fmul(a, di), b.fmul(ai, d), flags=c.flags))


def _scaled(c: Code, re: Value, im: Value, large: Value, small: Value) -> Value:
    """``(re + im i) / (large + small i)``, where ``large`` is the larger part."""
    b = c.builder
    ratio = b.fdiv(small, large)
    scale = b.fdiv(number(1.0, re), b.fadd(large, b.fmul(small, ratio)))
    first = b.fmul(b.fadd(re, b.fmul(im, ratio)), scale)
    return pair(c, first, b.fmul(b.fsub(im, b.fmul(re, ratio)), scale))


def _truediv(c: Code, dtype: DType, x: Value, y: Value) -> Value:
    """Smith's method: scaled by the larger part of the divisor."""
    b = c.builder
    (a, ai), (d, di) = parts(c, x), parts(c, y)
    size, size_i = magnitude(c, d), magnitude(c, di)
    first_larger = b.fcmp_ordered(">=", size, size_i)
    vanishes = b.and_(
        b.fcmp_ordered("==", size, number(0.0, d)), b.fcmp_ordered("==", size_i, number(0.0, d))
    )
    by_real = b.select(
        vanishes, pair(c, b.fdiv(a, size), b.fdiv(ai, size)), _scaled(c, a, ai, d, di)
    )
    # where the imaginary part is larger, both are turned by a quarter first
    by_imag = _scaled(c, ai, b.fneg(a), di, b.fneg(d))
    return b.select(first_larger, by_real, by_imag)


def _abs(c: Code, dtype: DType, z: Value) -> Value:
    return c.math("hypot", *parts(c, z))


def _conj(c: Code, dtype: DType, z: Value) -> Value:
    re, im = parts(c, z)
    return pair(c, re, c.builder.fneg(im))


def _sign(c: Code, dtype: DType, z: Value) -> Value:
    """``z / |z|``; infinities have the direction of their axis, and none if both parts have one."""
    b = c.builder
    re, im = parts(c, z)
    real = real_dtype(dtype)
    size = _abs(c, dtype, z)
    zero, nan = number(0.0, re), number(math.nan, re)
    inf_re, inf_im = floats.is_inf(c, real, re), floats.is_inf(c, real, im)

    def part(x: Value, inf: Value) -> Value:
        at_infinity = b.select(inf, floats.copysign(c, number(1.0, x), x), zero)
        value = b.select(floats.is_inf(c, real, size), at_infinity, b.fdiv(x, size))
        value = b.select(b.fcmp_ordered("==", size, zero), zero, value)
        return b.select(b.or_(is_nan(c, size), b.and_(inf_re, inf_im)), nan, value)

    return pair(c, part(re, inf_re), part(im, inf_im))


# -- comparison -----------------------------------------------------------------------------


def compare(c: Code, dtype: DType, relation: str, x: Value, y: Value) -> Value:
    """The order of NumPy's scalars: by the real part, then by the imaginary one."""
    b, real = c.builder, real_dtype(dtype)
    (a, ai), (d, di) = parts(c, x), parts(c, y)
    equal = floats.compare(c, real, "==", a, d)
    if relation in ("==", "!="):
        both = b.and_(equal, floats.compare(c, real, "==", ai, di))
        return both if relation == "==" else b.not_(both)
    strictly = floats.compare(c, real, relation[0], a, d)
    return b.or_(strictly, b.and_(equal, floats.compare(c, real, relation, ai, di)))


def _better(relation: str) -> Rule:
    def rule(c: Code, dtype: DType, x: Value, y: Value) -> Value:
        return c.builder.select(compare(c, dtype, relation, y, x), y, x)

    return rule


def _with_nan(relation: str) -> Rule:
    def rule(c: Code, dtype: DType, x: Value, y: Value) -> Value:
        """``x`` where it is as good or has a NaN, unless ``y`` has one."""
        b, nan = c.builder, _any(is_nan)
        as_good = b.and_(compare(c, dtype, relation, x, y), b.not_(nan(c, dtype, y)))
        return b.select(b.or_(as_good, nan(c, dtype, x)), x, y)

    return rule


def _any(test: Callable[..., Value]) -> Rule:
    def rule(c: Code, dtype: DType, z: Value) -> Value:
        re, im = parts(c, z)
        return c.builder.or_(test(c, re), test(c, im))

    return rule


def _is_inf(c: Code, x: Value) -> Value:
    return floats.is_inf(c, COMPLEX128, x)


def _is_finite(c: Code, dtype: DType, z: Value) -> Value:
    re, im = parts(c, z)
    real = real_dtype(dtype)
    return c.builder.and_(floats.is_finite(c, real, re), floats.is_finite(c, real, im))


# -- functions ------------------------------------------------------------------------------


def _wide(c: Code, z: Value) -> tuple[Value, Value]:
    """The parts in double precision."""
    return tuple(
        part if part.type == DOUBLE else c.builder.fpext(part, DOUBLE) for part in parts(c, z)
    )


def _narrow(c: Code, dtype: DType, re: Value, im: Value) -> Value:
    if dtype.itemsize == 16:
        return pair(c, re, im)
    kind = ir.FloatType()
    return pair(c, c.builder.fptrunc(re, kind), c.builder.fptrunc(im, kind))


def _library(name: str) -> Rule:
    """A function of ``complex.h``. A double complex is passed and returned like two doubles."""

    def rule(c: Code, dtype: DType, *args: Value) -> Value:
        words = [part for z in args for part in _wide(c, z)]
        function = c.declared(name, PAIR, [DOUBLE] * len(words), "readnone")
        return _narrow(c, dtype, *parts(c, c.builder.call(function, words)))

    return rule


def _scaled_function(name: str, before: float, after: float) -> Rule:
    """``after * name(before * z)``."""

    def rule(c: Code, dtype: DType, z: Value) -> Value:
        b = c.builder
        words = [b.fmul(part, number(before, part)) for part in _wide(c, z)]
        function = c.declared(name, PAIR, [DOUBLE, DOUBLE], "readnone")
        found = parts(c, b.call(function, words))
        return _narrow(c, dtype, *(b.fmul(part, number(after, part)) for part in found))

    return rule


def _log1p(c: Code, dtype: DType, z: Value) -> Value:
    re, im = _wide(c, z)
    re = c.builder.fadd(re, number(1.0, re))
    size = c.math("hypot", re, im)
    return _narrow(c, dtype, c.math("log", size), c.math("atan2", im, re))


def _expm1(c: Code, dtype: DType, z: Value) -> Value:
    b = c.builder
    re, im = _wide(c, z)
    half = c.math("sin", b.fmul(im, number(0.5, im)))
    shift = b.fmul(number(2.0, half), b.fmul(half, half))
    first = b.fsub(b.fmul(c.math("expm1", re), c.math("cos", im)), shift)
    return _narrow(c, dtype, first, b.fmul(c.math("exp", re), c.math("sin", im)))


# -- powers ---------------------------------------------------------------------------------


def _pow(c: Code, dtype: DType, x: Value, y: Value) -> Value:
    function = c.helper("power.complex", PAIR, [DOUBLE] * 4, lambda code, args: _power(code, *args))
    return _narrow(c, dtype, *parts(c, c.builder.call(function, [*_wide(c, x), *_wide(c, y)])))


def _power(c: Code, a: Value, ai: Value, d: Value, di: Value) -> None:
    """Small whole exponents multiply, as NumPy does; anything else is the library's."""
    b, zero, one = c.builder, number(0.0, a), number(1.0, a)

    def is_zero(x: Value) -> Value:
        return b.fcmp_ordered("==", x, zero)

    real_exponent = is_zero(di)
    with b.if_then(b.and_(is_zero(d), real_exponent)):
        b.ret(pair(c, one, zero))
    with b.if_then(b.and_(is_zero(a), is_zero(ai))):
        nan = number(math.nan, a)
        value = b.select(b.fcmp_ordered(">", d, zero), zero, nan)
        b.ret(pair(c, value, value))
    whole = b.fcmp_ordered("==", c.intrinsic("trunc", d), d)
    small = b.fcmp_ordered("<", magnitude(c, d), number(100.0, d))
    with b.if_then(b.and_(real_exponent, b.and_(whole, small))):
        b.ret(_whole_power(c, pair(c, a, ai), d))
    library = c.declared("cpow", PAIR, [DOUBLE] * 4, "readnone")
    b.ret(b.call(library, [a, ai, d, di]))


def _whole_power(c: Code, base: Value, exponent: Value) -> Value:
    """``base`` to a small whole exponent, by squaring."""
    b, word = c.builder, ir.IntType(32)
    wide = COMPLEX128
    one = pair(c, number(1.0, exponent), number(0.0, exponent))
    count = b.fptosi(magnitude(c, exponent), word)
    odd = b.icmp_signed("!=", b.and_(count, ir.Constant(word, 1)), ir.Constant(word, 0))
    result = c.variable(PAIR, b.select(odd, base, one))
    power, rest = c.variable(PAIR, base), c.variable(word, b.lshr(count, ir.Constant(word, 1)))
    first = c.variable(ir.IntType(1), b.not_(odd))
    with c.loop(lambda: b.icmp_signed("!=", c.get(rest), ir.Constant(word, 0))):
        b.store(_mul(c, wide, c.get(power), c.get(power)), power)
        with b.if_then(b.trunc(c.get(rest), ir.IntType(1))):
            times = _mul(c, wide, c.get(result), c.get(power))
            b.store(b.select(c.get(first), c.get(power), times), result)
            b.store(FALSE, first)
        b.store(b.lshr(c.get(rest), ir.Constant(word, 1)), rest)
    negative = b.fcmp_ordered("<", exponent, number(0.0, exponent))
    return b.select(negative, _truediv(c, wide, one, c.get(result)), c.get(result))


_LIBRARY = {
    "sqrt": "csqrt", "exp": "cexp", "log": "clog", "sin": "csin", "cos": "ccos", "tan": "ctan",
    "arcsin": "casin", "arccos": "cacos", "arctan": "catan", "sinh": "csinh", "cosh": "ccosh",
    "tanh": "ctanh", "arcsinh": "casinh", "arccosh": "cacosh", "arctanh": "catanh",
}  # fmt: skip

COMPLEXES: dict[str, Any] = {
    **{name: _library(symbol) for name, symbol in _LIBRARY.items()},
    **{name: _by_parts(name) for name in ("add", "sub", "neg", "rint")},
    "mul": _mul, "truediv": _truediv, "pow": _pow, "abs": _abs, "sign": _sign, "conj": _conj,
    "min": _better("<"), "max": _better(">"), "minimum": _with_nan("<="),
    "maximum": _with_nan(">="), "exp2": _scaled_function("cexp", math.log(2), 1.0),
    "log2": _scaled_function("clog", 1.0, 1 / math.log(2)),
    "log10": _scaled_function("clog", 1.0, 1 / math.log(10)), "log1p": _log1p, "expm1": _expm1,
    "real": lambda c, dtype, z: parts(c, z)[0], "imag": lambda c, dtype, z: parts(c, z)[1],
    "isnan": _any(is_nan), "isinf": _any(_is_inf), "isfinite": _is_finite,
}  # fmt: skip
"""The rules of operators on complex numbers."""
