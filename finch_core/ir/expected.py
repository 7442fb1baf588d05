"""Expressions that plugins give: whether they have the dtype that is expected where they stand."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from finch_core.errors import PluginError
from finch_core.ir.dtypes import BOOL, Type, concrete, holds, same
from finch_core.ir.expressions import Call, Expr, Literal, Var, lift
from finch_core.ir.primitives import COMPARISONS


def integer(value: Any, what: str) -> Expr:
    """``value`` as an expression; ``PluginError`` that calls it ``what`` if it is no integer."""
    found = _lifted(value, what, "an integer")
    if concrete(found.dtype).kind not in "iu":
        raise _refusal(what, _shown(found), "an integer", "x.cast(INTP) makes one of a number")
    return found


def integer_or_none(value: Any, what: str) -> Expr | None:
    """The same where there may be None."""
    return None if value is None else integer(value, what)


def variable(value: Any, what: str) -> Var:
    """``value`` as a variable of integers; ``PluginError`` if it is none."""
    found = integer(value, what)
    if isinstance(found, Var):
        return found
    raise _refusal(what, f"{value!r:.60}", "a variable", "ctx.var makes a mutable variable")


def condition(value: Any, what: str) -> Expr:
    """``value`` as an expression; ``PluginError`` if it is no bool."""
    found = tested(value) if value.__class__ is bool else _lifted(value, what, "a bool")
    if concrete(found.dtype) != BOOL:
        raise _refusal(what, _shown(found), "a bool", "x.ne(0) makes a bool of a number")
    return found


def tested(cond: Any) -> Expr:
    """A condition as an expression; ``PluginError`` for a bool of Python, which a comparison by
    ``==`` gives."""
    if cond.__class__ is bool:
        raise PluginError(
            f"a condition is {cond} of Python: == and != compare the expressions themselves, not "
            "their values",
            hint="a.eq(b) and a.ne(b) make conditions of values",
        )
    found = lift(cond)
    if isinstance(found, Call) and found.op in COMPARISONS:
        _require_held(found)
    return found


def _require_held(comparison: Call) -> None:
    """Raise ``PluginError`` for a comparison with an integer that the dtype of the other side does
    not hold: it would be compared with another number."""
    for number, other in zip(comparison.args, comparison.args[::-1], strict=True):
        require_held(number, concrete(other.dtype))


def require_held(number: Expr, dtype: np.dtype[Any]) -> None:
    """Raise ``PluginError`` for an integer that is used as a dtype of integers which does not hold
    it: it would be another number."""
    if not isinstance(number, Literal) or number.type is not int or dtype.kind not in "iu":
        return
    least, most = _limits(dtype)
    if not least <= number.value <= most:
        raise PluginError(
            f"the integer {number.value} is used as {dtype}, which does not hold it",
            hint="compare and compute in a wider dtype: x.cast(dtype)",
        )


@cache
def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    """The least and the greatest number of an integer dtype."""
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def of_dtype(value: Any, dtype: np.dtype[Any], what: str) -> Expr:
    """``value`` as an expression; ``PluginError`` if it has another dtype."""
    found = _lifted(value, what, str(dtype))
    if not same(found.dtype, dtype):
        raise _refusal(what, _shown(found), str(dtype), "x.cast(dtype) converts it")
    return found


_NUMBERS = frozenset("biufc")
"""The kinds of numbers and bools: tuples, dates and the like are converted as a whole."""


def held(value: Expr, dtype: Type, what: str) -> Expr:
    """``value``; ``PluginError`` if ``what``, which has this dtype, does not hold values of its
    kind: a float in an integer, a number in a bool."""
    target, given = concrete(dtype), value.dtype
    if given is target or not {target.kind, concrete(given).kind} <= _NUMBERS:
        return value
    if holds(target, given):
        return value
    if isinstance(value, Literal) and value.value == value.cast_to(target).value:
        return value
    raise PluginError(
        f"{_shown(value)} is stored in {what}, which is {target}",
        hint="x.cast(dtype) converts a value, x.ne(0) makes a bool of a number",
    )


def _lifted(value: Any, what: str, wanted: str) -> Expr:
    try:
        return lift(value)
    except TypeError:
        raise _refusal(what, f"{value!r:.60}", wanted, "") from None


def _shown(value: Expr) -> str:
    from finch_core.ir.assembly_text import expr_text

    return f"{expr_text(value)} ({concrete(value.dtype)})"


def _refusal(what: str, found: str, wanted: str, hint: str) -> PluginError:
    return PluginError(f"{what} is {found}, and {wanted} is expected", hint=hint)


__all__ = ["condition", "held", "integer", "integer_or_none", "of_dtype", "tested", "variable"]
