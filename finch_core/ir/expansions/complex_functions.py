"""Functions of complex numbers, in double precision, in terms of those of reals.

Inverse functions are Kahan's ("Branch cuts for complex elementary functions", 1987); results at
infinities and NaN are finite where those of the C standard (annex G) are.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from finch_core.ir.builder import Builder
from finch_core.ir.expansions.complexes import Parts, pair, parts
from finch_core.ir.expansions.forms import IN_DOUBLES, apply, choose, form
from finch_core.ir.expressions import Expr

LARGE = 1e150
"""Numbers whose squares are about to overflow."""

Function = Callable[[Builder, Expr, Expr], Parts]


def _function(name: str) -> Callable[[Function], Function]:
    """Enters a function of the parts of a number, which gives those of the result."""

    def enter(made: Function) -> Function:
        IN_DOUBLES.add(name)
        form(name, kinds="c")(lambda b, z: pair(*made(b, *parts(b, z))))
        return made

    return enter


def _of(name: str, x: Expr, y: Expr) -> Parts:
    """Another function of ``x + y i``."""
    z = apply(name, pair(x, y))
    return apply("real", z), apply("imag", z)


def _neg(x: Expr) -> Expr:
    return apply("neg", x)


def _half(x: Expr) -> Expr:
    return x * 0.5


def _ratio(x: Expr | float, y: Expr) -> Expr:
    return apply("truediv", x, y)


def _is_finite(x: Expr) -> Expr:
    return apply("isfinite", x)


def _ret(b: Builder, x: Expr, y: Expr) -> None:
    b.ret(pair(x, y))


# -- exponentials ---------------------------------------------------------------------------


@_function("exp")
def _exp(b: Builder, x: Expr, y: Expr) -> Parts:
    with b.if_(y.eq(0)):
        _ret(b, apply("exp", x), y)
    with b.if_(x.eq(-math.inf).and_(_is_finite(y).not_())):
        _ret(b, 0 * _half(apply("exp", x)), apply("exp", x))
    # in two halves, so that no power overflows whose parts do not
    root = b.let("root", apply("exp", _half(x)))
    return apply("cos", y) * root * root, apply("sin", y) * root * root


def _halves(b: Builder, x: Expr) -> tuple[Expr, Expr]:
    """Two factors of ``exp(|x|) / 2``, which overflow only where the parts of a result may."""
    root = b.let("root", apply("exp", _half(apply("abs", x))))
    return root, b.let("scaled", _half(root))


@_function("sinh")
def _sinh(b: Builder, x: Expr, y: Expr) -> Parts:
    with b.if_(y.eq(0)):
        _ret(b, apply("sinh", x), y)
    with b.if_(apply("abs", x) > 40):
        root, scaled = _halves(b, x)
        odd = apply("copysign", scaled, x)
        _ret(b, apply("cos", y) * odd * root, apply("sin", y) * scaled * root)
    return apply("sinh", x) * apply("cos", y), apply("cosh", x) * apply("sin", y)


@_function("cosh")
def _cosh(b: Builder, x: Expr, y: Expr) -> Parts:
    with b.if_(y.eq(0)):
        sign = apply("copysign", 1.0, x)
        _ret(b, apply("cosh", x), choose(x.ne(x), 0 * y, y * sign))
    with b.if_(apply("abs", x) > 40):
        root, scaled = _halves(b, x)
        odd = apply("copysign", scaled, x)
        _ret(b, apply("cos", y) * scaled * root, apply("sin", y) * odd * root)
    return apply("cosh", x) * apply("cos", y), apply("sinh", x) * apply("sin", y)


@_function("tanh")
def _tanh(b: Builder, x: Expr, y: Expr) -> Parts:
    with b.if_(y.eq(0)):
        _ret(b, apply("tanh", x), y)
    with b.if_(apply("abs", x) > 22):
        flat = apply("sin", y) * apply("cos", y) * apply("exp", -2 * apply("abs", x)) * 4
        known = _is_finite(y).or_(_is_finite(x))
        _ret(b, apply("copysign", 1.0, x), choose(known, flat, 0.0))
    t, s = b.let("t", apply("tan", y)), b.let("s", apply("sinh", x))
    beta = b.let("beta", 1 + t * t)
    below = b.let("below", 1 + beta * s * s)
    return _ratio(beta * apply("sqrt", 1 + s * s) * s, below), _ratio(t, below)


@_function("expm1")
def _expm1(b: Builder, x: Expr, y: Expr) -> Parts:
    half = b.let("half", apply("sin", _half(y)))
    first = apply("expm1", x) * apply("cos", y) - 2 * half * half
    return first, apply("exp", x) * apply("sin", y)


# -- logarithms and roots -------------------------------------------------------------------


@_function("log")
def _log(b: Builder, x: Expr, y: Expr) -> Parts:
    size, angle = b.let("size", apply("hypot", x, y)), b.let("angle", apply("arctan2", y, x))
    with b.if_((size > 0.5).and_(size < 2.0)):
        large = b.let("large", apply("abs", x).max(apply("abs", y)))
        small = b.let("small", apply("abs", x).min(apply("abs", y)))
        near = apply("log1p", (large - 1) * (large + 1) + small * small)
        _ret(b, _half(near), angle)
    with b.if_(size.eq(math.inf).and_(_is_finite(x)).and_(_is_finite(y))):
        _ret(b, apply("log", apply("hypot", _half(x), _half(y))) + math.log(2), angle)
    return apply("log", size), angle


@_function("log1p")
def _log1p(b: Builder, x: Expr, y: Expr) -> Parts:
    return apply("log", apply("hypot", x + 1, y)), apply("arctan2", y, x + 1)


@_function("sqrt")
def _sqrt(b: Builder, x: Expr, y: Expr) -> Parts:
    with b.if_(apply("isinf", y)):
        _ret(b, apply("abs", y), y)
    with b.if_(x.eq(-math.inf)):
        _ret(b, choose(y.ne(y), y, 0.0), apply("copysign", math.inf, y))
    with b.if_(x.eq(math.inf)):
        _ret(b, x, choose(y.ne(y), y, apply("copysign", 0.0, y)))
    with b.if_(x.eq(0).and_(y.eq(0))):
        _ret(b, apply("abs", x), y)
    large = b.let("large", apply("abs", x).max(apply("abs", y)))
    up = b.let("up", choose(large > LARGE, 0.25, choose(large < 1e-150, 2.0**200, 1.0)))
    down = b.let("down", choose(large > LARGE, 2.0, choose(large < 1e-150, 2.0**-100, 1.0)))
    x, y = b.let("x", x * up), b.let("y", y * up)
    root = b.let("root", apply("sqrt", _half(apply("abs", x) + apply("hypot", x, y))))
    other = b.let("other", _half(_ratio(y, root)) * down)
    root = b.let("root", root * down)
    with b.if_(x >= 0):
        _ret(b, root, other)
    return apply("abs", other), apply("copysign", root, y)


# -- inverse functions ----------------------------------------------------------------------


def _is_large(b: Builder, x: Expr, y: Expr) -> tuple[Expr, Expr]:
    """Whether a number is large, and the logarithm of twice its size."""
    size = b.let("size", apply("hypot", x, y))
    log = apply("real", apply("log", pair(x, y))) + math.log(2)
    return size > LARGE, log


def _roots(b: Builder, x: Expr, y: Expr) -> tuple[Parts, Parts]:
    """The square roots of ``1 - z`` and ``1 + z``."""
    below, above = _of("sqrt", 1 - x, _neg(y)), _of("sqrt", 1 + x, y)
    first = b.let("p", below[0]), b.let("pi", below[1])
    return first, (b.let("q", above[0]), b.let("qi", above[1]))


@_function("arcsin")
def _arcsin(b: Builder, x: Expr, y: Expr) -> Parts:
    large, log = _is_large(b, x, y)
    with b.if_(large):
        _ret(b, apply("arctan2", x, apply("abs", y)), apply("copysign", log, y))
    (p, pi), (q, qi) = _roots(b, x, y)
    return apply("arctan2", x, p * q - pi * qi), apply("arcsinh", p * qi - pi * q)


@_function("arccos")
def _arccos(b: Builder, x: Expr, y: Expr) -> Parts:
    large, log = _is_large(b, x, y)
    with b.if_(large):
        _ret(b, apply("arctan2", apply("abs", y), x), _neg(apply("copysign", log, y)))
    (p, pi), (q, qi) = _roots(b, x, y)
    return 2 * apply("arctan2", p, q), apply("arcsinh", q * pi - qi * p)


@_function("arccosh")
def _arccosh(b: Builder, x: Expr, y: Expr) -> Parts:
    large, log = _is_large(b, x, y)
    with b.if_(large):
        _ret(b, log, apply("arctan2", y, x))
    below, above = _of("sqrt", x - 1, y), _of("sqrt", x + 1, y)
    p, pi = b.let("p", below[0]), b.let("pi", below[1])
    q, qi = b.let("q", above[0]), b.let("qi", above[1])
    return apply("arcsinh", p * q + pi * qi), 2 * apply("arctan2", pi, q)


@_function("arctanh")
def _arctanh(b: Builder, x: Expr, y: Expr) -> Parts:
    size = b.let("size", apply("hypot", x, y))
    with b.if_(size > LARGE):
        quarter = choose(y.ne(y), y, apply("copysign", math.pi / 2, y))
        flat = choose(size.eq(math.inf), apply("copysign", 0.0, x), _ratio(_ratio(x, size), size))
        _ret(b, flat, quarter)
    away = b.let("away", apply("abs", x))
    squares = (1 - away) * (1 - away) + y * y
    first = apply("log1p", _ratio(4 * away, squares)) * 0.25
    angle = _half(apply("arctan2", 2 * y, (1 - away) * (1 + away) - y * y))
    return apply("copysign", first, x), angle


# -- the circular ones are the hyperbolic ones of i z ----------------------------------------


def _turned(name: str, hyperbolic: str) -> None:
    @_function(name)
    def turned(b: Builder, x: Expr, y: Expr) -> Parts:
        re, im = _of(hyperbolic, _neg(y), x)
        return im, _neg(re)


for _name, _other in (
    ("sin", "sinh"), ("tan", "tanh"), ("arctan", "arctanh"), ("arcsinh", "arcsin"),
):  # fmt: skip
    _turned(_name, _other)


@_function("cos")
def _cos(b: Builder, x: Expr, y: Expr) -> Parts:
    return _of("cosh", _neg(y), x)


# -- other bases, and powers ----------------------------------------------------------------


def _scaled(name: str, function: str, before: float, after: float) -> None:
    """``after * function(before * z)``."""

    @_function(name)
    def scaled(b: Builder, x: Expr, y: Expr) -> Parts:
        re, im = _of(function, x * before, y * before)
        return re * after, im * after


_scaled("exp2", "exp", math.log(2), 1.0)
_scaled("log2", "log", 1.0, 1 / math.log(2))
_scaled("log10", "log", 1.0, 1 / math.log(10))

IN_DOUBLES.add("pow")


@form("pow", kinds="c")
def _pow(b: Builder, u: Expr, v: Expr) -> Expr:
    """Small whole exponents multiply, as NumPy does."""
    (a, ai), (d, di) = parts(b, u), parts(b, v)
    with b.if_(d.eq(0).and_(di.eq(0))):
        b.ret(pair(1 + d, 0 * d))
    with b.if_(a.eq(0).and_(ai.eq(0))):
        value = b.let("value", choose(d > 0, 0.0, math.nan))
        b.ret(pair(value, value))
    count = b.let("count", apply("abs", d))
    with b.if_(di.eq(0).and_(count < 100).and_(apply("trunc", d).eq(d))):
        power = b.let("power", _whole_power(b, u, count))
        b.ret(choose(d < 0, apply("truediv", 1, power), power))
    log = parts(b, b.let("log", apply("log", u)))
    return apply("exp", _recovered(b, (d, di), log))


def _recovered(b: Builder, u: Parts, v: Parts) -> Expr:
    """The product as the C standard has it: of infinite numbers it is infinite, not NaN."""
    re = b.var("product", u[0] * v[0] - u[1] * v[1])
    im = b.var("product_im", u[0] * v[1] + u[1] * v[0])
    infinite = [b.let("infinite", _any("isinf", z)) for z in (u, v)]
    lost = re.ne(re).and_(im.ne(im)).and_(infinite[0].or_(infinite[1]))
    with b.if_(lost):
        (a, ai), (d, di) = (_boxed(b, z, far) for z, far in zip((u, v), infinite, strict=True))
        b.assign(re, math.inf * (a * d - ai * di))
        b.assign(im, math.inf * (a * di + ai * d))
    return pair(re, im)


def _any(test: str, z: Parts) -> Expr:
    return apply(test, z[0]).or_(apply(test, z[1]))


def _boxed(b: Builder, z: Parts, infinite: Expr) -> Parts:
    """The direction of an infinite number; another one with 0 for NaN."""

    def part(x: Expr) -> Expr:
        direction = apply("copysign", choose(apply("isinf", x), 1.0, 0.0), x)
        plain = choose(x.ne(x), apply("copysign", 0.0, x), x)
        return b.let("boxed", choose(infinite, direction, plain))

    return part(z[0]), part(z[1])


def _whole_power(b: Builder, base: Expr, exponent: Expr) -> Expr:
    """``base`` to a whole exponent from 1 on, by squaring."""
    power, rest = b.var("power", base), b.var("rest", exponent)
    with b.while_(apply("fmod", rest, 2.0).eq(0)):
        b.assign(power, power * power)
        b.assign(rest, _half(rest))
    result = b.var("result", power)
    with b.while_(rest >= 2):
        b.assign(rest, apply("floor", _half(rest)))
        b.assign(power, power * power)
        with b.if_(apply("fmod", rest, 2.0).ne(0)):
            b.assign(result, result * power)
    return result
