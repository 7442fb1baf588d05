"""Complex numbers: arithmetic and comparisons, in terms of those of their parts."""

from __future__ import annotations

import math
from collections.abc import Callable

from finch_core.ir.builder import Builder
from finch_core.ir.expansions.forms import apply, choose, form
from finch_core.ir.expressions import Expr

Parts = tuple[Expr, Expr]


def parts(b: Builder, z: Expr) -> Parts:
    """The real and the imaginary part, in variables."""
    return b.let("re", apply("real", z)), b.let("im", apply("imag", z))


def pair(x: Expr, y: Expr) -> Expr:
    """The complex number of two parts."""
    return apply("complex", x, y)


def _apart(name: str) -> None:
    """An operation on real and imaginary parts, each for itself."""

    @form(name, kinds="c")
    def each(b: Builder, *args: Expr) -> Expr:
        return pair(*(apply(name, *(apply(part, z) for z in args)) for part in ("real", "imag")))


for _name in ("add", "sub", "neg", "rint"):
    _apart(_name)


@form("conj", kinds="c")
def _conj(b: Builder, z: Expr) -> Expr:
    return pair(apply("real", z), apply("neg", apply("imag", z)))


@form("mul", kinds="c")
def _mul(b: Builder, u: Expr, v: Expr) -> Expr:
    """The textbook product, without C's recovery of infinities."""
    (a, ai), (d, di) = parts(b, u), parts(b, v)
    return pair(a * d - ai * di, a * di + ai * d)


@form("truediv", kinds="c")
def _truediv(b: Builder, u: Expr, v: Expr) -> Expr:
    """Smith's method: scaled by the larger part of the divisor."""
    (a, ai), (d, di) = parts(b, u), parts(b, v)
    size, other = b.let("size", apply("abs", d)), apply("abs", di)
    with b.if_(size.eq(0).and_(other.eq(0))):
        b.ret(pair(_over(a, size), _over(ai, size)))
    with b.if_(size >= other):
        b.ret(_scaled(b, (a, ai), d, di))
    # where the imaginary part is larger, both are turned by a quarter first
    return _scaled(b, (ai, apply("neg", a)), di, apply("neg", d))


def _scaled(b: Builder, u: Parts, large: Expr, small: Expr) -> Expr:
    """``u / (large + small i)``."""
    ratio = b.let("ratio", _over(small, large))
    scale = b.let("scale", _over(1, large + small * ratio))
    return pair((u[0] + u[1] * ratio) * scale, (u[1] - u[0] * ratio) * scale)


def _over(x: Expr | int, y: Expr) -> Expr:
    return apply("truediv", x, y)


@form("abs", kinds="c")
def _abs(b: Builder, z: Expr) -> Expr:
    return apply("hypot", *parts(b, z))


@form("sign", kinds="c")
def _sign(b: Builder, z: Expr) -> Expr:
    """``z / |z|``; infinities have the direction of their axis, and none if both parts have one."""
    x, y = parts(b, z)
    size = b.let("size", apply("hypot", x, y))
    with b.if_(size.eq(0)):
        b.ret(pair(0 * size, 0 * size))
    with b.if_(size < math.inf):
        b.ret(pair(_over(x, size), _over(y, size)))
    both = apply("isinf", x).and_(apply("isinf", y))
    with b.if_(size.ne(size).or_(both)):
        b.ret(pair(size - size, size - size))  # NaN
    return pair(_direction(x), _direction(y))


def _direction(x: Expr) -> Expr:
    return choose(apply("isinf", x), apply("sign", x), 0)


# -- tests and comparisons ------------------------------------------------------------------


def _test(name: str, joined: str) -> None:
    @form(name, kinds="c")
    def of_parts(b: Builder, z: Expr) -> Expr:
        return apply(joined, *(apply(name, apply(part, z)) for part in ("real", "imag")))


for _name, _joined in (("isnan", "or"), ("isinf", "or"), ("isfinite", "and")):
    _test(_name, _joined)


def _comparison(name: str, join: Callable[[Expr, Expr, Expr], Expr]) -> None:
    """``join`` gets whether real and imaginary parts are so, and whether the real ones are equal,
    as NumPy's scalars are compared: by the real part, then by the imaginary one."""

    @form(name, kinds="c")
    def compare(b: Builder, u: Expr, v: Expr) -> Expr:
        (a, ai), (d, di) = parts(b, u), parts(b, v)
        return join(apply(name, a, d), apply(name, ai, di), a.eq(d))


_comparison("eq", lambda first, second, same: first.and_(second))
_comparison("ne", lambda first, second, same: first.or_(second))
_comparison("lt", lambda first, second, same: choose(same, second, first))
_comparison("le", lambda first, second, same: choose(same, second, first))


def _with_nan(name: str, relation: str, strict: str) -> None:
    """The first operand where it is as good or has a NaN, unless the second has one."""

    @form(name, kinds="c")
    def better(b: Builder, u: Expr, v: Expr) -> Expr:
        (a, ai), (d, di) = parts(b, u), parts(b, v)
        whole = ai.eq(ai).and_(di.eq(di))
        as_good = apply(strict, a, d).and_(whole).or_(a.eq(d).and_(apply(relation, ai, di)))
        return choose(as_good.or_(a.ne(a)).or_(ai.ne(ai)), u, v)


_with_nan("minimum", "le", "lt")
_with_nan("maximum", "ge", "gt")
