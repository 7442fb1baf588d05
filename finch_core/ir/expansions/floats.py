"""Floats, in terms of arithmetic, comparisons and the functions of a library."""

from __future__ import annotations

import math

from finch_core.ir.builder import Builder
from finch_core.ir.expansions.forms import apply, choose, form
from finch_core.ir.expressions import Expr


@form("mod", kinds="f")
def _mod(b: Builder, x: Expr, y: Expr) -> Expr:
    """The remainder with the sign of the divisor, that of a zero, too."""
    rest = b.let("rest", apply("fmod", x, y))
    moved = choose((y < 0).ne(rest < 0), rest + y, rest)
    settled = choose(rest.eq(0), apply("copysign", rest, y), moved)
    return choose(y.eq(0), rest, settled)


@form("floordiv", kinds="f")
def _floordiv(b: Builder, x: Expr, y: Expr) -> Expr:
    """The quotient without the remainder, which is nearly whole, rounded; as NumPy has it."""
    plain, rest = b.let("plain", _ratio(x, y)), b.let("rest", apply("fmod", x, y))
    crosses = rest.ne(0).and_((y < 0).ne(rest < 0))
    quotient = b.let("quotient", _ratio(x - rest, y) - choose(crosses, 1, 0))
    whole = b.let("whole", apply("floor", quotient))
    rounded = choose(quotient - whole > 0.5, whole + 1, whole)
    settled = choose(quotient.eq(0), apply("copysign", quotient, plain), rounded)
    return choose(y.eq(0), plain, settled)


def _ratio(x: Expr, y: Expr) -> Expr:
    return apply("truediv", x, y)


def abs_(x: Expr) -> Expr:
    """``|x|``."""
    return apply("abs", x)


@form("sign", kinds="f")
def _sign(b: Builder, x: Expr) -> Expr:
    return choose(x > 0, 1, choose(x < 0, -1, choose(x.eq(0), 0, x)))


@form("isnan", kinds="f")
def _isnan(b: Builder, x: Expr) -> Expr:
    return x.ne(x)


@form("isinf", kinds="f")
def _isinf(b: Builder, x: Expr) -> Expr:
    return abs_(x).eq(math.inf)


@form("isfinite", kinds="f")
def _isfinite(b: Builder, x: Expr) -> Expr:
    return abs_(x) < math.inf


@form("minimum", kinds="f")
def _minimum(b: Builder, x: Expr, y: Expr) -> Expr:
    """A NaN comes through from either side."""
    return choose((x < y).or_(x.ne(x)), x, y)


@form("maximum", kinds="f")
def _maximum(b: Builder, x: Expr, y: Expr) -> Expr:
    return choose((x > y).or_(x.ne(x)), x, y)
