"""The translation of primitive operators to C on each dtype: an operator, a function, or a helper.

A ``Value`` is a C expression with a dtype. Its C type is that of the dtype or, if ``narrow``, a
narrower integer type with the same value, such as ``A_idx[q]`` of ``int32`` for an ``int64`` index.
C widens a narrow value where the other operand or the target is wide; elsewhere ``exact`` adds a
cast. A narrow bool is a byte that is true if it is not 0, as one of memory is: what tests it takes
it as it is, as do ``|`` and ``both``; arithmetic and stores take ``seen[k] != 0``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from finch_backend_c import ctree as c
from finch_backend_c.helpers import has
from finch_backend_c.spelling import ctype, literal, suffix
from finch_core.errors import BackendError
from finch_core.ir.dtypes import is_tuple, tuple_fields
from finch_core.operators import operator
from finch_core.records import frozen

DType = np.dtype[Any]
FLOAT32: DType = np.dtype(np.float32)


@frozen
class Value:
    """A C expression, its dtype, and whether its C type may be a narrower integer type, or that of
    a byte for a bool."""

    node: c.Expr
    dtype: DType
    narrow: bool = False

    def exact(self) -> Value:
        """The value in its dtype's own C type."""
        if not self.narrow:
            return self
        if self.dtype.kind == "b":
            return Value(c.Binary("!=", self.node, c.Number("0")), self.dtype)
        return Value(c.Cast(ctype(self.dtype), self.node), self.dtype)


def constant(value: Any, dtype: DType) -> Value:
    """A literal; in C a plain integer is an ``int`` or a ``long``."""
    return Value(literal(value, dtype), dtype, dtype.kind in "iu")


def unify(a: Value, b: Value) -> tuple[Value, Value]:
    """Two operands of which at least one has its dtype's own type, so that C widens the other."""
    if not (a.narrow and b.narrow):
        return a, b
    return (a, b.exact()) if isinstance(a.node, c.Number) else (a.exact(), b)


# -- casts ------------------------------------------------------------------------------------


def cast(value: Value, to: DType) -> Value:
    """``value`` as ``to``: by C where C defines it, implicitly where that is widening."""
    source = value.dtype
    if source == to:
        return value
    if is_tuple(to):
        return _cast_tuple(value, to)
    value = _counted(value)
    if to.kind in "iu" and source.kind in "iu":
        return _cast_integer(value, to)
    if to.kind in "iu" and source.kind in "fc":
        part = real(value)
        part = cast(part, FLOAT32) if part.dtype.itemsize == 2 else part
        return Value(c.Call(f"{suffix(to)}_{suffix(part.dtype)}", (part.node,)), to)
    if source.kind == "c" and to.kind == "f":
        return cast(real(value), to)
    return Value(c.Cast(ctype(to), value.node), to)


def _cast_integer(value: Value, to: DType) -> Value:
    if np.can_cast(value.dtype, to):
        return Value(value.node, to, narrow=True)
    return Value(c.Cast(ctype(to), value.node), to)


def _cast_tuple(value: Value, to: DType) -> Value:
    fields = tuple_fields(value.dtype)
    parts = (field(value, k) for k in range(len(fields)))
    casts = (_counted(cast(part, t)).node for part, t in zip(parts, tuple_fields(to), strict=True))
    return Value(c.Compound(ctype(to), tuple(casts)), to)


def field(value: Value, index: int) -> Value:
    """A field of a tuple."""
    node = value.node
    if isinstance(node, c.Compound):
        dtype = tuple_fields(value.dtype)[index]
        return Value(node.items[index], dtype, narrow=dtype.kind in "iu").exact()
    return in_memory(c.Member(node, f"f{index}"), tuple_fields(value.dtype)[index])


def in_memory(node: c.Expr, dtype: DType) -> Value:
    """An element of memory, a field of a tuple, or a variable of the C type ``memory(dtype)``."""
    return Value(node, dtype, narrow=dtype.kind == "b")


def _counted(value: Value) -> Value:
    """A value with which C may compute: a bool as 0 or 1."""
    return value.exact() if value.dtype.kind == "b" else value


def real(value: Value) -> Value:
    """The real part."""
    return _part("__real__", value)


def _part(op: str, value: Value) -> Value:
    if value.dtype.kind != "c":
        return value if op == "__real__" else constant(0, value.dtype)
    return Value(c.Unary(op, value.node), np.dtype(f"f{value.dtype.itemsize // 2}"))


# -- operators --------------------------------------------------------------------------------

Args = tuple[Value, ...]
Builder = Callable[[str, Args, DType], Value]


def _rounded(node: c.Expr, dtype: DType) -> Value:
    """Truncate an integer narrower than ``int`` to its width after arithmetic."""
    small = dtype.kind in "iu" and dtype.itemsize < 4
    return Value(c.Cast(ctype(dtype), node) if small else node, dtype)


def _arithmetic(symbol: str, on_bool: str = "") -> Builder:
    def build(name: str, args: Args, result: DType) -> Value:
        if result.kind == "c" and symbol in "*/":
            return _function(name, args, result)
        if result.kind == "b":
            return _on_bools(on_bool, args)
        left, right = unify(*args)
        return _rounded(c.Binary(symbol, left.node, right.node), result)

    return build


def _on_bools(symbol: str, args: Args) -> Value:
    """Bools combined: bytes without a comparison of each, since C compilers compute with vectors of
    bytes."""
    nodes, dtype = tuple(arg.node for arg in args), args[0].dtype
    if not any(arg.narrow for arg in args) or symbol == "^":
        return Value(c.Binary(symbol, *(arg.exact().node for arg in args)), dtype)
    if symbol == "|":
        return Value(c.Binary("|", *nodes), dtype, narrow=True)
    return Value(c.Call("both", nodes), dtype, narrow=all(arg.narrow for arg in args))


def _shift(symbol: str) -> Builder:
    def build(name: str, args: Args, result: DType) -> Value:
        value, by = args
        if isinstance(by.node, c.Number) and 0 <= int(by.node.text) < 8 * result.itemsize:
            return _rounded(c.Binary(symbol, value.exact().node, by.node), result)
        return _function(name, args, result)

    return build


def _division(symbol: str) -> Builder:
    """Division by a constant: it needs no helper where the dividend is unsigned, or the divisor a
    power of two, since quotients and remainders round down, as shifts and masks do."""

    def build(name: str, args: Args, result: DType) -> Value:
        divisor = args[1].node
        power = _exponent(divisor) if result.kind in "iu" else None
        if power is not None:
            by = power if symbol == "/" else (1 << power) - 1
            node = c.Binary(_OF_POWERS[symbol], args[0].exact().node, c.Number(str(by)))
            return _rounded(node, result)
        if result.kind == "u" and isinstance(divisor, c.Number) and divisor.text != "0":
            return _rounded(c.Binary(symbol, args[0].exact().node, divisor), result)
        return _function(name, args, result)

    return build


def _power(name: str, args: Args, result: DType) -> Value:
    """A constant power that is two or three multiplications at most; as C compilers have it, too,
    but for floats not all, and not all of them in drafts."""
    exponent = args[1].node
    while isinstance(exponent, c.Cast):
        exponent = exponent.operand
    known = _POWERS.get(exponent.text) if isinstance(exponent, c.Number) else None
    if known is None or result.kind == "c":
        return _function(name, args, result)
    return _function(known, args[:1], result)


_POWERS = {
    f"{count}{end}": name
    for count, name in ((2, "square"), (3, "cube"), (4, "fourth"))
    for end in ("", ".0", ".0f")
}
_OF_POWERS = {"/": ">>", "%": "&"}


def _exponent(divisor: c.Expr) -> int | None:
    """The exponent of a constant that is a power of two."""
    if not isinstance(divisor, c.Number) or not divisor.text.isdecimal():
        return None
    number = int(divisor.text)
    return number.bit_length() - 1 if number.bit_count() == 1 else None


def _comparison(symbol: str) -> Builder:
    def build(name: str, args: Args, result: DType) -> Value:
        dtype = args[0].dtype
        if is_tuple(dtype):
            return _compare_tuples(name, args)
        if dtype.kind == "c" and name not in ("eq", "ne"):
            swapped = args[::-1] if name in ("gt", "ge") else args
            return _function({"gt": "lt", "ge": "le"}.get(name, name), swapped, result)
        left, right = unify(*args)
        return Value(c.Binary(symbol, left.node, right.node), result)

    return build


def _compare_tuples(name: str, args: Args) -> Value:
    joined: Value | None = None
    for k in range(len(tuple_fields(args[0].dtype))):
        pair = field(args[0], k), field(args[1], k)
        one = operate(name, pair, np.dtype(bool))
        op = "&&" if name == "eq" else "||"
        joined = one if joined is None else Value(c.Binary(op, joined.node, one.node), one.dtype)
    assert joined is not None, "a tuple has fields"
    return joined


def _logic(symbol: str) -> Builder:
    def build(name: str, args: Args, result: DType) -> Value:
        if len(args) == 1:
            return args[0]
        node = args[0].node
        for arg in args[1:]:
            node = c.Binary(symbol, node, arg.node)
        return Value(node, result)

    return build


def _ifelse(name: str, args: Args, result: DType) -> Value:
    cond, then, orelse = args
    if isinstance(then.node, c.Number) and isinstance(orelse.node, c.Number):
        return Value(c.Ternary(cond.node, then.node, orelse.node), result, result.kind in "iu")
    then, orelse = unify(then, orelse)
    return Value(c.Ternary(cond.node, then.node, orelse.node), result)


def _unary(symbol: str) -> Builder:
    def build(name: str, args: Args, result: DType) -> Value:
        return _rounded(c.Unary(symbol, args[0].exact().node), result)

    return build


def _invert(name: str, args: Args, result: DType) -> Value:
    if result.kind == "b":
        return Value(c.Unary("!", args[0].node), result)
    return _unary("~")(name, args, result)


def _function(name: str, args: Args, result: DType) -> Value:
    """A helper of that name for the arguments' dtype, else the math library's function.

    Raises ``BackendError`` where there is neither.
    """
    dtype = args[0].dtype
    nodes = tuple(arg.node for arg in args)
    if has(f"{name}_{suffix(dtype)}"):
        return Value(c.Call(f"{name}_{suffix(dtype)}", nodes), result)
    base = operator(name).library
    if not base:
        raise BackendError(
            f"the C backend has no operator {name!r} on {dtype}",
            hint="give its entry the name of a function of the C library (library=...), or write "
            "a helper in finch_backend_c/helpers.py",
        )
    prefix = "c" if dtype.kind == "c" else ""
    kind = "f" if dtype in (FLOAT32, np.dtype(np.complex64)) else ""
    return Value(c.Call(f"{prefix}{base}{kind}", nodes), result)


def _rounding(name: str, args: Args, result: DType) -> Value:
    """``floor``, ``abs`` and others on dtypes for which they are the identity."""
    return args[0] if result.kind in "bu" else _function(name, args, result)


def _whole(name: str, args: Args, result: DType) -> Value:
    return args[0] if result.kind in "biu" else _function(name, args, result)


def _to_whole(name: str, args: Args, result: DType) -> Value:
    return _whole("rint", args, result)


def _nan(name: str, args: Args, result: DType) -> Value:
    if args[0].dtype.kind in "biu":
        return Value(c.Name("true" if name == "isfinite" else "false"), result)
    return _function(name, args, result)


def _conj(name: str, args: Args, result: DType) -> Value:
    return _unary("~")(name, args, result) if result.kind == "c" else args[0]


def _tuple(name: str, args: Args, result: DType) -> Value:
    return Value(c.Compound(ctype(result), tuple(arg.node for arg in args)), result)


def _variadic(name: str, args: Args, result: DType) -> Value:
    value = args[0]
    for arg in args[1:]:
        value = _function(name, (value, arg), result)
    return value


_ALL = sys.maxsize
_TESTED = {"not": 1, "invert": 1, "ifelse": 1} | dict.fromkeys(
    ("and", "or", "add", "mul", "bitand", "bitor", "bitxor"), _ALL
)
"""How many of an operator's first bools may be bytes that are true if they are not 0."""

_BUILDERS: dict[str, Builder] = {
    "add": _arithmetic("+", "|"),
    "sub": _arithmetic("-"),
    "mul": _arithmetic("*", "&"),
    "truediv": _arithmetic("/"),
    "bitand": _arithmetic("&", "&"),
    "bitor": _arithmetic("|", "|"),
    "bitxor": _arithmetic("^", "^"),
    "floordiv": _division("/"),
    "mod": _division("%"),
    "lshift": _shift("<<"),
    "rshift": _shift(">>"),
    "neg": _unary("-"),
    "pow": _power,
    "invert": _invert,
    "not": lambda name, args, result: Value(c.Unary("!", args[0].node), result),
    "and": _logic("&&"),
    "or": _logic("||"),
    "ifelse": _ifelse,
    "abs": _rounding,
    "floor": _whole,
    "ceil": _whole,
    "trunc": _whole,
    "round": _to_whole,
    "isnan": _nan,
    "isinf": _nan,
    "isfinite": _nan,
    "conj": _conj,
    "real": lambda name, args, result: _part("__real__", args[0]),
    "imag": lambda name, args, result: _part("__imag__", args[0]),
    "complex": lambda name, args, result: Value(
        c.Call("__builtin_complex", tuple(arg.exact().node for arg in args)), result
    ),
    "tuple": _tuple,
    "min": _variadic,
    "max": _variadic,
    "eq": _comparison("=="),
    "ne": _comparison("!="),
    "lt": _comparison("<"),
    "le": _comparison("<="),
    "gt": _comparison(">"),
    "ge": _comparison(">="),
}


def operate(name: str, args: Args, result: DType) -> Value:
    """The C expression of an operator on arguments of the dtypes that its typing rule gives."""
    if any(arg.dtype.name == "float16" for arg in args) and name not in ("ifelse", "tobits"):
        # half precision is only stored: it is computed in single precision, as NumPy does
        wide = tuple(cast(a, FLOAT32) if a.dtype.kind == "f" else a for a in args)
        via = FLOAT32 if result.kind == "f" else result
        return cast(operate(name, wide, via), result)
    if name.startswith("field"):
        return field(args[0], int(name[5:]))
    tested = _TESTED.get(name, 0)
    args = (*args[:tested], *map(_counted, args[tested:]))
    return _BUILDERS.get(name, _function)(name, args, result)
