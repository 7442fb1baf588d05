"""What each elementwise function of the namespace computes: its parameters and a sentence."""

from __future__ import annotations

from inspect import Parameter, Signature

_X, _XY = "x, /", "x1, x2, /"

DESCRIPTIONS: dict[str, tuple[str, str]] = {
    "acos": (_X, "The inverse cosine, in radians from 0 to pi."),
    "acosh": (_X, "The inverse hyperbolic cosine."),
    "add": (_XY, "``x1 + x2``; of bools, whether one of them holds."),
    "asin": (_X, "The inverse sine, in radians from -pi/2 to pi/2."),
    "asinh": (_X, "The inverse hyperbolic sine."),
    "atan": (_X, "The inverse tangent, in radians from -pi/2 to pi/2."),
    "atan2": (_XY, "The angle of the point with ordinate ``x1`` and abscissa ``x2``, in radians."),
    "atanh": (_X, "The inverse hyperbolic tangent."),
    "bitwise_and": (_XY, "``x1 & x2`` of integers or bools."),
    "bitwise_count": (_X, "The number of ones in the binary form of the absolute value."),
    "bitwise_invert": (_X, "``~x`` of integers or bools."),
    "bitwise_left_shift": (_XY, "``x1 << x2`` of integers."),
    "bitwise_or": (_XY, "``x1 | x2`` of integers or bools."),
    "bitwise_right_shift": (_XY, "``x1 >> x2`` of integers; the sign is kept."),
    "bitwise_xor": (_XY, "``x1 ^ x2`` of integers or bools."),
    "cbrt": (_X, "The real cube root."),
    "copysign": (_XY, "The magnitude of ``x1`` with the sign of ``x2``."),
    "cos": (_X, "The cosine of an angle in radians."),
    "cosh": (_X, "The hyperbolic cosine."),
    "divide": (_XY, "``x1 / x2``, a float for integers, too."),
    "equal": (_XY, "``x1 == x2``, a bool."),
    "exp": (_X, "e to the power of ``x``."),
    "exp2": (_X, "2 to the power of ``x``."),
    "expit": (_X, "The logistic function, ``1 / (1 + exp(-x))``."),
    "floor_divide": (_XY, "``x1 // x2``, rounded towards minus infinity."),
    "fmod": (_XY, "The remainder of ``x1 / x2`` with the sign of ``x1``."),
    "greater": (_XY, "``x1 > x2``, a bool."),
    "greater_equal": (_XY, "``x1 >= x2``, a bool."),
    "hypot": (_XY, "The square root of ``x1 * x1 + x2 * x2``, without overflow."),
    "less": (_XY, "``x1 < x2``, a bool."),
    "less_equal": (_XY, "``x1 <= x2``, a bool."),
    "log": (_X, "The natural logarithm."),
    "log10": (_X, "The logarithm to base 10."),
    "log1p": (_X, "``log(1 + x)``, exact near 0."),
    "log2": (_X, "The logarithm to base 2."),
    "logaddexp": (_XY, "``log(exp(x1) + exp(x2))``, without overflow."),
    "logical_and": (_XY, "Whether both are true."),
    "logical_not": (_X, "Whether ``x`` is false."),
    "logical_or": (_XY, "Whether one of them is true."),
    "logical_xor": (_XY, "Whether exactly one of them is true."),
    "maximum": (_XY, "The greater of the two; NaN if one of them is NaN."),
    "minimum": (_XY, "The lesser of the two; NaN if one of them is NaN."),
    "multiply": (_XY, "``x1 * x2``; of bools, whether both hold."),
    "nextafter": (_XY, "The next float after ``x1`` in the direction of ``x2``."),
    "not_equal": (_XY, "``x1 != x2``, a bool."),
    "pow": (_XY, "``x1 ** x2``."),
    "remainder": (_XY, "``x1 % x2``, with the sign of ``x2``."),
    "signbit": (_X, "Whether the sign bit of a float is set, that of -0.0, too."),
    "sin": (_X, "The sine of an angle in radians."),
    "sinh": (_X, "The hyperbolic sine."),
    "sqrt": (_X, "The square root; NaN of a negative float."),
    "square": (_X, "``x * x``."),
    "subtract": (_XY, "``x1 - x2``."),
    "tan": (_X, "The tangent of an angle in radians."),
    "tanh": (_X, "The hyperbolic tangent."),
}


def signature(name: str) -> Signature:
    """The parameters of an elementwise function, which has no names for them itself."""
    kind = Parameter.POSITIONAL_ONLY
    names = DESCRIPTIONS[name][0].replace("/", "").split(",")
    return Signature([Parameter(n.strip(), kind) for n in names if n.strip()])


def docstring(name: str) -> str:
    """The docstring of an elementwise function. Raises ``KeyError`` for a name without a row."""
    parameters, sentence = DESCRIPTIONS[name]
    return (
        f"{name}({parameters})\n\n{sentence}\n\n"
        "Arrays and numbers are broadcast. The fill value of the result is the function's value\n"
        "on the fill values. Raises ``DimensionMismatch`` for shapes that do not broadcast, and\n"
        "``TypeError`` for dtypes on which it is not defined.\n"
    )
