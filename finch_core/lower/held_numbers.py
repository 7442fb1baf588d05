"""What numbers a dtype holds: which values elements take, and what to write for others."""

from __future__ import annotations

from typing import Any

import numpy as np

from finch_core.errors import FormatError, Span
from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import concrete, holds, promote
from finch_core.ir.expressions import Call, Expr, Literal, call
from finch_core.ir.operators import Operator, literal_value


def fits(target: Any, source: Any, value: Expr | None) -> bool:
    """Whether the value may be stored; a literal that the dtype represents exactly always may."""
    if isinstance(value, Literal) and not isinstance(value.value, tuple) and target.names is None:
        stored = literal_value(value.value, target)
        return bool(stored == value.value or value.value != value.value) and holds(target, source)
    return holds(target, source)


def number_of(expr: Expr, known: dict[int, Expr]) -> Expr:
    """The number that an expression of written integers alone is, exactly; another expression is
    itself. ``known`` are those of expressions by ``id``."""
    if not isinstance(expr, Call):
        return expr
    found = known.get(id(expr))
    if found is None:
        args = [number_of(arg, known) for arg in expr.args]
        written = all(isinstance(arg, Literal) and arg.type is int for arg in args)
        found = known[id(expr)] = call(expr.op, *args) if written else expr
    return found


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
        dtype = concrete(type_)
        if not isinstance(arg, Literal) or arg.type is not int or dtype.kind not in "iu":
            continue
        limits = np.iinfo(dtype)
        if not (limits.min if least is None else least) <= arg.value <= limits.max:
            raise FormatError(
                f"{arg.value} does not fit in {dtype}, in which {op.spelling} computes here",
                span=span,
                hint=_WIDER if dtype.itemsize < 8 else _FLOAT,
            )


def is_beyond(dtype: Any, value: Expr) -> bool:
    """Whether this is a whole number as written that is beyond those of an integer dtype."""
    if (
        not isinstance(value, Literal)
        or dtype.kind not in "iu"
        or concrete(value.dtype).kind not in "iu"
    ):
        return False
    ends = np.iinfo(dtype)
    return not ends.min <= value.value <= ends.max


def store_hint(name: str, mine: Any, result: Any, beyond: bool) -> str:
    """How a value of another dtype, or one ``beyond`` the dtype, can be stored after all."""
    if beyond and mine.itemsize < 8:
        return f"give {name} a wider dtype"
    if any(dtype.kind not in "biufc" for dtype in (mine, result)):
        return f"give {name} the dtype {result}"
    if result.kind == "c" and mine.kind != "c":
        return f"take a part of it, as in z.real, or give {name} a complex dtype"
    return f"cast the value, as in np.{mine}(...), or give {name} a wider dtype"


__all__ = ["fits", "is_beyond", "number_of", "require_held", "store_hint"]
