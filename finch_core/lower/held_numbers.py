"""What numbers a dtype holds: which values elements take, and what to write for others."""

from __future__ import annotations

from typing import Any

import numpy as np

from finch_core.errors import FormatError, Span
from finch_core.ir import primitives as prim
from finch_core.ir.arithmetic import number_of
from finch_core.ir.dtypes import concrete, holds, is_tuple, promote, tuple_fields, type_of
from finch_core.ir.expressions import Call, Cast, Expr, Literal, alike, cast
from finch_core.ir.operators import Operator, literal_value, spelled
from finch_core.ir.whole_numbers import MOST_BITS, has_none, is_too_long


def fits(target: Any, source: Any, value: Expr | None) -> bool:
    """Whether the value may be stored; a literal that the dtype represents exactly always may, also
    in a tuple."""
    if is_tuple(target) and value is not None:
        parts, fields = tuple_parts(value), tuple_fields(target)
        if parts:
            return len(parts) == len(fields) and all(
                fits(field, part.dtype, part) for field, part in zip(fields, parts, strict=True)
            )
    if isinstance(value, Literal) and not is_tuple(value.type) and not is_tuple(target):
        if is_beyond(target, value):
            return False
        stored = literal_value(value.value, target)
        return bool(stored == value.value or value.value != value.value) and holds(target, source)
    return holds(target, source)


def tuple_parts(value: Expr) -> tuple[Expr, ...]:
    """The elements of a tuple as written; empty for any other expression."""
    if isinstance(value, Call) and value.op is prim.make_tuple:
        return value.args
    if isinstance(value, Literal) and is_tuple(concrete(value.type)):
        found = literal_value(value.value, value.type)
        given = value.value if isinstance(value.value, tuple) else found
        return tuple(
            Literal(part, type_of(part) if given is value.value else dtype)
            for part, dtype in zip(given, tuple_fields(value.type), strict=True)
        )
    return ()


def is_fill(given: Expr, fill: Any, dtype: Any) -> bool:
    """Whether a written constant is the fill value. One that the dtype cannot hold is none: cast,
    it would be another number. A tuple is, where each of its elements is."""
    if is_tuple(dtype):
        parts, fields = tuple_parts(given), tuple_fields(dtype)
        return len(parts) == len(fields) and all(map(is_fill, parts, fill, fields))
    if not isinstance(given, Literal) or is_tuple(concrete(given.type)):
        return False
    literal = cast(given, dtype)
    assert isinstance(literal, Literal), "the cast of a constant"
    value = literal.value
    if Literal(value, dtype) != Literal(fill, dtype) and not alike(value, fill):
        return False
    if np.iscomplexobj(given.value) and np.dtype(dtype).kind != "c" and given.value.imag != 0:
        return False
    return np.dtype(dtype).kind not in "biu" or bool(np.asarray(given.value) == value)


_WIDER = "cast the other operand to a wider dtype, as in np.int64(x)"
_FLOAT = "write a float, or cast the other operand, np.float64(x)"


def require_held(op: Operator, args: tuple[Expr, ...], span: Span | None) -> None:
    """Refuse an integer literal that the dtype in which ``op`` computes cannot represent, since
    it would wrap to another number. Comparisons with a negative one are exact in all dtypes."""
    if not any(isinstance(arg, Literal) and arg.type is int for arg in args):
        return
    types = tuple(arg.dtype for arg in args)
    least, wanted = None, op.typing(types)[0]
    if op in prim.COMPARISONS:
        least, wanted = -(2**63), (promote(wanted),) * len(args)
    for arg, type_ in zip(args, wanted, strict=True):
        if not isinstance(arg, Literal) or arg.type is not int:
            continue
        dtype = concrete(type_)
        if dtype.kind not in "iufc":
            continue
        low, high = _ends(dtype)
        if not (low if least is None else least) <= arg.value <= high:
            shown = shortened(arg.value)
            raise FormatError(
                f"{shown} does not fit in {dtype}, in which {op.spelling} computes here",
                span=span,
                hint=_WIDER if dtype.itemsize < 8 else _FLOAT if dtype.kind in "iu" else "",
            )


def _ends(dtype: np.dtype[Any]) -> tuple[int, int]:
    """The least and the greatest whole number that a dtype of numbers holds, or rounds to."""
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return int(info.min), int(info.max)
    most = int(np.finfo(dtype).max)
    return -most, most


def require_word(expr: Expr, what: str, span: Span | None, hint: str = "") -> None:
    """Refuse a number as written that int64 does not hold, where an index, a size or a variable is
    one: it would wrap to another number. ``what`` it is begins the message."""
    number = number_of(expr)
    if isinstance(number, Literal) and number.type is int:
        low, high = _ends(np.dtype(np.int64))
        if not low <= number.value <= high:
            raise FormatError(
                f"{what} {shortened(number.value)}, which does not fit in int64",
                span=span,
                hint=hint,
            )


def require_computed(call: Call, span: Span | None) -> None:
    """Refuse a power or shift of numbers as written that is none in Python, or has more bits than
    constants are computed of."""
    if call.op not in (prim.power, prim.lshift, prim.rshift):
        return
    args = [number_of(arg) for arg in call.args]
    numbers = [int(a.value) for a in args if isinstance(a, Literal) and a.type is int]
    if len(numbers) != 2:
        return
    shown = f" {call.op.symbol} ".join(map(shortened, numbers))
    if has_none(call.op.name, numbers) and call.op is not prim.power:
        other = (prim.rshift if call.op is prim.lshift else prim.lshift).symbol
        raise FormatError(
            f"{shown} is a shift by a negative number of bits",
            span=span,
            hint=f"write {shortened(numbers[0])} {other} {shortened(-numbers[1])}",
        )
    if is_too_long(call.op.name, numbers):
        shown = shown.replace(" ** ", "**")
        raise FormatError(
            f"{shown} has more than {MOST_BITS} bits", span=span, hint="write a float"
        )


def require_kept(cast: Cast, span: Span | None) -> None:
    """Refuse the cast of a number as written to an integer dtype that does not hold it: NumPy
    refuses it, and Python's ``int`` gives the number itself."""
    number = number_of(cast.value)
    if is_beyond(cast.type, number) and cast.type.kind in "iu":
        assert isinstance(number, Literal)
        raise FormatError(
            f"{shortened(number.value)} does not fit in {cast.type}",
            span=span,
            hint="cast to a wider dtype" if cast.type.itemsize < 8 else "write a float",
        )


def shortened(number: int) -> str:
    """A number as messages have it: of many digits, how many these are."""
    shown = str(number)
    return shown if len(shown) <= 40 else f"a number of {len(shown)} digits"


def is_beyond(dtype: Any, value: Expr) -> bool:
    """Whether this is a whole number as written that is beyond those of an integer dtype."""
    if (
        not isinstance(value, Literal)
        or dtype.kind not in "iufc"
        or concrete(value.dtype).kind not in "iu"
    ):
        return False
    low, high = _ends(dtype)
    return not low <= value.value <= high


def store_hint(name: str, mine: Any, result: Any, beyond: bool) -> str:
    """How a value of another dtype, or one ``beyond`` the dtype, can be stored after all."""
    if beyond and mine.itemsize < 8:
        return f"give {name} a wider dtype"
    if any(dtype.kind not in "biufc" for dtype in (mine, result)):
        return f"give {name} the dtype {spelled(result)}"
    if result.kind == "c" and mine.kind != "c":
        return f"take a part of it, as in z.real, or give {name} a complex dtype"
    return f"cast the value, as in np.{mine}(...), or give {name} a wider dtype"


__all__ = [
    "fits", "is_beyond", "is_fill", "require_computed", "require_held", "require_kept",
    "require_word", "shortened", "store_hint", "tuple_parts",
]  # fmt: skip
