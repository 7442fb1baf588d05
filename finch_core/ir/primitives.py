"""The primitive operators, which every backend implements, with their meaning and algebra.

The meaning is NumPy's on scalars of the argument dtypes: integers wrap around; ``//`` and ``%``
round down and give 0 for an integer divisor of 0; shifts by the width or more give 0 (or -1 for
negative values shifted right); floats follow IEEE 754. An integer to a negative power, which
NumPy refuses, is truncated to an integer: 0 except for 1 and -1.
"""

from __future__ import annotations

import builtins
import math
import operator as py
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from finch_core.ir.dtypes import (
    Type,
    concrete,
    is_tuple,
    is_weak,
    promote,
    tuple_dtype,
    tuple_fields,
)
from finch_core.ir.operators import (
    Operator,
    by_ufunc,
    choosing,
    compared,
    compared_in_order,
    constant,
    largest,
    ones,
    operator,
    operators,
    ordered,
    predicate,
    register,
    smallest,
)

if TYPE_CHECKING:
    from finch_core.ir.arithmetic import Expr


def _ufunc(
    name: str,
    ufunc: np.ufunc,
    *python: Any,
    otherwise: Any = None,
    typing: Any = None,
    operator: Any = None,
    **algebra: Any,
) -> Operator:
    """Register the operator of a ufunc.

    ``otherwise`` gives the value for operands that the ufunc refuses; ``typing`` is the typing
    rule, if it is not the ufunc's; ``operator`` is Python's of numbers, where the ufunc takes
    another way for some: ``np.power(x, 0.5)`` is a square root, NaN for ``-inf``.
    """
    function = operator or ufunc

    def evaluate(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            try:
                return function(*args)
            except ValueError:
                if otherwise is None:
                    raise
                return otherwise(*args)

    rule = typing or by_ufunc(ufunc)
    return register(Operator(name, evaluate, rule, python=(ufunc, *python), **algebra))


def _of_python(function: Callable[..., float], *args: Any) -> Any:
    """The value of a function of Python's floats on NumPy's."""
    return type(args[0])(function(*args))


zero, one = constant(0), constant(1)


def _neighbours(types: tuple[Type, ...]) -> tuple[tuple[Type, ...], Type]:
    """The typing rule of ``nextafter``: that of the ufunc, except for what has half precision,
    whose neighbours are not those of the precision that is computed in."""
    wanted, result = by_ufunc(np.nextafter)(types)
    if concrete(result).itemsize < 4:
        raise TypeError(f"neighbours of {concrete(result)} are not computed")
    return wanted, result


def _negative_power(base: Any, exponent: Any) -> Any:
    odd = bool(exponent % 2)
    return base if base == 1 or (base == -1 and odd) else base.dtype.type(base == -1)


def _refuse_power(base: Expr, exponent: Expr) -> str:
    from finch_core.ir.arithmetic import Literal

    integers = all(concrete(arg.dtype).kind in "iu" for arg in (base, exponent))
    if integers and isinstance(exponent, Literal) and exponent.value < 0:
        return "an integer to a negative power is not an integer"
    return ""


# -- arithmetic -----------------------------------------------------------------------------
power = _ufunc(
    "pow", np.power, py.pow, builtins.pow, math.pow, symbol="**", operator=py.pow,
    otherwise=_negative_power, refuses=_refuse_power, library="pow", approximate="fc",
    costly=True, left_annihilator=one, exact_left="iuf",
)  # fmt: skip
mul = _ufunc(
    "mul", np.multiply, py.mul, symbol="*", commutative=True, associative=True, identity=one,
    annihilator=zero, exact_identity="biuf", repeated=power, distributes=("add", "sub"),
    modular=True, approximate="c",
)  # fmt: skip
add = _ufunc(
    "add", np.add, py.add, symbol="+", commutative=True, associative=True, identity=zero,
    repeated=mul, structural_annihilator=lambda value: bool(np.isinf(value)), modular=True,
)  # fmt: skip
sub = _ufunc("sub", np.subtract, py.sub, symbol="-", undoes="add", repeated=mul, modular=True)
truediv = _ufunc(
    "truediv", np.true_divide, py.truediv, symbol="/", approximate="c", costly=True,
    left_annihilator=zero,
)  # fmt: skip
floordiv = _ufunc(
    "floordiv", np.floor_divide, py.floordiv, symbol="//", costly=True, left_annihilator=zero,
    exact_left="biu",
)  # fmt: skip
mod = _ufunc(
    "mod", np.remainder, py.mod, np.mod, symbol="%", costly=True, left_annihilator=zero,
    exact_left="biu",
)  # fmt: skip
fmod = _ufunc(
    "fmod", np.fmod, math.fmod, library="fmod", costly=True, left_annihilator=zero,
    exact_left="biu",
)  # fmt: skip
neg = _ufunc("neg", np.negative, py.neg)
absolute = _ufunc(
    "abs", np.absolute, py.abs, builtins.abs, math.fabs, np.fabs, library="fabs", approximate="c"
)
sign = _ufunc("sign", np.sign, approximate="c")
conjugate = _ufunc("conj", np.conjugate)


# ``min`` and ``max`` are Python's (the first argument unless the second is strictly better);
# ``minimum`` and ``maximum`` are NumPy's, which carry a NaN through.
def _builtin_min(a: Any, b: Any) -> Any:
    return b if b < a else a


def _builtin_max(a: Any, b: Any) -> Any:
    return b if b > a else a


def _is(bound: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The condition that a value equals this bound of its dtype, if the dtype has one."""

    def condition(value: Any) -> Any:
        end = bound(concrete(value.dtype))
        return None if end is None else value.eq(end)

    return condition


minimum_ = register(
    Operator(
        "min", _builtin_min, ordered, commutative=True, associative=True, idempotent=True,
        identity=largest, annihilator=smallest, exact_identity="biuf", python=(builtins.min,),
        fixed_point=_is(smallest), dual="max", selects=True, exact_first="biu",
    )
)  # fmt: skip
maximum_ = register(
    Operator(
        "max", _builtin_max, ordered, commutative=True, associative=True, idempotent=True,
        identity=smallest, annihilator=largest, exact_identity="biuf", python=(builtins.max,),
        fixed_point=_is(largest), dual="min", selects=True, exact_first="biu",
    )
)  # fmt: skip
minimum = _ufunc(
    "minimum", np.minimum, commutative=True, associative=True, idempotent=True, identity=largest,
    annihilator=smallest, exact_identity="biuf", dual="maximum", selects=True,
)  # fmt: skip
maximum = _ufunc(
    "maximum", np.maximum, commutative=True, associative=True, idempotent=True, identity=smallest,
    annihilator=largest, exact_identity="biuf", dual="minimum", selects=True,
)  # fmt: skip

# -- bits -----------------------------------------------------------------------------------
_LOGIC: dict[str, Any] = {"commutative": True, "associative": True, "idempotent": True}
bitand = _ufunc(
    "bitand", np.bitwise_and, py.and_, symbol="&", identity=ones, annihilator=zero, dual="bitor",
    distributes=("bitxor",), modular=True, **_LOGIC,
)  # fmt: skip
bitor = _ufunc(
    "bitor", np.bitwise_or, py.or_, symbol="|", identity=zero, annihilator=ones, dual="bitand",
    modular=True, **_LOGIC,
)  # fmt: skip


def _repeated_xor(x: Any, n: Any) -> Any:
    """The result of ``x ^ x ^ ...`` with ``n`` operands: ``x`` if ``n`` is odd, else 0."""
    from finch_core.ir.arithmetic import call, zero_of

    return call(ifelse, call(bitand, n, 1).ne(0), x, zero_of(x.dtype))


repeated_xor = register(
    Operator(
        "repeated_xor", lambda x, n: x if n & 1 else x ^ x, lambda types: (types, types[0]),
        definition=_repeated_xor,
    )
)  # fmt: skip
bitxor = _ufunc(
    "bitxor", np.bitwise_xor, py.xor, symbol="^", commutative=True, associative=True,
    identity=zero, undoes="bitxor", repeated=repeated_xor, modular=True,
)  # fmt: skip
invert = _ufunc("invert", np.invert, py.invert)
lshift = _ufunc(
    "lshift", np.left_shift, py.lshift, symbol="<<", left_annihilator=zero, exact_left="biu"
)
rshift = _ufunc(
    "rshift", np.right_shift, py.rshift, symbol=">>", left_annihilator=zero, exact_left="biu"
)
popcount = _ufunc("popcount", np.bitwise_count)


def _ctz(x: Any) -> Any:
    value, bits = int(x), x.dtype.itemsize * 8
    return np.uint8((value & -value).bit_length() - 1 if value else bits)


def _to_uint8(types: tuple[Type, ...]) -> tuple[tuple[Type, ...], Type]:
    if concrete(types[0]).kind not in "iu":
        raise TypeError("ctz counts the trailing zeros of integers")
    return types, np.dtype(np.uint8)


ctz = register(Operator("ctz", _ctz, _to_uint8))

# -- comparison and logic -------------------------------------------------------------------


def _compare(name: str, function: Callable[..., Any], ufunc: np.ufunc, symbol: str) -> Operator:
    def evaluate(a: Any, b: Any) -> Any:
        return np.bool_(function(a, b))

    return register(
        Operator(
            name, evaluate, compared if name in ("eq", "ne") else compared_in_order,
            symbol=symbol, python=(function, ufunc), commutative=name in ("eq", "ne"),
        )
    )  # fmt: skip


eq = _compare("eq", py.eq, np.equal, "==")
ne = _compare("ne", py.ne, np.not_equal, "!=")
lt = _compare("lt", py.lt, np.less, "<")
le = _compare("le", py.le, np.less_equal, "<=")
gt = _compare("gt", py.gt, np.greater, ">")
ge = _compare("ge", py.ge, np.greater_equal, ">=")
COMPARISONS = frozenset({eq, ne, lt, le, gt, ge})

# ``and``, ``or`` and ``ifelse`` evaluate their later arguments only where they are needed.
and_ = register(
    Operator(
        "and", lambda a, b: a and b, predicate, symbol="and", identity=constant(True),
        annihilator=constant(False), python=(np.logical_and,), dual="or", **_LOGIC,
    )
)  # fmt: skip
or_ = register(
    Operator(
        "or", lambda a, b: a or b, predicate, symbol="or", identity=constant(False),
        annihilator=constant(True), python=(np.logical_or,), dual="and", **_LOGIC,
    )
)  # fmt: skip


def _of_choice(types: tuple[Type, ...]) -> tuple[tuple[Type, ...], Type]:
    """The typing rule of ``a and b`` as a value: a bool of bools, else one of both."""
    if all(concrete(t).kind == "b" for t in types):
        return predicate(types)
    common = promote(types)
    return (common, common), common


def chosen(op: Operator, first: Expr, second: Expr) -> Expr:
    """The value of ``first and second`` or ``first or second``, as Python gives it: the condition
    if both are bools, else one of the two."""
    from finch_core.ir.arithmetic import call

    logic = and_ if op.symbol == "and" else or_
    if all(concrete(part.dtype).kind == "b" for part in (first, second)):
        return call(logic, first, second)
    return call(ifelse, first, *((second, first) if logic is and_ else (first, second)))


# What programs write, where the value is used; see ``chosen``.
and_value = register(
    Operator(
        "and_value", lambda a, b: a and b, _of_choice, symbol="and",
        definition=lambda a, b: chosen(operator("and_value"), a, b),
    )
)  # fmt: skip
or_value = register(
    Operator(
        "or_value", lambda a, b: a or b, _of_choice, symbol="or",
        definition=lambda a, b: chosen(operator("or_value"), a, b),
    )
)  # fmt: skip
not_ = register(
    Operator("not", lambda a: np.bool_(not a), predicate, python=(py.not_, np.logical_not))
)
ifelse = register(Operator("ifelse", lambda c, a, b: a if c else b, choosing, python=(np.where,)))

# -- functions of floats --------------------------------------------------------------------
_FUNCTIONS = {
    "sqrt": "sqrt", "cbrt": "cbrt", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log",
    "log2": "log2", "log10": "log10", "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan",
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "sinh": "sinh", "cosh": "cosh",
    "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "floor": "floor",
    "ceil": "ceil", "trunc": "trunc", "rint": "rint",
}  # fmt: skip
"""Functions of one float, by their names in the C library."""

EXACT_OF_FLOATS = ("sqrt", "floor", "ceil", "trunc", "rint")
"""Those of which all C libraries give the same bits for a float."""
for _name, _library in _FUNCTIONS.items():
    _math = getattr(math, _library, None)
    # math.floor and friends give Python ints: the frontend casts them (see ``rounding``)
    _python = (_math,) if _math and _name not in ("floor", "ceil", "trunc") else ()
    _rounds = "fc" if _name not in EXACT_OF_FLOATS else "c" if _name == "sqrt" else ""
    _ufunc(
        _name, getattr(np, _name), *_python, library=_library, approximate=_rounds,
        costly=_rounds == "fc",
    )  # fmt: skip


def _rounded(types: tuple[Type, ...]) -> tuple[tuple[Type, ...], Type]:
    """The typing rule of ``round``: that of ``rint``, but integers stay what they are."""
    whole = concrete(types[0]).kind in "biu"
    return (types, types[0]) if whole else by_ufunc(np.rint)(types)


def _to_whole(x: Any) -> Any:
    """The whole number next to ``x``, the even one of two."""
    return x if np.asarray(x).dtype.kind in "biu" else np.rint(x)


register(Operator("round", _to_whole, _rounded, python=(np.round,)))
arctan2 = _ufunc("arctan2", np.arctan2, math.atan2, library="atan2", approximate="fc", costly=True)
hypot = _ufunc("hypot", np.hypot, math.hypot, library="hypot", approximate="fc", costly=True)
copysign = _ufunc("copysign", np.copysign, math.copysign, library="copysign", left_annihilator=zero)
nextafter = _ufunc(
    "nextafter", np.nextafter, math.nextafter, library="nextafter", typing=_neighbours
)
for _name in ("erf", "erfc"):  # which NumPy lacks: of the dtypes of another function of one real
    register(
        Operator(
            _name, partial(_of_python, getattr(math, _name)), by_ufunc(np.cbrt),
            python=(getattr(math, _name),), library=_name, approximate="f", costly=True,
        )
    )  # fmt: skip
isnan = _ufunc("isnan", np.isnan, math.isnan)
isinf = _ufunc("isinf", np.isinf, math.isinf)
isfinite = _ufunc("isfinite", np.isfinite, math.isfinite)


# -- complex numbers and tuples -------------------------------------------------------------
def _part(types: tuple[Type, ...]) -> tuple[tuple[Type, ...], Type]:
    dtype = concrete(types[0])
    return types, np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else types[0]


real = register(Operator("real", lambda z: z.real, _part, python=(np.real,)))
imag = register(Operator("imag", lambda z: z.imag, _part, python=(np.imag,)))


def _of_parts(types: tuple[Type, ...]) -> tuple[tuple[Type, ...], Type]:
    """The typing rule of ``complex(x, y)``: real numbers, in the float dtype of their sum."""
    if any(concrete(t).kind not in "biuf" for t in types):
        raise TypeError("the parts of a complex number are real")
    divided = concrete(by_ufunc(np.true_divide)(types)[0][0])
    part: np.dtype[Any] = np.dtype(np.float32) if divided.itemsize < 4 else divided
    if all(map(is_weak, types)):
        return (part, part), complex
    return (part, part), np.dtype(f"c{2 * part.itemsize}")


def _make_complex(x: Any, y: Any) -> Any:
    made = np.empty(1, f"c{2 * x.dtype.itemsize}")
    made.real, made.imag = x, y
    return made[0]


make_complex = register(Operator("complex", _make_complex, _of_parts))


def _bits(types: tuple[Type, ...]) -> tuple[tuple[Type, ...], Type]:
    dtype = concrete(types[0])
    if dtype.kind != "f" or dtype.isbuiltin != 1:
        raise TypeError("to_bits takes a float that backends have")
    return (dtype,), np.dtype(f"u{dtype.itemsize}")


def _float_of_bits(types: tuple[Type, ...]) -> tuple[tuple[Type, ...], Type]:
    dtype = concrete(types[0])
    if dtype.kind != "u" or dtype.itemsize == 1:
        raise TypeError("from_bits takes an unsigned integer as wide as a float")
    return (dtype,), np.dtype(f"f{dtype.itemsize}")


def _view(kind: str) -> Any:
    return lambda value: value.view(f"{kind}{value.dtype.itemsize}")


to_bits = register(Operator("tobits", _view("u"), _bits))
from_bits = register(Operator("frombits", _view("f"), _float_of_bits))


def _tupled(types: tuple[Type, ...]) -> tuple[tuple[Type, ...], Type]:
    fields = tuple(map(concrete, types))
    return fields, tuple_dtype(fields)


def _make_tuple(*values: Any) -> Any:
    return np.array(tuple(values), dtype=tuple_dtype(tuple(v.dtype for v in values)))[()]


make_tuple = register(Operator("tuple", _make_tuple, _tupled))


def _field_type(type_: Type, index: int) -> Type:
    fields = tuple_fields(type_) if is_tuple(concrete(type_)) else ()
    if index >= len(fields):
        what = f"a tuple of {len(fields)}" if fields else str(concrete(type_))
        raise TypeError(f"{what} has no element {index}")
    return fields[index]


def field(index: int) -> Operator:
    """The operator that takes field ``index`` of a tuple."""
    name = f"field{index}"
    try:
        return operator(name)
    except KeyError:
        return register(
            Operator(
                name,
                lambda value: value[index],
                lambda types: (types, _field_type(types[0], index)),
            )
        )


PRIMITIVES = tuple(op.name for op in operators() if op.definition is None)
"""The names of the operators that a backend implements, besides ``field0``, ``field1``, ...
(tuples)."""
