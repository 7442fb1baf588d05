"""Integers and bools, in terms of what all languages have: sums, products and comparisons that
wrap, and the division of unsigned integers."""

from __future__ import annotations

import numpy as np

from finch_core.ir.builder import Builder
from finch_core.ir.dtypes import concrete
from finch_core.ir.expansions.forms import DType, apply, choose, form
from finch_core.ir.expressions import Expr, Literal, cast, lift


def _unsigned(x: Expr) -> DType:
    return np.dtype(f"u{concrete(x.dtype).itemsize}")


def _bits(x: Expr) -> int:
    return 8 * concrete(x.dtype).itemsize


def _size(b: Builder, x: Expr) -> Expr:
    """``|x|`` as an unsigned integer, which holds that of the least number, too."""
    bits = b.let("bits", x.cast(_unsigned(x)))
    return b.let("size", choose(x < 0, 0 - bits, bits))


# -- division -------------------------------------------------------------------------------


@form("floordiv", kinds="u")
def _floordiv_unsigned(b: Builder, x: Expr, y: Expr) -> Expr:
    return choose(y.eq(0), 0, x // y)


@form("mod", kinds="u")
def _mod_unsigned(b: Builder, x: Expr, y: Expr) -> Expr:
    return choose(y.eq(0), 0, x % y)


@form("fmod", kinds="u")
def _fmod_unsigned(b: Builder, x: Expr, y: Expr) -> Expr:
    return x % y


@form("floordiv", kinds="i")
def _floordiv(b: Builder, x: Expr, y: Expr) -> Expr:
    """The quotient of the sizes, rounded up where the signs differ; 0 for a divisor of 0."""
    size, divisor = _size(b, x), _size(b, y)
    differ = b.let("differ", (x < 0).ne(y < 0))
    quotient = b.let("quotient", (size + choose(differ, divisor - 1, 0)) // divisor)
    return choose(differ, 0 - quotient, quotient).cast(concrete(x.dtype))


@form("mod", kinds="i")
def _mod(b: Builder, x: Expr, y: Expr) -> Expr:
    """The remainder of the sizes, or what it lacks, with the sign of the divisor."""
    divisor = _size(b, y)
    rest = b.let("rest", _size(b, x) % divisor)
    lacks = (x < 0).ne(y < 0).and_(rest.ne(0))
    moved = b.let("moved", choose(lacks, divisor - rest, rest))
    return choose(y < 0, 0 - moved, moved).cast(concrete(x.dtype))


@form("fmod", kinds="i")
def _fmod(b: Builder, x: Expr, y: Expr) -> Expr:
    rest = b.let("rest", _size(b, x) % _size(b, y))
    return choose(x < 0, 0 - rest, rest).cast(concrete(x.dtype))


@form("pow", kinds="iu")
def _pow(b: Builder, x: Expr, y: Expr) -> Expr:
    """By squaring. A negative exponent, which NumPy refuses, gives the power truncated."""
    dtype = concrete(x.dtype)
    if dtype.kind == "i":
        with b.if_(y < 0):
            odd = choose((y & 1).ne(0), -1, 1)
            b.ret(choose(x.eq(1), 1, choose(x.eq(-1), odd, 0)))
    result, power = b.var("result", Literal(1, dtype)), b.var("power", x)
    rest = b.var("rest", y)
    with b.while_(rest.ne(0)):
        with b.if_((rest & 1).ne(0)):
            b.assign(result, result * power)
        b.assign(power, power * power)
        b.assign(rest, rest >> 1)
    return result


# -- bits -----------------------------------------------------------------------------------


@form("lshift", kinds="u")
def _lshift_unsigned(b: Builder, x: Expr, y: Expr) -> Expr:
    return choose(y < _bits(x), x << y, 0)


@form("lshift", kinds="i")
def _lshift(b: Builder, x: Expr, y: Expr) -> Expr:
    kind = _unsigned(x)
    return (x.cast(kind) << y.cast(kind)).cast(concrete(x.dtype))


@form("rshift", kinds="u")
def _rshift_unsigned(b: Builder, x: Expr, y: Expr) -> Expr:
    return choose(y < _bits(x), x >> y, 0)


@form("rshift", kinds="i")
def _rshift(b: Builder, x: Expr, y: Expr) -> Expr:
    fits = y.cast(_unsigned(x)) < _bits(x)
    return choose(fits, x >> y, choose(x < 0, -1, 0))


@form("popcount", kinds="u")
def _popcount(b: Builder, x: Expr) -> Expr:
    """Sums of neighbouring bits, of pairs, of fours; then the sum of the bytes."""
    dtype = concrete(x.dtype)

    def every(byte: int) -> Literal:
        return Literal(byte * (np.iinfo(dtype).max // 255), dtype)

    pairs = b.let("pairs", x - ((x >> 1) & every(0x55)))
    fours = b.let("fours", (pairs & every(0x33)) + ((pairs >> 2) & every(0x33)))
    eights = b.let("eights", (fours + (fours >> 4)) & every(0x0F))
    return ((eights * every(1)) >> (_bits(x) - 8)).cast(np.dtype(np.uint8))


@form("popcount", kinds="i")
def _popcount_signed(b: Builder, x: Expr) -> Expr:
    return apply("popcount", _size(b, x))


@form("ctz", kinds="u")
def _ctz(b: Builder, x: Expr) -> Expr:
    """The ones below the lowest one; all bits for 0."""
    return apply("popcount", (x & (0 - x)) - 1)


@form("ctz", kinds="i")
def _ctz_signed(b: Builder, x: Expr) -> Expr:
    return apply("ctz", x.cast(_unsigned(x)))


# -- signs, and what does nothing -----------------------------------------------------------


@form("abs", kinds="i")
def _abs(b: Builder, x: Expr) -> Expr:
    return choose(x < 0, 0 - x, x)


@form("sign", kinds="iu")
def _sign(b: Builder, x: Expr) -> Expr:
    positive = choose(x > 0, 1, 0)
    if concrete(x.dtype).kind == "u":
        return positive.cast(concrete(x.dtype))
    return choose(x < 0, -1, positive).cast(concrete(x.dtype))


@form("abs", kinds="bu")
@form("floor", "ceil", "trunc", "round", "real", "conj", kinds="biu")
@form("real", "conj", kinds="f")
def _same(b: Builder, x: Expr) -> Expr:
    return x


@form("round", kinds="fc")
def _round(b: Builder, x: Expr) -> Expr:
    return apply("rint", x)


@form("imag", kinds="biuf")
def _none(b: Builder, x: Expr) -> Expr:
    return cast(lift(0), concrete(x.dtype))


@form("isnan", "isinf", kinds="biu")
def _never(b: Builder, x: Expr) -> Expr:
    return lift(False)


@form("isfinite", kinds="biu")
def _always(b: Builder, x: Expr) -> Expr:
    return lift(True)


# -- the better of two, and bools -----------------------------------------------------------


@form("min", kinds="iufc")
@form("minimum", kinds="iu")
def _min(b: Builder, x: Expr, y: Expr) -> Expr:
    """The first, unless the second is strictly less."""
    return choose(y < x, y, x)


@form("max", kinds="iufc")
@form("maximum", kinds="iu")
def _max(b: Builder, x: Expr, y: Expr) -> Expr:
    return choose(y > x, y, x)


@form("add", "max", "maximum", "bitor", kinds="b")
def _either(b: Builder, x: Expr, y: Expr) -> Expr:
    return x.or_(y)


@form("mul", "min", "minimum", "bitand", kinds="b")
def _both(b: Builder, x: Expr, y: Expr) -> Expr:
    return x.and_(y)


@form("bitxor", kinds="b")
def _differ(b: Builder, x: Expr, y: Expr) -> Expr:
    return x.ne(y)


@form("invert", kinds="b")
def _not(b: Builder, x: Expr) -> Expr:
    return x.not_()


@form("lt", kinds="b")
def _less(b: Builder, x: Expr, y: Expr) -> Expr:
    return x.not_().and_(y)


@form("le", kinds="b")
def _at_most(b: Builder, x: Expr, y: Expr) -> Expr:
    return x.not_().or_(y)


@form("gt", kinds="bc")
def _greater(b: Builder, x: Expr, y: Expr) -> Expr:
    return y < x


@form("ge", kinds="bc")
def _at_least(b: Builder, x: Expr, y: Expr) -> Expr:
    return y <= x
