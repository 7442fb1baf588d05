"""The simplifier's rules on expressions, as named data derived from the operators' algebra.

Paper: rule *Simplify*; the algebra of [ahrens_looplets_2023, Figure 5]. A float operand is
dropped or absorbed only where that is exact, or where the constant is *structural*: a fill
value that is not stored in memory. ``docs/simplifier.md`` is the table of rules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import concrete, is_tuple, is_weak
from finch_core.ir.expressions import Call, Expr, Literal
from finch_core.ir.operators import Operator, literal_value, operator
from finch_core.records import field, frozen
from finch_core.symbolic.comparisons import (
    bounds,
    equals,
    extremes,
    opposite,
    reflexive,
    same_dtype,
    same_type,
    select,
    truth,
)
from finch_core.symbolic.missing_values import first_present, propagate, whether_present
from finch_core.symbolic.out_of_range import strict
from finch_core.symbolic.outcomes import constant_call


@frozen
class Rule:
    """A rewrite rule on calls: ``apply`` gives the new expression, or None where it does not
    match.

    ``ops`` names the operators that it applies to (None: all for which ``concerns`` holds).
    ``exact`` lists the dtype kinds of the operands for which the result is bitwise the same for
    all values; on other dtypes the rule applies only if a structural fill takes part.
    ``meaning`` states the rule, ``otherwise`` why it does not apply to other dtypes; both are
    for the documentation.
    """

    name: str
    apply: Callable[[Call], Expr | None]
    ops: tuple[str, ...] | None = None
    exact: str = "biufc"
    meaning: str = ""
    otherwise: str = ""
    concerns: Callable[[Operator], bool] = field(default=lambda op: True, repr=False)

    def is_about(self, op: Operator) -> bool:
        """Whether the rule may rewrite calls of ``op``."""
        return self.concerns(op) if self.ops is None else op.name in self.ops


def _annihilator(call: Call) -> Expr | None:
    op = call.op
    if op.annihilator is None and op.structural_annihilator is None:
        return None
    dtype = concrete(op.typing(tuple(a.dtype for a in call.args))[0][0])
    for arg in call.args:
        if isinstance(arg, Literal) and _annihilates(op, arg, dtype):
            value = literal_value(arg.value, dtype)
            return _constant(value, call, structural=arg.structural)
    return None


def _annihilates(op: Any, arg: Literal, dtype: Any) -> bool:
    swallows = op.structural_annihilator if arg.structural and dtype.kind in "fc" else None
    if swallows is not None and swallows(literal_value(arg.value, dtype)):
        return True
    if op.annihilator is None or not (arg.structural or dtype.kind in op.exact_annihilator):
        return False
    return equals(arg, op.annihilator(dtype), dtype)


def _identity(call: Call) -> Expr | None:
    op = call.op
    if op.identity is None or len(call.args) != 2:
        return None
    dtype = concrete(op.typing(tuple(a.dtype for a in call.args))[0][0])
    first, second = call.args
    if is_identity(op, second, dtype):
        return same_type(first, call)
    return same_type(second, call) if is_identity(op, first, dtype, first=True) else None


def is_identity(op: Operator, arg: Expr, dtype: Any, *, first: bool = False) -> bool:
    """Whether ``op(x, arg)`` (or ``op(arg, x)`` for ``first``) equals ``x`` for ``x`` of
    ``dtype``: exactly, or because ``arg`` is a structural fill."""
    if not isinstance(arg, Literal) or op.identity is None:
        return False
    exact = op.exact_identity
    if first and op.exact_first is not None:
        exact = op.exact_first
    if not (arg.structural or dtype.kind in exact):
        return False
    return equals(arg, op.identity(dtype), dtype)


def _idempotent(call: Call) -> Expr | None:
    if call.op.idempotent and len(call.args) == 2 and call.args[0] == call.args[1]:
        return same_type(call.args[0], call)
    return None


def _double_negation(call: Call) -> Expr | None:
    (arg,) = call.args
    return arg.args[0] if isinstance(arg, Call) and arg.op is call.op else None


def _subtract_zero(call: Call) -> Expr | None:
    first, second = call.args
    if not isinstance(second, Literal) or is_tuple(second.type):
        return None
    kind = concrete(call.dtype).kind
    if kind in "mM":  # -0 is 0, but units may differ
        return None
    value = literal_value(second.value, concrete(call.dtype))
    signed = np.signbit(value.real) or np.signbit(value.imag)
    plain = kind in "iu" or second.structural or not signed
    return same_type(first, call) if value == 0 and plain else None


def _divide_by_one(call: Call) -> Expr | None:
    first, second = call.args
    if not isinstance(second, Literal) or concrete(call.dtype).kind != "f":
        return None
    if not is_tuple(second.type) and second.value == 1:
        return same_type(first, call)
    return None


def _left_annihilator(call: Call) -> Expr | None:
    """A structural zero divided by anything is zero, like a structural zero times anything."""
    first, op = call.args[0], call.op
    assert op.left_annihilator is not None
    if not isinstance(first, Literal) or is_tuple(first.type):
        return None
    dtype = concrete(op.typing(tuple(a.dtype for a in call.args))[0][0])
    if not (first.structural or dtype.kind in op.exact_left):
        return None
    if not equals(first, op.left_annihilator(dtype), dtype):
        return None
    value = literal_value(first.value, dtype)
    return _constant(value, call, structural=first.structural)


def _ring(call: Call, *parts: Expr) -> bool:
    """Whether a call and all its parts have one dtype in which arithmetic is exact."""
    return same_dtype(call, *parts) and concrete(call.dtype).kind in "biu"


def _of(expr: Expr, op: Operator) -> tuple[Expr, ...]:
    """The two operands of a call of ``op``; empty for any other expression."""
    return expr.args if isinstance(expr, Call) and expr.op is op and len(expr.args) == 2 else ()


def _inverse(call: Call) -> Expr | None:
    """``x - x`` is 0, ``(x + y) - y`` and ``(x - y) + y`` are ``x``."""
    first, second = call.args
    if not _ring(call, first, second):
        return None
    if call.op.undoes:
        base = operator(call.op.undoes)
        if first == second and base.identity is not None:
            return _constant(base.identity(concrete(call.dtype)), call)
        parts = _of(first, base)
        for part, other in zip(parts, reversed(parts), strict=True):
            if other == second and same_dtype(part, call):
                return part
    found = _undone(first, second, call)
    return _undone(second, first, call) if found is None else found


def _undone(difference: Expr, part: Expr, call: Call) -> Expr | None:
    """``x`` for ``(x - y) + y``."""
    if not isinstance(difference, Call) or difference.op.undoes != call.op.name:
        return None
    kept, gone = difference.args
    return kept if gone == part and same_dtype(kept, call) else None


def _constant(value: Any, call: Call, structural: bool = False) -> Expr:
    """A constant of the type of ``call``, a plain number where that is one."""
    plain: Any = call.dtype if is_weak(call.dtype) else None
    return Literal(value if plain is None else plain(value), call.dtype, structural=structural)


def _negated_operand(call: Call) -> Expr | None:
    """A sum with a negated operand is a difference; a difference with one a sum."""
    first, second = call.args
    if isinstance(second, Call) and second.op is prim.neg and same_dtype(call, first, second):
        op = prim.sub if call.op is prim.add else prim.add
        return Call(op, (first, second.args[0]))
    if isinstance(first, Call) and first.op is prim.neg and same_dtype(call, first, second):
        return Call(prim.sub, (second, first.args[0])) if call.op is prim.add else None
    return None


def _association(call: Call) -> Expr | None:
    """Constants of a sum (product, ...) are folded into one."""
    for arg, constant in zip(call.args, reversed(call.args), strict=True):
        parts = _of(arg, call.op)
        if not parts or not isinstance(constant, Literal) or not _ring(call, arg, parts[0]):
            continue
        for part, inner in zip(parts, reversed(parts), strict=True):
            if isinstance(inner, Literal) and not isinstance(part, Literal):
                dtype = concrete(call.dtype)
                values = (literal_value(c.value, dtype) for c in (inner, constant))
                return Call(call.op, (part, _constant(call.op.evaluate(*values), call)))
    return None


def _absorption(call: Call) -> Expr | None:
    """``min(x, max(x, y))`` is ``x``; ``min(x, min(x, y))`` is ``min(x, y)``."""
    if not _ring(call, *call.args):
        return None
    for arg, other in zip(call.args, reversed(call.args), strict=True):
        if call.op.dual and arg in _of(other, operator(call.op.dual)):
            return arg
        if call.op.idempotent and arg in _of(other, call.op):
            return other
    return None


def _folded(op: Operator, *args: Expr) -> Expr:
    made = Call(op, args)
    found = constant_call(made)
    return made if found is None else found


def _distribution(call: Call) -> Expr | None:
    """``x * y + x * z`` is ``x * (y + z)``: one operation less."""
    if len(call.args) != 2:
        return None
    first, second = call.args
    if not (isinstance(first, Call) and isinstance(second, Call) and first.op is second.op):
        return None
    outer = first.op
    if call.op.name not in outer.distributes and outer.dual != call.op.name:
        return None
    if len(first.args) != 2 or not _ring(call, *first.args, *second.args):
        return None
    for common, y in zip(first.args, reversed(first.args), strict=True):
        for twin, z in zip(second.args, reversed(second.args), strict=True):
            if common == twin:
                return Call(outer, (common, Call(call.op, (y, z))))
    return None


def _reversible(op: Operator) -> bool:
    return op.associative or bool(op.undoes)


RULES: tuple[Rule, ...] = (
    Rule(
        "out of range", strict,
        meaning="`op(x, y)` fails where `x` is out of bounds, whatever `y` is",
    ),
    Rule(
        "missing",
        propagate,
        meaning="`op(missing, x)` is `missing`, unless `x` decides an `and` or `or`",
    ),
    Rule(
        "coalesce", first_present, ("coalesce",), meaning="the first operand that is not `missing`"
    ),
    Rule("present", whether_present, ("present",), meaning="whether `x` is not `missing`"),
    Rule(  # before the rules on constants: a fill stays structural, whatever becomes known first
        "annihilator", _annihilator, exact="biu", meaning="`op(x, z)` is `z`, as in `x * 0`",
        otherwise="`nan * 0` is NaN, `inf * 0` is NaN, `-1.0 * 0` is -0.0",
        concerns=lambda op: bool(op.annihilator or op.structural_annihilator),
    ),
    Rule(
        "left annihilator", _left_annihilator, exact="biuf",
        meaning="`op(z, x)` is `z`, as in `0 // x`, `0 << x`, `1 ** x`; a fill of zero over "
        "anything is zero",
        otherwise="`0.0 / 0` is NaN; `1.0 ** x` is exact on floats, too",
        concerns=lambda op: op.left_annihilator is not None,
    ),
    Rule("constants", constant_call, meaning="an operator on constants is evaluated"),
    Rule(
        "identity", _identity, exact="biu", meaning="`op(x, e)` is `x`, as in `x * 1`",
        otherwise="`-0.0 + 0.0` is 0.0, `min(inf, nan)` is infinity; `x * 1` and `min(x, inf)` are "
        "exact on floats, too",
        concerns=lambda op: op.identity is not None,
    ),
    Rule(
        "idempotence", _idempotent, meaning="`op(x, x)` is `x`, as in `max(x, x)`",
        concerns=lambda op: op.idempotent,
    ),
    Rule(
        "ifelse", select, ("ifelse",),
        meaning="a constant condition is decided; two equal cases are one",
    ),
    Rule(
        "negation", opposite, ("not",), exact="biu",
        meaning="`not x < y` is `x >= y`; `not x == y` is `x != y`, for all dtypes",
        otherwise="a NaN is neither below nor above",
    ),
    Rule(
        "truth", truth, ("eq", "ne"), exact="b", meaning="`x == True` is `x`",
        otherwise="other dtypes have more than two values",
    ),
    Rule(
        "reflexivity", reflexive, ("eq", "ne", "lt", "le", "gt", "ge"), exact="biu",
        meaning="`x <= x` is true, `x < x` is false", otherwise="a NaN does not equal itself",
    ),
    Rule(
        "bounds", bounds, ("lt", "le", "gt", "ge"), exact="iuf",
        meaning="`x > largest` and `x < smallest` are false; of integers, `x <= largest` is true",
        otherwise="bools are compared by truth; complex numbers have no order",
    ),
    Rule(
        "extremes", extremes, ("lt", "le", "gt", "ge"), exact="biu",
        meaning="`min(x, y) <= x` is true, `x < min(x, y)` is false; `max` the other way",
        otherwise="a NaN is neither below nor above",
    ),
    Rule(
        "double negation", _double_negation, ("neg", "invert", "conj"), meaning="`-(-x)` is `x`"
    ),
    Rule(
        "inverse", _inverse, exact="biu",
        meaning="`x - x` is 0, `(x + y) - y` is `x`, `(x ^ y) ^ y` is `x`",
        otherwise="`inf - inf` is NaN, and sums of floats round",
        concerns=_reversible,
    ),
    Rule(
        "negated operand", _negated_operand, ("add", "sub"), exact="iufc",
        meaning="`x + -y` is `x - y`, `x - -y` is `x + y`", otherwise="bools have no negative",
    ),
    Rule(
        "subtract zero", _subtract_zero, ("sub",), exact="iufc", meaning="`x - 0.0` is `x`",
        otherwise="bools have no difference; `-0.0 - -0.0` is 0.0",
    ),
    Rule(
        "divide by one", _divide_by_one, ("truediv",), exact="biuf", meaning="`x / 1` is `x`",
        otherwise="complex infinities divided make NaN",
    ),
    Rule(
        "association", _association, exact="biu", meaning="`(x + 1) + 2` is `x + 3`",
        otherwise="sums of floats round", concerns=lambda op: op.associative and op.commutative,
    ),
    Rule(
        "absorption", _absorption, exact="biu",
        meaning="`min(x, max(x, y))` is `x`, `min(x, min(x, y))` is `min(x, y)`",
        otherwise="a NaN in `y` is not absorbed",
        concerns=lambda op: bool(op.dual or op.idempotent),
    ),
    Rule(
        "distribution", _distribution, exact="biu", meaning="`x * y + x * z` is `x * (y + z)`",
        otherwise="sums of floats round",
    ),
)  # fmt: skip
"""The rules of the core, in the order in which they are tried."""

__all__ = ["RULES", "Rule", "is_identity"]
