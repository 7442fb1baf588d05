"""The elementwise functions of the standard, by name in ``FUNCTIONS``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from finch_array.descriptions import docstring, signature
from finch_array.elementwise import Elementwise
from finch_array.operands import NUMBERS, is_lazy, operand
from finch_core.ir import primitives as prim
from finch_core.ir.expressions import Call, Cast, Expr
from finch_core.level import leaf_dtype
from finch_core.runtime.tensor import Tensor

_UFUNCS: dict[str, Any] = {
    "acos": np.arccos, "acosh": np.arccosh, "add": np.add, "asin": np.arcsin,
    "asinh": np.arcsinh, "atan": np.arctan, "atan2": np.arctan2, "atanh": np.arctanh,
    "bitwise_and": np.bitwise_and, "bitwise_invert": np.invert, "bitwise_count": np.bitwise_count,
    "bitwise_left_shift": np.left_shift, "bitwise_or": np.bitwise_or,
    "bitwise_right_shift": np.right_shift, "bitwise_xor": np.bitwise_xor, "cbrt": np.cbrt,
    "copysign": np.copysign, "cos": np.cos, "cosh": np.cosh, "divide": np.true_divide,
    "equal": np.equal, "exp": np.exp, "exp2": np.exp2,
    "floor_divide": np.floor_divide,
    "fmod": np.fmod, "greater": np.greater, "greater_equal": np.greater_equal, "hypot": np.hypot,
    "less": np.less, "less_equal": np.less_equal, "log": np.log, "log1p": np.log1p,
    "log2": np.log2, "log10": np.log10, "maximum": np.maximum, "minimum": np.minimum,
    "multiply": np.multiply, "nextafter": np.nextafter, "not_equal": np.not_equal, "pow": np.power,
    "remainder": np.remainder, "sin": np.sin, "sinh": np.sinh, "sqrt": np.sqrt,
    "subtract": np.subtract, "tan": np.tan, "tanh": np.tanh,
}  # fmt: skip

_ROUNDED: dict[str, Any] = {"ceil": np.ceil, "floor": np.floor, "trunc": np.trunc}


# -- functions that the language has no operator for --------------------------------------------


def _square(x: Any) -> Any:
    return x * x


def _reciprocal(x: Any) -> Any:
    return 1 / x


def _logaddexp(x: Any, y: Any) -> Any:
    top = np.maximum(x, y)
    low = np.minimum(x, y)
    return top if np.isinf(top) else top + np.log1p(np.exp(low - top))


def _expit(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _signbit(x: Any) -> Any:
    return np.copysign(1.0, x) < 0


def _where(condition: Any, x: Any, y: Any) -> Any:
    return x if condition else y


def _clip_below(x: Any, low: Any) -> Any:
    return x if x != x or x > low else low


def _isclose(x: Any, y: Any, rtol: Any, atol: Any) -> Any:
    return x == y or (np.isfinite(y) and np.absolute(x - y) <= atol + rtol * np.absolute(y))


def _isclose_nan(x: Any, y: Any, rtol: Any, atol: Any) -> Any:
    return _isclose(x, y, rtol, atol) or (x != x and y != y)


def _truth(*exprs: Expr) -> tuple[Expr, ...]:
    return tuple(Cast(expr, np.dtype(bool)) for expr in exprs)


def _logical_xor(x: Expr, y: Expr) -> Expr:
    return Call(prim.ne, _truth(x, y))


def _expm1(x: Any) -> Any:
    return np.expm1(x) if np.isfinite(x) else np.exp(x) - 1


_DEFINED: dict[str, Callable[..., Any]] = {
    "square": _square, "expit": _expit, "signbit": _signbit,
}  # fmt: skip


class Direct(Elementwise):
    """An elementwise function whose expression is built by a function of expressions."""

    @property
    def value(self) -> Any:
        return self._function


class Power(Elementwise):
    """``x ** y``: squares and roots are those of ``square`` and ``sqrt``, as of NumPy's operator.

    Raises ``ValueError``, as NumPy, for whole numbers to a power that is a negative whole number;
    lazy arrays of powers are not looked at."""

    def __call__(self, *args: Any, **named: Any) -> Any:
        args = self._parameters.bound(args, named)
        base, exponent = map(operand, args)
        if _is_negative(exponent) and _are_whole(base, exponent):
            one = isinstance(exponent, NUMBERS)
            found = f"the power as a float, x ** {exponent}.0" if one else "the powers as floats"
            raise ValueError(
                f"an integer to a negative power is not an integer: give {found}, or cast x to a "
                "dtype of floats"
            )
        if isinstance(exponent, NUMBERS) and exponent in (2, 0.5) and _keeps_dtype(base, exponent):
            if exponent == 2:
                return FUNCTIONS["square"](base)
            if base.dtype.kind == "f":
                return FUNCTIONS["sqrt"](base)
        if dtype_of(base).kind == dtype_of(exponent).kind == "b":
            return super().__call__(*map(_number_of_bools, args))
        return super().__call__(*args)


def _is_negative(exponent: Any) -> bool:
    """Whether a whole number, or one of those in an array, is negative."""
    if isinstance(exponent, NUMBERS):
        return isinstance(exponent, (int, np.integer)) and bool(exponent < 0)
    if exponent.dtype.kind != "i" or is_lazy(exponent) or not exponent.size:
        return False
    from finch_array.reductions import min as least

    return bool(least(exponent) < 0)


def _keeps_dtype(base: Any, exponent: Any) -> bool:
    """Whether a power of an array has its dtype, so that that of 2 is its square, as in NumPy."""
    if isinstance(base, NUMBERS) or dtype_of(base).kind not in "iufc":
        return False
    kind = type(exponent) if type(exponent) in (int, float) else dtype_of(exponent)
    return bool(np.power.resolve_dtypes((base.dtype, kind, None))[-1] == base.dtype)


def _are_whole(*operands: Any) -> bool:
    """Whether NumPy has a whole number for the power of whole numbers like these, and there are
    any."""
    kinds = [type(x) if type(x) is int else dtype_of(x) for x in operands]
    whole = all(dtype_of(x).kind in "biu" for x in operands)
    there = all(isinstance(x, NUMBERS) or x.size for x in operands)
    return whole and there and np.power.resolve_dtypes((*kinds, None))[-1].kind in "iu"


class OfNumbers(Elementwise):
    """An elementwise function of numbers, to which bools are cast."""

    def __call__(self, *args: Any, **named: Any) -> Any:
        return super().__call__(*map(_number_of_bools, args), **named)


def _number_of_bools(x: Any) -> Any:
    """Bools as int8, as NumPy takes them for functions of numbers; other arrays as they are."""
    found = operand(x)
    if found is True or found is False:
        return int(found)
    return cast(found, np.int8) if dtype_of(found).kind == "b" else x


FUNCTIONS: dict[str, Elementwise] = {name: Elementwise(name, f) for name, f in _UFUNCS.items()}
FUNCTIONS.update({name: Elementwise(name, f) for name, f in _DEFINED.items()})
FUNCTIONS["pow"] = Power("pow", np.power)
FUNCTIONS["square"] = OfNumbers("square", _square)
FUNCTIONS.update(
    logical_and=Direct("logical_and", lambda x, y: Call(prim.and_, _truth(x, y))),
    logical_or=Direct("logical_or", lambda x, y: Call(prim.or_, _truth(x, y))),
    logical_not=Direct("logical_not", lambda x: Call(prim.not_, _truth(x))),
    logical_xor=Direct("logical_xor", _logical_xor),
)

_abs, _negative = Elementwise("abs", np.absolute), Elementwise("negative", np.negative)
_sign, _rint = Elementwise("sign", np.sign), Elementwise("round", np.rint)
_conj = Elementwise("conj", np.conjugate)
_real, _imag = Elementwise("real", np.real), Elementwise("imag", np.imag)
_isnan, _isinf = Elementwise("isnan", np.isnan), Elementwise("isinf", np.isinf)
_isfinite = Elementwise("isfinite", np.isfinite)
_copy = Direct("positive", lambda x: x)
_choose = Direct("where", lambda c, x, y: Call(prim.ifelse, (Cast(c, np.dtype(bool)), x, y)))
_reciprocals = Elementwise("reciprocal", _reciprocal)
_expm1s = Elementwise("expm1", np.expm1)
_complex_expm1 = Elementwise("expm1", _expm1)
_rounded = {name: Elementwise(name, f) for name, f in _ROUNDED.items()}
_casts: dict[Any, Elementwise] = {}


def dtype_of(array: Any) -> np.dtype[Any]:
    """The dtype of an operand; that which NumPy gives a plain number."""
    return np.asarray(array).dtype if isinstance(array, NUMBERS) else np.dtype(array.dtype)


def cast(array: Any, dtype: Any) -> Any:
    """``array`` with its values, and its fill, cast to a dtype. Raises ``FormatError`` for one
    that tensors do not have."""
    wanted = np.dtype(dtype)
    if wanted not in _casts:
        leaf_dtype(0, wanted)
        _casts[wanted] = Direct(f"as_{wanted}", lambda x: Cast(x, wanted))
    return _casts[wanted](array)


def positive(x: Any, /) -> Any:
    """A copy of ``x``. Raises ``TypeError`` for bools."""
    _not_bool("positive", x)
    return _copy(x)


def copied(x: Any) -> Any:
    """A copy of ``x`` with memory of its own."""
    if x.__class__ is Tensor and x.layout.values is None:
        return x.copy()
    return _copy(x)


def negative(x: Any, /) -> Any:
    """``-x``. Raises ``TypeError`` for bools."""
    _not_bool("negative", x)
    return _negative(x)


def _not_bool(name: str, x: Any) -> None:
    if dtype_of(operand(x)).kind == "b":
        raise TypeError(f"{name} is not defined on bools")


def abs(x: Any, /) -> Any:
    """The absolute values, of the dtype of ``x``; real for complex numbers."""
    return _copy(x) if dtype_of(operand(x)).kind in "bu" else _abs(x)


def _whole_kept(function: Elementwise) -> Callable[[Any], Any]:
    """A rounding function: integers are their own results."""

    def rounded(x: Any, /) -> Any:
        return _copy(x) if dtype_of(operand(x)).kind in "biu" else function(x)

    rounded.__name__ = rounded.__qualname__ = function.__name__
    rounded.__doc__ = (
        f"``{function.__name__}`` of the array API standard; integers stay as they are."
    )
    return rounded


ceil, floor, trunc = (_whole_kept(_rounded[name]) for name in ("ceil", "floor", "trunc"))


def round(x: Any, /, decimals: int = 0) -> Any:
    """Rounded to the nearest integer, to even ones from the middle, or to ``decimals``; of the
    dtype of ``x``. Raises ``TypeError``, as NumPy, for ``decimals`` of bools."""
    dtype = dtype_of(operand(x))
    kind = dtype.kind
    if kind == "b":  # as of NumPy; the standard has no meaning for it
        if decimals:
            raise TypeError("bools have no decimals to round to: cast them first, by astype")
        return cast(x, np.float16)
    if kind in "biu" and decimals >= 0:
        return _copy(x)
    if kind == "c":
        return add(round(real(x), decimals), multiply(round(imag(x), decimals), 1j))
    if decimals == 0:
        return _rint(x)
    if decimals < 0:
        scale = 10.0**-decimals
        found = multiply(_rint(FUNCTIONS["divide"](x, scale)), scale)
        return cast(found, dtype) if kind in "iu" else found
    scale = 10.0**decimals
    return FUNCTIONS["divide"](_rint(multiply(x, scale)), scale)


add, multiply = FUNCTIONS["add"], FUNCTIONS["multiply"]


def sign(x: Any, /) -> Any:
    """The signs, of the dtype of ``x``: -1, 0 or 1; of a complex number, ``x / abs(x)``. Raises
    ``TypeError`` for bools."""
    return _sign(x)


def conj(x: Any, /) -> Any:
    """The complex conjugates; of real numbers, these."""
    return _conj(x) if dtype_of(operand(x)).kind == "c" else _copy(x)


def real(x: Any, /) -> Any:
    """The real parts, of the real dtype of complex numbers; of real numbers, these."""
    return _real(x) if dtype_of(operand(x)).kind == "c" else _copy(x)


def imag(x: Any, /) -> Any:
    """The imaginary parts, of the real dtype of complex numbers; of real numbers, zeros."""
    dtype = dtype_of(operand(x))
    return _imag(x) if dtype.kind == "c" else multiply(FUNCTIONS["not_equal"](x, x), dtype.type(0))


def expm1(x: Any, /) -> Any:
    """``exp(x) - 1``, exact near 0; of complex infinities what the standard says."""
    return (_complex_expm1 if dtype_of(operand(x)).kind == "c" else _expm1s)(x)


def reciprocal(x: Any, /) -> Any:
    """``1 / x``, a float for integers, too."""
    return _reciprocals(x)


def _float_test(function: Elementwise, whole: bool) -> Callable[[Any], Any]:
    """A test of floats; ``whole`` is its value on integers."""
    constant = Direct(function.__name__, lambda x: Call(prim.eq if whole else prim.ne, (x, x)))

    def test(x: Any, /) -> Any:
        return constant(x) if dtype_of(operand(x)).kind in "biu" else function(x)

    test.__name__ = test.__qualname__ = function.__name__
    test.__doc__ = f"``{function.__name__}`` of the array API standard."
    return test


isnan, isinf = _float_test(_isnan, False), _float_test(_isinf, False)
isfinite = _float_test(_isfinite, True)


def isnat(x: Any, /) -> Any:
    """Whether dates and spans of time are NaT. Raises ``TypeError`` for other dtypes."""
    if dtype_of(operand(x)).kind not in "mM":
        raise TypeError("isnat is defined on dates and spans of time alone")
    return _isnan(x)


def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """``x`` where the condition, bools, holds, else ``y``, broadcast and of the dtype to which both
    are promoted; with the condition alone, its ``nonzero``. Raises ``DimensionMismatch`` for shapes
    that do not broadcast, and ``TypeError`` where ``x`` or ``y`` is missing."""
    if x is None and y is None:
        from finch_array.searching import nonzero

        return nonzero(condition)
    if x is None or y is None:
        raise TypeError("where takes a condition alone, or with two values: where(c, x, y)")
    return _choose(condition, x, y)


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """``x`` with values below ``min`` and above ``max`` (None: no limit) replaced by these; of its
    dtype. An integer beyond what the dtype holds is no limit on its own side, and raises
    ``OverflowError`` on the other."""
    kept = dtype_of(operand(x))
    low, high = _bound(min, kept, -1), _bound(max, kept, 1)
    if _are_alike(low, high, kept):
        return _within(x, low, high)
    if low is not None:
        x = FUNCTIONS["maximum"](x, low)
    if high is not None:
        x = FUNCTIONS["minimum"](x, high)
    return _copy(x) if low is None and high is None else x


_within = Direct(
    "clip", lambda x, low, high: Call(prim.minimum, (Call(prim.maximum, (x, low)), high))
)


def _are_alike(low: Any, high: Any, dtype: np.dtype[Any]) -> bool:
    """Whether both bounds are numbers, and none changes what the other may be."""
    if not (isinstance(low, NUMBERS) and isinstance(high, NUMBERS)):
        return False
    return dtype.kind == "f" or (type(low) is int and type(high) is int)


def _bound(bound: Any, dtype: np.dtype[Any], side: int) -> Any:
    """A bound of ``clip``, below (-1) or above (1); None for a plain number that no integer of the
    dtype is beyond."""
    if dtype.kind not in "iu" or type(bound) not in (int, float):
        return bound
    if type(bound) is float:
        return None if np.isinf(bound) else bound
    limit = np.iinfo(dtype)
    is_beyond = bound <= limit.min if side < 0 else bound >= limit.max
    return None if is_beyond else bound


_close = {False: Elementwise("isclose", _isclose), True: Elementwise("isclose", _isclose_nan)}


def isclose(
    x: Any, y: Any, /, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    """Whether ``abs(x - y) <= atol + rtol * abs(y)``, element by element: bools. Raises
    ``DimensionMismatch`` for shapes that do not broadcast."""
    if dtype_of(operand(x)).kind in "biu":
        x = cast(x, np.float64)
    if dtype_of(operand(y)).kind in "biu":
        y = cast(y, np.float64)
    return _close[equal_nan](x, y, float(rtol), float(atol))


class _OfFloats(Elementwise):
    """An elementwise function of floats: integers are cast as by NumPy's ufunc."""

    def __init__(self, ufunc: np.ufunc, function: Any) -> None:
        super().__init__(ufunc.__name__, function)
        self._ufunc = ufunc

    def __call__(self, *args: Any, **named: Any) -> Any:
        args = self._parameters.bound(args, named)
        found = [operand(arg) for arg in args]
        if any(dtype_of(x).kind in "biu" for x in found):
            kinds = [type(x) if type(x) in (int, float) else dtype_of(x) for x in found]
            wanted = self._ufunc.resolve_dtypes((*kinds, None))[0]
            found = [float(x) if type(x) in (int, float) else cast(x, wanted) for x in found]
        return super().__call__(*found)


FUNCTIONS["logaddexp"] = _OfFloats(np.logaddexp, _logaddexp)
for _name, _function in FUNCTIONS.items():
    _function.__doc__ = docstring(_name)
    _function.__signature__ = signature(_name)


def divmod(x: Any, y: Any, /) -> tuple[Any, Any]:
    """``x // y`` and ``x % y``, broadcast. Raises ``DimensionMismatch`` for shapes that do not
    broadcast, and ``TypeError`` for complex numbers."""
    return FUNCTIONS["floor_divide"](x, y), FUNCTIONS["remainder"](x, y)
